// Packed conversions and stochastic rounding: every random number for every cut-off part that matters,
// against the integer addition that the PTX ISA describes.
#include "mmaudit/cvt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace mmaudit {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// What the PTX ISA says of .rs, for a normal result: random bits are added to the bits that are cut off.
std::uint32_t by_addition(std::uint32_t source, const FormatSpec& format, std::uint32_t random, int bits) {
  const int cut = 23 - format.fraction_bits;
  const std::uint32_t magnitude = source & 0x7FFFFFFFU, rest = magnitude & ((1U << cut) - 1);
  const std::uint32_t top = cut >= bits ? rest >> (cut - bits) : rest << (bits - cut);
  const std::uint32_t carry = (top + random) >> bits;
  const std::uint32_t rebased =
      (magnitude >> cut) + carry - (static_cast<std::uint32_t>(127 - format.bias) << format.fraction_bits);
  return rebased | (source >> 31 != 0 ? static_cast<std::uint32_t>(format.sign_bit()) : 0U);
}

struct Stochastic {
  Format format;
  int bits;
};
constexpr Stochastic kStochastic[] = {{Format::f16, 13},  {Format::bf16, 16}, {Format::e4m3, 16},
                                      {Format::e5m2, 16}, {Format::e2m3, 16}, {Format::e3m2, 16}};

TEST(Stochastic, EveryRandomNumberCarriesAsTheIntegerAddition) {
  for (const auto& [id, bits] : kStochastic) {
    const FormatSpec format = spec_of(id);
    for (const std::uint32_t source :
         {0x3F800000U, 0x3F800001U, 0x3F8C1234U, 0xBF9FFFFFU, 0x3FC00000U, 0xBFF00001U, 0x3FFFFFFFU}) {
      std::uint32_t ups = 0;
      const double value = std::bit_cast<float>(source);
      const RoundingOdds odds = stochastic_odds(value, format, bits, true);
      for (std::uint32_t random = 0; random < 1U << bits; ++random) {
        const std::uint64_t found = encode_stochastic(value, format, random, bits, true);
        ASSERT_EQ(found, by_addition(source, format, random, bits))
            << name_of(id) << " " << source << " " << random;
        ups += found != odds.down ? 1U : 0U;
      }
      EXPECT_EQ(ups, odds.ups) << name_of(id) << " " << source;
    }
  }
}

TEST(Stochastic, TheShareOfUpsIsTheCutOffPart) {
  // 1 + 3/4 of a unit of f16: of 8192 random numbers 6144 round up.
  const FormatSpec half = spec_of(Format::f16);
  EXPECT_EQ(stochastic_odds(1 + 0.75 * std::ldexp(1.0, -10), half, 13, false).ups, 6144U);
  // A part below 2^-13 of a unit never rounds up; an exact value never changes.
  EXPECT_EQ(stochastic_odds(1 + std::ldexp(1.0, -24), half, 13, false).ups, 0U);
  EXPECT_EQ(stochastic_odds(-1.5, half, 13, false).ups, 0U);
  // Subnormal results keep the unit of the least normal number.
  const RoundingOdds tiny = stochastic_odds(std::ldexp(1.25, -24), half, 13, false);
  EXPECT_EQ(tiny.down, 1U);
  EXPECT_EQ(tiny.up, 2U);
  EXPECT_EQ(tiny.ups, 2048U);
}

TEST(Stochastic, TheEndOfTheRange) {
  const FormatSpec half = spec_of(Format::f16), e4m3 = spec_of(Format::e4m3), e2m3 = spec_of(Format::e2m3);
  // 65504 + 8 of 32: a quarter goes to infinity, or stays with .satfinite.
  EXPECT_EQ(stochastic_odds(65512, half, 13, false).up, 0x7C00U);
  EXPECT_EQ(stochastic_odds(65512, half, 13, false).ups, 2048U);
  EXPECT_EQ(stochastic_odds(65512, half, 13, true).up, 0x7BFFU);
  EXPECT_EQ(stochastic_odds(1e9, half, 13, false).down, 0x7C00U);
  EXPECT_EQ(stochastic_odds(-1e9, e4m3, 16, true).down, 0xFEU);
  EXPECT_EQ(stochastic_odds(std::nan(""), e4m3, 16, true).down, 0x7FU);
  EXPECT_EQ(stochastic_odds(std::nan(""), e2m3, 16, true).down, 0x1FU);  // no NaN: the largest number
}

std::uint32_t cvt(std::string_view opcode, std::initializer_list<std::uint32_t> operands,
                  std::uint32_t random = 0) {
  std::uint32_t result = 0;
  const std::string reason = run_cvt(opcode, {operands.begin(), operands.size()}, random, result);
  EXPECT_EQ(reason, "") << opcode;
  return result;
}

