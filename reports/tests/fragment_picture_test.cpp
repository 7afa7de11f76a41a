// Pictures of fragments: cells, labels, markup.
#include "mmaudit/report/fragment_picture.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "mmaudit/report/figures.hpp"

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
  const Section section = section_of(small());
  EXPECT_EQ(section.title, "A & <B>");
  EXPECT_EQ(to_text(section.tables.at(0)),
            "  row  0-1    2-3\n"
            "    0  T0 r0  T1 r0\n"
            "    1  T2 r0  T3 r0\n");
}

TEST(FragmentPicture, CellsSplitWhereRegistersDo) {
  FragmentPicture picture = small();
  picture.holders[1] = {{7, 4}};
  const std::string text = to_text(section_of(picture).tables.at(0));
  EXPECT_NE(text.find("T7 r2"), std::string::npos) << text;
  EXPECT_NE(text.find("  row  0      1      2      3\n"), std::string::npos) << text;
}

TEST(FragmentPicture, SeveralHoldersAndNone) {
  FragmentPicture picture = small();
  picture.per_register = 1;
  picture.holders[0] = {{0, 0}, {8, 0}};
  picture.holders[5] = {};
  const std::string text = to_text(section_of(picture).tables.at(0));
  EXPECT_NE(text.find("T0 r0,T8 r0"), std::string::npos) << text;
  EXPECT_NE(text.find("  -  "), std::string::npos) << text;
}

/// 16 rows of 4 lanes each, again and again with the lanes of the next warp; every 8 columns further
/// registers.
FragmentPicture repeated() {
  FragmentPicture picture{"D of wgmma", 64, 64, 1, {}, 'D'};
  for (int row = 0; row < 64; ++row)
    for (int col = 0; col < 64; ++col)
      picture.holders.push_back(
          {{row % 8 * 4 + row / 16 * 32 + col % 8 / 2, col % 2 + row % 16 / 8 * 2 + col / 8 * 4}});
  return picture;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(FragmentPicture, WhatRepeatsIsDrawnOnce) {
  FragmentPicture picture = repeated();
  std::string svg = fragment_figure({picture});
  EXPECT_EQ(count_of(svg, "<g>"), 16U * 8U);
  EXPECT_NE(svg.find("rows 16 to 63: every 16 rows the same again, lanes + 32<"), std::string::npos) << svg;
  EXPECT_NE(svg.find("columns 8 to 63: every 8 columns the same again, registers + 4<"), std::string::npos);
  picture.holders[64 * 40 + 7][0].lane += 1;  // nothing repeats
  svg = fragment_figure({picture});
  EXPECT_EQ(count_of(svg, "<g>"), 64U * 64U);
}

TEST(FragmentPicture, BStandsAboveDAndABesideIt) {
  const auto place = [](const std::string& svg, const std::string& title) {
    const std::size_t at = svg.rfind("<text", svg.rfind(title));
    return std::pair(std::stod(svg.substr(svg.find("x=\"", at) + 3)),
                     std::stod(svg.substr(svg.find("y=\"", at) + 3)));
  };
  std::vector<FragmentPicture> all(4, small());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].operand = "ABCD"[i];
    all[i].title = std::string("title ") + "ABCD"[i];
  }
  std::swap(all[2], all[3]);
  const std::string svg = fragment_figure(all);
  const auto [a, b, c, d] =
      std::tuple(place(svg, "title A"), place(svg, "title B"), place(svg, "title C"), place(svg, "title D"));
  EXPECT_EQ(a.second, d.second);
  EXPECT_EQ(b.first, d.first);
  EXPECT_EQ(c.first, d.first);
  EXPECT_LT(a.first, d.first);
  EXPECT_LT(b.second, d.second);
  EXPECT_LT(d.second, c.second);
}

TEST(FragmentPicture, TheTableSaysOnceWhatRepeats) {
  const Section section = section_of(repeated());
  EXPECT_EQ(section.tables.at(0).rows.size(), 16U);
  EXPECT_EQ(section.tables.at(0).columns.size(), 9U);
  EXPECT_EQ(section.lines.size(), 2U);
}

TEST(FragmentPicture, AnOperandInMemoryIsABox) {
  FragmentPicture b{"B", 16, 64, 1, {}, 'B'};
  const std::string svg = fragment_figure({b, repeated()});
  EXPECT_NE(svg.find("in shared memory, held by no lane"), std::string::npos);
  EXPECT_EQ(count_of(svg, "class=\"memory\""), 1U);
}

TEST(FragmentPicture, SvgIsOneDocumentWithEscapedText) {
  const std::string svg = svg_document(fragment_figure({small(), small()}));
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_NE(svg.find("</svg>\n"), std::string::npos);
  EXPECT_NE(svg.find("A &amp; &lt;B&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("<B>"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::report
