// Formats: every pattern of the 8- and 16-bit ones read and written in three independent ways.
#include "mmaudit/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "mmaudit/arithmetic/round.hpp"
#include "mmaudit/arithmetic/unpack.hpp"

namespace mmaudit {
namespace {

constexpr Format kSmallFormats[] = {Format::bf16, Format::f16, Format::e5m2, Format::e4m3};

/// The value straight from the definition in the format's specification.
double by_definition(std::uint64_t bits, const FormatSpec& format) {
  const std::uint64_t read = bits >> format.ignored_low_bits;
  const int p = format.fraction_bits;
  const double sign = (bits >> (format.storage_bits - 1)) != 0 ? -1 : 1;
  const auto field = static_cast<int>((read >> p) & ((1U << format.exponent_bits) - 1));
  const double fraction = std::ldexp(static_cast<double>(read & ((std::uint64_t{1} << p) - 1)), -p);
  const bool top = field == (1 << format.exponent_bits) - 1;
  if (top && format.specials == Specials::ieee)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (top && fraction == 1 - std::ldexp(1.0, -p)) return std::nan("");
  return field == 0 ? sign * std::ldexp(fraction, 1 - format.bias)
                    : sign * std::ldexp(1 + fraction, field - format.bias);
}

void expect_same(double x, double y) {
  ASSERT_EQ(std::isnan(x), std::isnan(y));
  if (std::isnan(x)) return;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(x), std::bit_cast<std::uint64_t>(y));
}

TEST(Formats, EverySmallPatternDecodesByDefinition) {
  for (const Format id : kSmallFormats) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.storage_bits; ++bits) {
      SCOPED_TRACE(bits);
      expect_same(decode_value(bits, format), by_definition(bits, format));
    }
  }
}

TEST(Formats, EverySmallPatternUnpacksToItsValue) {
  for (const Format id : kSmallFormats) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.storage_bits; ++bits) {
      const Operand x = unpack(format, {}, bits);
      const double value = by_definition(bits, format);
      ASSERT_EQ(x.kind == Kind::nan, std::isnan(value));
      ASSERT_EQ(x.kind == Kind::infinite, std::isinf(value));
      ASSERT_EQ(x.negative, (bits & format.sign_bit()) != 0);
      if (x.kind != Kind::finite) continue;
      ASSERT_EQ(std::ldexp(x.significand, x.exponent - format.fraction_bits), value);
      ASSERT_TRUE(value == 0 || x.exponent >= format.min_exponent());  // a subnormal is not normalised
      for (const SubnormalRule rule : {SubnormalRule::normalised, SubnormalRule::flushed}) {
        const Operand y = unpack(format, {rule, ZeroRule::no_part, false}, bits);
        const bool subnormal = value != 0 && std::fabs(value) < std::ldexp(1.0, format.min_exponent());
        const double expected = subnormal && rule == SubnormalRule::flushed ? 0 : value;
        ASSERT_EQ(std::ldexp(y.significand, y.exponent - format.fraction_bits), expected);
        ASSERT_TRUE(expected == 0 || rule == SubnormalRule::flushed || y.exponent == std::ilogb(value));
      }
    }
  }
}

TEST(Formats, EverySmallPatternRoundTrips) {
  for (const Format id : kSmallFormats) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.storage_bits; ++bits) {
      const double value = decode_value(bits, format);
      const std::uint64_t nan = format.sign_bit() - 1;
      for (const CastRounding rounding :
           {CastRounding::nearest_even, CastRounding::nearest_away, CastRounding::toward_zero})
        ASSERT_EQ(encode_value(value, format, {rounding, false}), std::isnan(value) ? nan : bits);
    }
  }
}

TEST(Formats, RoundToOutputWritesWhatUnpackReads) {
  for (const Format id : {Format::bf16, Format::f16, Format::e5m2}) {
    const FormatSpec format = spec_of(id);
    OutputRule rule;
    rule.fraction_bits = format.fraction_bits;
    rule.zero_sign = ZeroSign::ieee;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.storage_bits; ++bits) {
      const Operand x = unpack(format, {}, bits);
      if (x.kind != Kind::finite) continue;
      const std::uint64_t written = round_to_output(
          magnitude(x.significand), x.negative, x.exponent - format.fraction_bits, rule, format, x.negative);
      ASSERT_EQ(written, bits);
    }
  }
}

TEST(Formats, WideningFp8ToBinary16IsExact) {
  const FormatSpec half = spec_of(Format::f16);
  for (const Format id : {Format::e4m3, Format::e5m2}) {
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      const FormatSpec format = spec_of(id);
      const Operand narrow = unpack(format, {}, bits);
      const Operand wide = widen(format, half, narrow);
      ASSERT_EQ(wide.kind, narrow.kind);
      if (wide.kind != Kind::finite || narrow.significand == 0) continue;
      const Operand direct = unpack(half, {}, encode_nearest_even(decode_value(bits, format), half));
      ASSERT_EQ(wide.significand, direct.significand);
      ASSERT_EQ(wide.exponent, direct.exponent);
    }
  }
}