TEST(Packed, TheFirstOperandIsTheHighestElement) {
  const std::uint32_t one = bits_of(1.0F), minus = bits_of(-1.0F), two = bits_of(2.0F), half = bits_of(0.5F);
  EXPECT_EQ(cvt("cvt.rn.f16x2.f32", {one, minus}), 0x3C00BC00U);
  EXPECT_EQ(cvt("cvt.rz.bf16x2.f32", {minus, two}), 0xBF804000U);
  EXPECT_EQ(cvt("cvt.rn.satfinite.e4m3x2.f32", {one, two}), 0x3840U);
  EXPECT_EQ(cvt("cvt.rn.satfinite.e2m1x2.f32", {one, minus}), 0x2AU);
  EXPECT_EQ(cvt("cvt.rn.satfinite.e2m3x2.f32", {one, minus}), 0x0828U);  // two zero bits above each
  EXPECT_EQ(cvt("cvt.rn.satfinite.e3m2x2.f32", {two, half}), 0x1008U);
  EXPECT_EQ(cvt("cvt.rz.ue8m0x2.f32", {two, half}), 0x807EU);
  EXPECT_EQ(cvt("cvt.rp.satfinite.ue8m0x2.bf16x2", {0x3FC04000U}), 0x8080U);
  EXPECT_EQ(cvt("cvt.rn.satfinite.e2m1x2.f16x2", {0x3C00C000U}), 0x2CU);
  EXPECT_EQ(cvt("cvt.rn.f16x2.e2m1x2", {0x2AU}), 0x3C00BC00U);
  EXPECT_EQ(cvt("cvt.rn.f16x2.e2m3x2", {0x0828U}), 0x3C00BC00U);
  EXPECT_EQ(cvt("cvt.rn.bf16x2.ue8m0x2", {0x807EU}), 0x40003F00U);
  EXPECT_EQ(cvt("cvt.rs.satfinite.e4m3x4.f32", {one, two, half, minus}, 0), 0x384030B8U);
  EXPECT_EQ(cvt("cvt.rs.satfinite.e3m2x4.f32", {one, two, half, minus}, ~0U), 0x0C10082CU);
}

TEST(Packed, SaturatesAndClamps) {
  const std::uint32_t big = bits_of(1e30F), small = bits_of(-1e30F), nan = 0x7FC00000U, zero = 0x80000000U;
  EXPECT_EQ(cvt("cvt.rn.satfinite.e2m1x2.f32", {big, small}), 0x7FU);
  EXPECT_EQ(cvt("cvt.rn.satfinite.e2m1x2.f32", {nan, small}), 0x7FU);
  EXPECT_EQ(cvt("cvt.rn.satfinite.relu.e2m1x2.f32", {nan, small}), 0x70U);
  EXPECT_EQ(cvt("cvt.rn.satfinite.relu.e5m2x2.f32", {nan, zero}), 0x7F00U);
  EXPECT_EQ(cvt("cvt.rn.satfinite.e4m3x2.f32", {nan, big}), 0x7F7EU);
  EXPECT_EQ(cvt("cvt.rn.f16x2.f32", {big, small}), 0x7C00FC00U);
  EXPECT_EQ(cvt("cvt.rn.satfinite.f16x2.f32", {big, small}), 0x7BFFFBFFU);
  EXPECT_EQ(cvt("cvt.rp.satfinite.ue8m0x2.f32", {big, nan}), 0xE3FFU);
}

TEST(Packed, RandomBitsMeetTheirOperands) {
  // 1 + half a unit of f16, and the carry needs 4096 of 8191: each operand has its own half of rbits.
  const std::uint32_t x = bits_of(1 + std::ldexp(1.0F, -11));
  EXPECT_EQ(cvt("cvt.rs.f16x2.f32", {x, x}, 0x10000000U), 0x3C013C00U);
  EXPECT_EQ(cvt("cvt.rs.f16x2.f32", {x, x}, 0x00001000U), 0x3C003C01U);
  EXPECT_EQ(cvt("cvt.rs.f16x2.f32", {x, x}, 0xE000E000U),
            0x3C003C00U);  // the three highest of each half are not read
  const std::uint32_t y = bits_of(1 + std::ldexp(1.0F, -8));
  EXPECT_EQ(cvt("cvt.rs.bf16x2.f32", {y, y}, 0x80000000U), 0x3F813F80U);
  // Two of four operands share a half: the second reads it as it is, the first in reverse.
  const std::uint32_t z = bits_of(1 + std::ldexp(1.0F, -4));
  EXPECT_EQ(cvt("cvt.rs.satfinite.e4m3x4.f32", {z, z, z, z}, 0x80000000U), 0x38393838U);
  EXPECT_EQ(cvt("cvt.rs.satfinite.e4m3x4.f32", {z, z, z, z}, 0x00010000U), 0x39383838U);
  EXPECT_EQ(cvt("cvt.rs.satfinite.e4m3x4.f32", {z, z, z, z}, 0x00008000U), 0x38383839U);
  EXPECT_EQ(cvt("cvt.rs.satfinite.e4m3x4.f32", {z, z, z, z}, 0x00000001U), 0x38383938U);
  EXPECT_EQ(cvt("cvt.rs.satfinite.e4m3x4.f32", {z, z, z, z}, 0x7FFE7FFEU), 0x38383838U);
}

