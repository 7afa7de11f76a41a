// Pictures of fragments: cells, labels, markup.
#include "mmaudit/report/fragment_picture.hpp"

#include <gtest/gtest.h>

namespace mmaudit::report {
namespace {

/// 2 x 4 elements, pairs along the row share a register.
FragmentPicture small() {
  FragmentPicture picture{"A & <B>", 2, 4, 2, {}};
  for (int row = 0; row < 2; ++row)
    for (int col = 0; col < 4; ++col) picture.holders.push_back({{2 * row + col / 2, col % 2}});
  return picture;
}

TEST(FragmentPicture, NeighboursInARegisterAreOneCell) {
  EXPECT_EQ(picture_text(small()),
            "A & <B>\n"
            "     0-1    2-3\n"
            "  0  T0 r0  T1 r0\n"
            "  1  T2 r0  T3 r0\n");
}

TEST(FragmentPicture, CellsSplitWhereRegistersDo) {
  FragmentPicture picture = small();
  picture.holders[1] = {{7, 4}};
  const std::string text = picture_text(picture);
  EXPECT_NE(text.find("T7 r2"), std::string::npos) << text;
  EXPECT_NE(text.find("\n     0      1      2      3\n"), std::string::npos) << text;
}

TEST(FragmentPicture, SeveralHoldersAndNone) {
  FragmentPicture picture = small();
  picture.per_register = 1;
  picture.holders[0] = {{0, 0}, {8, 0}};
  picture.holders[5] = {};
  const std::string text = picture_text(picture);
  EXPECT_NE(text.find("T0 r0,T8 r0"), std::string::npos) << text;
  EXPECT_NE(text.find("  -  "), std::string::npos) << text;
}

TEST(FragmentPicture, SvgIsOneDocumentWithEscapedText) {
  const std::string svg = picture_svg({small(), small()});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_NE(svg.find("</svg>\n"), std::string::npos);
  EXPECT_NE(svg.find("A &amp; &lt;B&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("<B>"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::report