/// Between every two neighbours of a format: the middle, and one binary64 step to either side of it.
TEST(Casts, RoundingBetweenEveryTwoNeighbours) {
  for (const Format id : kSmallFormats) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t bits = 0; bits < format.max_finite_bits(); ++bits) {
      const double low = decode_value(bits, format), high = decode_value(bits + 1, format);
      const double middle = (low + high) / 2;
      const double below = std::nextafter(middle, low), above = std::nextafter(middle, high);
      const auto expect = [&](double x, CastRounding rounding, std::uint64_t expected) {
        ASSERT_EQ(encode_value(x, format, {rounding, false}), expected) << name_of(id) << ' ' << bits;
        ASSERT_EQ(encode_value(-x, format, {rounding, true}), expected | format.sign_bit());
      };
      expect(below, CastRounding::nearest_even, bits);
      expect(middle, CastRounding::nearest_even, bits + (bits & 1));
      expect(above, CastRounding::nearest_even, bits + 1);
      expect(below, CastRounding::nearest_away, bits);
      expect(middle, CastRounding::nearest_away, bits + 1);
      expect(std::nextafter(high, low), CastRounding::toward_zero, bits);
    }
  }
}

TEST(Casts, BeyondTheLargestNumber) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto rn = [](double x, Format id, bool saturate) {
    return encode_nearest_even(x, spec_of(id), saturate);
  };
  EXPECT_EQ(rn(464, Format::e4m3, false), 0x7EU);
  EXPECT_EQ(rn(465, Format::e4m3, false), 0x7FU);
  EXPECT_EQ(rn(-465, Format::e4m3, false), 0xFFU);
  EXPECT_EQ(rn(-inf, Format::e4m3, false), 0xFFU);
  EXPECT_EQ(rn(-inf, Format::e4m3, true), 0xFEU);
  EXPECT_EQ(rn(61439, Format::e5m2, false), 0x7BU);
  EXPECT_EQ(rn(61440, Format::e5m2, false), 0x7CU);
  EXPECT_EQ(rn(1e300, Format::e5m2, true), 0x7BU);
  EXPECT_EQ(rn(65519, Format::f16, false), 0x7BFFU);
  EXPECT_EQ(rn(65520, Format::f16, false), 0x7C00U);
  EXPECT_EQ(rn(std::nan(""), Format::e4m3, true), 0x7FU);
  EXPECT_EQ(rn(-std::nan(""), Format::f32, false), 0x7FFFFFFFU);
  EXPECT_EQ(encode_value(1e300, spec_of(Format::f32), {CastRounding::toward_zero, false}), 0x7F7FFFFFU);
}

TEST(Casts, Binary32IsTheHostsOwnConversion) {
  const FormatSpec f32 = spec_of(Format::f32);
  std::uint64_t state = 1;
  for (int i = 0; i < 2'000'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    // Half of the exponents about binary32's range, where rounding and subnormals are.
    std::uint64_t bits = state ^ (state >> 29);
    if (i % 2 == 0) bits = (bits & 0x800FFFFFFFFFFFFFU) | ((0x369 + (bits >> 52) % 0x120) << 52);
    const double x = std::bit_cast<double>(bits);
    if (std::isnan(x)) continue;
    ASSERT_EQ(encode_nearest_even(x, f32), std::bit_cast<std::uint32_t>(static_cast<float>(x)));
    const auto single = static_cast<std::uint32_t>(state >> 32);
    const double back = decode_value(single, f32);
    const double host = std::bit_cast<float>(single);
    ASSERT_TRUE(back == host || (std::isnan(back) && std::isnan(host)));
  }
}

TEST(Casts, Tf32KeepsTenBits) {
  const FormatSpec tf32 = spec_of(Format::tf32);
  EXPECT_EQ(decode_value(0x3F801FFF, tf32), 1.0);
  EXPECT_EQ(decode_value(0x7F801FFF, tf32), std::numeric_limits<double>::infinity());
  EXPECT_EQ(encode_nearest_even(1 + 0x1p-11, tf32), 0x3F800000U);
  EXPECT_EQ(encode_value(1 + 0x1p-11, tf32, {CastRounding::nearest_away, false}), 0x3F802000U);
  EXPECT_EQ(encode_nearest_even(0x1p-136, tf32), 0x00002000U);
}

TEST(Formats, NamesAreUniqueAndFound) {
  for (const NamedFormat& row : kFormats) {
    EXPECT_EQ(find_format(row.name), row.spec.id);
    EXPECT_EQ(name_of(row.spec.id), row.name);
    EXPECT_LE(row.spec.value_bits() + row.spec.ignored_low_bits, row.spec.storage_bits);
  }
  EXPECT_EQ(find_format("fp16"), std::nullopt);
  EXPECT_EQ(name_of(Format::none), "none");
  EXPECT_EQ(decode_value(spec_of(Format::e4m3).max_finite_bits(), spec_of(Format::e4m3)), 448);
  EXPECT_EQ(decode_value(spec_of(Format::e5m2).max_finite_bits(), spec_of(Format::e5m2)), 57344);
}

}  // namespace
}  // namespace mmaudit