TEST(Packed, EveryOperandOfFourHasTheExactOdds) {
  // All 2^16 values of a half; the other half is the complement, so the pairs differ.
  for (const char* const type : {"e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"}) {
    const PackedType& packed = *find_packed_type(type);
    const float values[4] = {1.0390625F, 1.2345678F, -1.9F, 0.3F};
    std::uint32_t operands[4], ups[4] = {}, both = 0;
    RoundingOdds odds[4];
    for (int i = 0; i < 4; ++i) {
      operands[i] = bits_of(values[i]);
      odds[i] = stochastic_odds(values[i], spec_of(packed.format), packed.random_bits, true);
    }
    for (std::uint32_t half = 0; half < 1U << 16; ++half) {
      std::uint32_t result = 0;
      ASSERT_EQ(run_cvt("cvt.rs.satfinite." + std::string(type) + ".f32", operands,
                        half << 16 | (~half & 0xFFFFU), result),
                "");
      bool up[4];
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t element = result >> (24 - 8 * i) & 0xFFU;
        up[i] = element != odds[i].down;
        ASSERT_TRUE(!up[i] || element == odds[i].up) << type << " operand " << i << " half " << half;
        ups[i] += up[i] ? 1U : 0U;
      }
      both += up[0] && up[1] ? 1U : 0U;
    }
    for (int i = 0; i < 4; ++i) EXPECT_EQ(ups[i], odds[i].ups) << type << " operand " << i;
    // With the same bits in the same order both would round up whenever the rarer one does.
    EXPECT_LT(both, std::min(odds[0].ups, odds[1].ups)) << type;
  }
}

TEST(Packed, RefusesWhatThePtxIsaLacks) {
  struct Case {
    const char *opcode, *reason;
    std::size_t operands;
  };
  const Case cases[] = {
      {"cvt.rn.e4m3x2.f32", "mandatory", 2},
      {"cvt.rz.satfinite.e4m3x2.f32", "found rz, allowed: rn", 2},
      {"cvt.rn.satfinite.e4m3x4.f32", "found rn, allowed: rs", 4},
      {"cvt.rn.ue8m0x2.f32", "found rn, allowed: rz rp", 2},
      {"cvt.rz.relu.ue8m0x2.f32", "found relu", 2},
      {"cvt.rn.satfinite.f16x2.e2m1x2", "found satfinite", 1},
      {"cvt.rn.satfinite.e2m1x2.f64", "found f64", 2},
      {"cvt.rn.f32.f16", "found f32", 1},
      {"cvt.rn.f16x2.f32", "found 3, allowed: 2", 3},
      {"cvt.rs.satfinite.e2m1x4.f32", "not modelled: .rs to .e2m1x4 (a and b share", 4},
      {"add.f32", "cvt.ROUNDING", 2},
  };
  const std::uint32_t operands[4] = {};
  for (const Case& one : cases) {
    std::uint32_t result = 0;
    EXPECT_NE(run_cvt(one.opcode, {operands, one.operands}, 0, result).find(one.reason), std::string::npos)
        << one.opcode;
  }
}

TEST(Packed, NarrowFormatsGoThereAndBack) {
  for (const PackedType& type : packed_types()) {
    if (type.count != 2 || type.pitch > 8 || type.format == Format::ue8m0) continue;
    const FormatSpec format = spec_of(type.format);
    for (std::uint32_t code = 0; code < 1U << format.value_bits(); ++code) {
      if (std::isnan(decode_value(code, format)) || std::isinf(decode_value(code, format))) continue;
      const std::uint32_t packed = code << type.pitch | code;
      std::uint32_t wide = 0, back = 0;
      ASSERT_EQ(run_cvt("cvt.rn.f16x2." + std::string(type.name), {&packed, 1}, 0, wide), "");
      ASSERT_EQ(run_cvt("cvt.rn.satfinite." + std::string(type.name) + ".f16x2", {&wide, 1}, 0, back), "");
      ASSERT_EQ(back, packed) << type.name;
    }
  }
}

}  // namespace
}  // namespace mmaudit
