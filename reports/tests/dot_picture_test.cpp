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
  const std::string svg = dot_svg({picture("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", kA, kB)});
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
      dot_svg({one, picture("hopper", "mma.m16n8k16.f32.f16.f16.f32", {0x3C00}, {0xBC00}, 0x3F000000)});
  EXPECT_TRUE(has(svg, "mma.m16n8k16.f32.f16.f16.f32"));
  EXPECT_TRUE(has(svg, "k 0  1 x -1"));
  EXPECT_TRUE(has(svg, "D -0.5"));
}

TEST(DotPicture, EveryKindOfTraceIsDrawn) {
  const std::uint64_t nan = 0x7FC00000, two = 0x4000000000000000;
  const std::string special =
      dot_svg({picture("hopper", "mma.m16n8k16.f32.f16.f16.f32", {0x3C00}, {0x3C00}, nan)});
  EXPECT_TRUE(has(special, "no sum is formed"));
  const std::string chain =
      dot_svg({picture("hopper", "mma.m8n8k4.f64.f64.f64.f64", {two, two}, {two, two})});
  EXPECT_TRUE(has(chain, "after k 0 4"));
  EXPECT_TRUE(has(chain, "D 8"));
  const std::string integers = dot_svg({picture("hopper", "mma.m16n8k32.s32.s8.s8.s32", {3, 0xFF}, {5, 7})});
  EXPECT_TRUE(has(integers, "k 1  -1 x 7")) << integers;
  EXPECT_TRUE(has(integers, "D 8"));
  const std::string nothing = dot_svg({picture("hopper", "mma.m16n8k16.f32.f16.f16.f32", {}, {})});
  EXPECT_TRUE(has(nothing, "(17 zero)")) << nothing;
}

TEST(DotPicture, WideRangesEnd) {
  // bf16 2^127 beside 2^-126: more powers than a page has columns.
  const std::string svg =
      dot_svg({picture("hopper", "mma.m16n8k16.f32.bf16.bf16.f32", {0x7F00, 0x0080}, {0x3F80, 0x3F80})});
  EXPECT_LT(std::atoi(svg.c_str() + svg.find(" width=\"") + 8), 1500);
}

}  // namespace
}  // namespace mmaudit::report
