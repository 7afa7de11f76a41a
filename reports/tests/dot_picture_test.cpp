// The picture of a dot product: which bits it shows as kept and as cut.
#include "mmaudit/report/dot_picture.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit::report {
namespace {

DotPicture picture(const char* architecture, const char* name, std::vector<std::uint64_t> a,
                   std::vector<std::uint64_t> b, std::uint64_t c = 0) {
  const auto instruction = find_instruction(name);
  const DatapathEntry* entry = find_datapath(*find_architecture(architecture), *instruction);
  DotCase dot;
  dot.a = std::move(a), dot.b = std::move(b);
  dot.a.resize(static_cast<std::size_t>(instruction->k));
  dot.b.resize(static_cast<std::size_t>(instruction->k));
  dot.c = c;
  return {std::string(name) + " <&>", explain(*instruction, entry->datapath, dot)};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Where the first digit of this run of bits stands.
double place_of(const std::string& svg, const std::string& cls, const std::string& digits) {
  const std::size_t end = svg.find(">" + digits + "</text>"),
                    at = svg.rfind("<text class=\"" + cls + "\"", end);
  return end == std::string::npos ? -1 : std::atof(svg.c_str() + svg.find(" x=\"", at) + 4);
}

// 448 and 0.140625 * 0.375 = 11011b * 2^-9: F = 13 below 2^8 keeps 2^-5.
const std::vector<std::uint64_t> kA = {0x7E, 0, 0, 0, 0, 0x21}, kB = {0x38, 0, 0, 0, 0, 0x2C};

TEST(DotPicture, ShowsWhatAlignmentKeepsAndCuts) {
  const std::string svg = dot_figure({picture("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", kA, kB)});
  EXPECT_TRUE(has(svg, "bits below 2^-5 are cut")) << svg;
  EXPECT_TRUE(has(svg, "exact 0.052734375, kept 0.03125, lost 0.021484375"));
  // 448 is 111b * 2^6: fourteen columns of 11 left of the bit at 2^-5.
  const double first = place_of(svg, "", "111"), kept = place_of(svg, "", "1"),
               cut = place_of(svg, "gone", "1011");
  EXPECT_NEAR(kept - first, 13 * 11, 0.11);
  EXPECT_NEAR(cut - kept, 11, 0.11);
  EXPECT_TRUE(has(svg, ">11100000000001</text>")) << "the sum and D";
  EXPECT_TRUE(has(svg, "D 448.03125"));
  EXPECT_FALSE(has(svg, " <&>"));
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
}

TEST(DotPicture, SeveralStandOnOneAxis) {
  const DotPicture one = picture("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", kA, kB);
  const std::string svg =
      dot_figure({one, picture("hopper", "mma.m16n8k16.f32.f16.f16.f32", {0x3C00}, {0xBC00}, 0x3F000000)});
  EXPECT_TRUE(has(svg, "mma.m16n8k16.f32.f16.f16.f32"));
  EXPECT_TRUE(has(svg, "k 0  1 x -1"));
  EXPECT_TRUE(has(svg, "D -0.5"));
}

TEST(DotPicture, EveryKindOfTraceIsDrawn) {
  const std::uint64_t nan = 0x7FC00000, two = 0x4000000000000000;
  const std::string special =
      dot_figure({picture("hopper", "mma.m16n8k16.f32.f16.f16.f32", {0x3C00}, {0x3C00}, nan)});
  EXPECT_TRUE(has(special, "no sum is formed"));
  const std::string chain =
      dot_figure({picture("hopper", "mma.m8n8k4.f64.f64.f64.f64", {two, two}, {two, two})});
  EXPECT_TRUE(has(chain, "after k 0 4"));
  EXPECT_TRUE(has(chain, "D 8"));
  const std::string integers =
      dot_figure({picture("hopper", "mma.m16n8k32.s32.s8.s8.s32", {3, 0xFF}, {5, 7})});
  EXPECT_TRUE(has(integers, "k 1  -1 x 7")) << integers;
  EXPECT_TRUE(has(integers, "D 8"));
  const std::string nothing = dot_figure({picture("hopper", "mma.m16n8k16.f32.f16.f16.f32", {}, {})});
  EXPECT_TRUE(has(nothing, "(17 zero)")) << nothing;
}

/// The text of the row (<g>) whose label has this part, without markup of its bits; "" without one.
std::string row(const std::string& svg, const std::string& part) {
  const std::size_t at = svg.find(">" + part);
  if (at == std::string::npos) return "";
  const std::size_t begin = svg.rfind("<g ", at);
  return svg.substr(begin, svg.find("</g>", begin) - begin);
}

/// The digits of a row that stay, and those that go.
std::string digits(const std::string& line, const std::string& cls) {
  const std::size_t at = line.find("<text class=\"" + cls + "\"");
  if (at == std::string::npos) return "";
  const std::size_t begin = line.find('>', at) + 1;
  return line.substr(begin, line.find('<', begin) - begin);
}

// CDNA3: 2^10 * 1 and 3 * 2^-15: E = 10 keeps 2^-14 of a product. c = -3 * 2^-23: of c 2^-14 stays, downward.
TEST(DotPicture, TwoStagesAreDrawnOneAfterTheOther) {
  const std::string svg =
      dot_figure({picture("cdna3", "v_mfma_f32_32x32x8f16", {0x6400, 0x0600}, {0x3C00, 0x3C00}, 0xB4C00000)});
  EXPECT_TRUE(has(svg, "step 1 of 1: products are added first, then c"));
  EXPECT_TRUE(has(svg, "k 0-7: the largest exponent is 10; bits below 2^-14 are cut")) << svg;
  const std::string product = row(svg, "k 1  ");
  EXPECT_EQ(digits(product, ""), "1") << product;
  EXPECT_EQ(digits(product, "gone"), "1");
  EXPECT_TRUE(has(product, "exact 9.1552734375e-05, kept 6.103515625e-05")) << product;
  EXPECT_TRUE(has(row(svg, "sum of k 0-7 1024.00006"), "1" + std::string(23, '0') + "1")) << svg;
  EXPECT_TRUE(has(svg, "with c: the larger exponent is 10; bits below 2^-14 of c and below 2^-22 of the"));
  EXPECT_TRUE(has(svg, ">  kept -6.103515625e-05<")) << "downward";
  EXPECT_TRUE(has(row(svg, "c -"), "kept -6.103515625e-05")) << row(svg, "c -");
  EXPECT_EQ(digits(row(svg, "sum 1024<"), ""), "1");
  EXPECT_TRUE(has(svg, "D 1024"));
}

// CDNA3's bf8: even and odd k apart; the odd sum is cut where the even one is, and a far c is dropped.
TEST(DotPicture, TwoSumsHaveAnExponentEach) {
  const std::string svg = dot_figure({picture("cdna3", "v_mfma_f32_16x16x32_bf8_bf8", {0x5C, 0x02, 0, 0x01},
                                              {0x5C, 0x02, 0, 0x01}, 0x30000000)});
  EXPECT_TRUE(has(svg, "even k: the largest exponent is 14; bits below 2^-10 are cut")) << svg;
  EXPECT_TRUE(has(svg, "odd k: the largest exponent is -30; bits below 2^-54 are cut")) << svg;
  EXPECT_TRUE(
      has(svg, "both sums: the larger exponent is 14; bits below 2^-10 are cut toward minus infinity"));
  const std::string odd = row(svg, "sum of odd k");
  EXPECT_EQ(digits(odd, ""), "") << odd;
  EXPECT_EQ(digits(odd, "gone"), "101") << odd;
  EXPECT_EQ(digits(row(svg, "c "), ""), "") << row(svg, "c ");
  EXPECT_TRUE(has(row(svg, "c "), "kept 0"));
  EXPECT_TRUE(has(svg, "step 2 of 2")) << "the other sixteen products";
  EXPECT_TRUE(has(svg, "even k: every product is zero"));
}

// CDNA2: 2048 + 2^-13 is rounded to 2048 before the other pair comes; a subnormal factor is zero.
TEST(DotPicture, TreesShowEveryRounding) {
  const std::string svg =
      dot_figure({picture("cdna2", "v_mfma_f32_32x32x8f16", {0x6800, 0x0800, 0x4000, 0x0001},
                          {0x3C00, 0x3C00, 0x3C00, 0x3C00}, 0x3F800000)});
  EXPECT_TRUE(has(svg, "every product and every sum of two is rounded"));
  const std::string pair = row(svg, "k 0-1 sum 2048.0001");
  EXPECT_EQ(digits(pair, "").size(), 24U) << pair;
  EXPECT_EQ(digits(pair, "gone"), "1") << pair;
  EXPECT_TRUE(has(row(svg, "k 0-1 rounded 2048"), ">1</text>"));
  EXPECT_TRUE(has(svg, "k 2-3 2<")) << svg;
  EXPECT_TRUE(has(svg, "k 0-3 2050<"));
  EXPECT_TRUE(has(svg, "taken as 0 (a subnormal factor)"));
  EXPECT_TRUE(has(row(svg, "c 1"), ">1</text>"));
  EXPECT_TRUE(has(svg, "D 2051"));
}

// CDNA1: exact, so the bit that binary32 has no place for goes in the one rounding.
TEST(DotPicture, ExactSumsAreCutOnce) {
  const std::string svg =
      dot_figure({picture("cdna1", "v_mfma_f32_32x32x8f16", {0x6800, 0x0800}, {0x3C00, 0x3C00}, 0x3F800000)});
  const std::string sum = row(svg, "sum 2049.0001");
  EXPECT_EQ(digits(sum, "").size(), 24U) << svg;
  EXPECT_EQ(digits(sum, "gone"), "1");
  EXPECT_TRUE(has(svg, "step 2 of 2"));
  const std::string wide =
      dot_figure({picture("cdna1", "v_mfma_f32_32x32x8f16", {0x3C00}, {0x3C00}, 0x00000001)});
  EXPECT_TRUE(has(wide, "sum: more than 64 bits")) << wide;
  const std::string special = dot_figure({picture("cdna3", "v_mfma_f32_32x32x8f16", {0x7C00}, {0x3C00})});
  EXPECT_TRUE(has(special, "an input is NaN or infinite, no sum is formed"));
  EXPECT_FALSE(has(special, "largest exponent"));
}

TEST(DotPicture, WideRangesEnd) {
  // bf16 2^127 beside 2^-126: more powers than a page has columns.
  const std::string svg =
      dot_figure({picture("hopper", "mma.m16n8k16.f32.bf16.bf16.f32", {0x7F00, 0x0080}, {0x3F80, 0x3F80})});
  EXPECT_LT(std::atoi(svg.c_str() + svg.find(" width=\"") + 8), 1500);
}

}  // namespace
}  // namespace mmaudit::report
