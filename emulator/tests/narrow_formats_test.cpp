// Formats narrower than a byte, and the unsigned scale formats: decode tables written out from the OCP
// Microscaling specification 1.0, conversions by search over all values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "mmaudit/arithmetic/unpack.hpp"
#include "mmaudit/cast_outcome.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Format kNarrow[] = {Format::e3m2, Format::e2m3, Format::e2m1, Format::ue8m0, Format::ue4m3};
constexpr CastRounding kRoundings[] = {CastRounding::nearest_even, CastRounding::nearest_away,
                                       CastRounding::toward_zero, CastRounding::toward_plus};

std::uint64_t codes_of(const FormatSpec& format) { return std::uint64_t{1} << format.value_bits(); }

/// Values of the codes without a sign, in order; NaN where the specification says so.
std::vector<double> table(Format format) {
  switch (format) {
    case Format::e2m1:
      return {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    case Format::e2m3:
      return {0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875,
              2, 2.25,  2.5,  2.75,  3,   3.25,  3.5,  3.75,  4, 4.5,   5,    5.5,   6,   6.5,   7,    7.5};
    case Format::e3m2:
      return {0,     0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75,
              0.875, 1,      1.25,  1.5,    1.75, 2,      2.5,   3,      3.5, 4,     5,
              6,     7,      8,     10,     12,   14,     16,    20,     24,  28};
    case Format::ue4m3: {
      std::vector<double> values;
      values.reserve(128);
      for (int code = 0; code < 127; ++code)
        values.push_back(code < 8 ? std::ldexp(code, -9) : std::ldexp(8 + code % 8, code / 8 - 10));
      values.push_back(std::nan(""));
      return values;
    }
    default: {
      std::vector<double> values;
      values.reserve(256);
      for (int code = 0; code < 255; ++code) values.push_back(std::ldexp(1.0, code - 127));
      values.push_back(std::nan(""));
      return values;
    }
  }
}

bool same(double x, double y) {
  return std::isnan(x) ? std::isnan(y) : std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

TEST(NarrowFormats, EveryByteDecodesByTheTable) {
  for (const Format id : kNarrow) {
    const FormatSpec format = spec_of(id);
    const std::vector<double> values = table(id);
    ASSERT_EQ(values.size() * (format.signless ? 1 : 2), codes_of(format)) << name_of(id);
    for (std::uint64_t byte = 0; byte < 256; ++byte) {  // bits above the value are not read
      const std::uint64_t code = byte % codes_of(format);
      const bool negative = code >= values.size();
      const double value = values[code % values.size()];
      SCOPED_TRACE(testing::Message() << name_of(id) << ' ' << byte);
      ASSERT_TRUE(same(decode_value(byte, format), negative ? -value : value));
      for (const SubnormalRule rule : {SubnormalRule::kept, SubnormalRule::normalised}) {
        const Operand x = unpack(format, {rule, ZeroRule::no_part, false}, byte);
        ASSERT_EQ(x.kind, std::isnan(value) ? Kind::nan : Kind::finite);
        ASSERT_EQ(x.negative, negative);
        if (x.kind == Kind::finite) {
          ASSERT_EQ(std::ldexp(x.significand, x.exponent - format.fraction_bits), negative ? -value : value);
          ASSERT_TRUE(rule == SubnormalRule::normalised || value == 0 || x.exponent >= format.min_exponent());
        }
      }
    }
    ASSERT_EQ(decode_value(format.max_finite_bits(), format),
              std::isnan(values.back()) ? values[values.size() - 2] : values.back());
  }
}

TEST(NarrowFormats, EveryCodeRoundTrips) {
  for (const Format id : kNarrow) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t code = 0; code < codes_of(format); ++code)
      for (const CastRounding rounding : kRoundings)
        for (const bool saturate : {false, true})
          ASSERT_EQ(encode_value(decode_value(code, format), format, {rounding, saturate}), code)
              << name_of(id);
  }
}

TEST(NarrowFormats, EveryCodeRoundTripsAsText) {
  for (const Format id : kNarrow) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t code = 0; code < codes_of(format); ++code) {
      const ParsedValue back = parse_value(value_text(code, format), format);
      ASSERT_EQ(back.error, "");
      ASSERT_EQ(back.bits, code) << name_of(id);
    }
  }
  for (const char* text : {"nan", "inf", "7", "-inf"})
    EXPECT_NE(parse_value(text, spec_of(Format::e2m1)).error, "") << text;
  for (const char* text : {"0", "tiny", "-1", "3", "inf"})
    EXPECT_NE(parse_value(text, spec_of(Format::ue8m0)).error, "") << text;
  EXPECT_EQ(parse_value("min", spec_of(Format::ue8m0)).bits, 0U);
  EXPECT_EQ(parse_value("2^-127", spec_of(Format::ue8m0)).bits, 0U);
  EXPECT_EQ(parse_value("0xb8", spec_of(Format::ue4m3)).bits, 0xB8U);  // bit 7 is there but not read
  EXPECT_EQ(parse_value("-max", spec_of(Format::e3m2)).bits, 0x3FU);
}

/// The code that a rounding gives, by search over the table and rules on real numbers alone.
std::uint64_t by_search(double x, Format id, CastRounding rounding, bool saturate) {
  const FormatSpec format = spec_of(id);
  std::vector<double> values = table(id);
  const bool has_nan = std::isnan(values.back());
  if (has_nan) values.pop_back();
  const std::uint64_t largest = values.size() - 1;
  const std::uint64_t nan = has_nan ? largest + 1 : largest;
  const std::uint64_t beyond = saturate ? largest : nan;
  if (std::isnan(x)) return nan;
  const bool negative = std::signbit(x) && !format.signless;
  const std::uint64_t sign = negative ? codes_of(format) / 2 : 0;
  const double size = std::fabs(x);
  if (std::isinf(x)) return sign | beyond;
  if (size <= values.front()) return sign;
  std::uint64_t low = 0;
  while (low < largest && values[low + 1] <= size) ++low;
  if (values[low] == size) return sign | low;
  // What comes after the largest number if exponents went on.
  const double next = low < largest               ? values[low + 1]
                      : format.fraction_bits == 0 ? 2 * values[low]
                                                  : 2 * values[low] - values[low - 1];
  const bool inward =
      rounding == CastRounding::toward_zero || (rounding == CastRounding::toward_plus && negative);
  bool up = rounding == CastRounding::toward_plus && !negative;
  if (!inward && !up) {
    const double below = size - values[low];
    const double above = next - size;
    // IEEE 754-2019, 4.3.1: a tie of one-digit significands goes to the larger magnitude.
    const bool odd = format.fraction_bits == 0 || low % 2 == 1;
    up = below > above || (below == above && (rounding == CastRounding::nearest_away || odd));
  }
  if (!up) return sign | low;
  return sign | (low == largest ? beyond : low + 1);
}

TEST(NarrowFormats, EveryRoundingAgreesWithASearchOverTheValues) {
  std::mt19937_64 random(20260101);
  for (const Format id : kNarrow) {
    const FormatSpec format = spec_of(id);
    std::vector<double> values = table(id);
    if (std::isnan(values.back())) values.pop_back();
    std::vector<double> inputs{0.0, kInfinity, std::nan(""), 5e-324, 1e300};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = values[i];
      const double next = i + 1 < values.size() ? values[i + 1] : x + (x - values[i - 1]);
      const double middle = x + (next - x) / 2;
      for (const double y : {x, middle, next})
        for (const double z : {std::nextafter(y, 0.0), y, std::nextafter(y, kInfinity)}) inputs.push_back(z);
    }
    const double least = std::log2(values[1]) - 4;
    const double greatest = std::log2(values.back()) + 3;
    for (int i = 0; i < 5000; ++i) {
      const double share = static_cast<double>(random() >> 11) * 0x1p-53;
      inputs.push_back(std::exp2(least + (greatest - least) * share));
    }
    for (const double x : inputs)
      for (const double signed_x : {x, -x})
        for (const CastRounding rounding : kRoundings)
          for (const bool saturate : {false, true})
            ASSERT_EQ(encode_value(signed_x, format, {rounding, saturate}),
                      by_search(signed_x, id, rounding, saturate))
                << name_of(id) << ' ' << signed_x << ' ' << static_cast<int>(rounding) << saturate;
  }
}

TEST(NarrowFormats, RoundingUpwardInFormatsWithInfinity) {
  const FormatSpec half = spec_of(Format::f16);
  const CastRule up{CastRounding::toward_plus, false};
  EXPECT_EQ(encode_value(65505, half, up), 0x7C00U);
  EXPECT_EQ(encode_value(-65535, half, up), 0xFBFFU);
  EXPECT_EQ(encode_value(1e-300, half, up), 0x0001U);
  EXPECT_EQ(encode_value(-1e-300, half, up), 0x8000U);
  EXPECT_EQ(encode_value(1 + 0x1p-20, half, up), 0x3C01U);
  EXPECT_EQ(encode_value(-1 - 0x1p-20, half, up), 0xBC00U);
}

TEST(CastOutcomes, NearTheEndsOfE4m3) {
  const FormatSpec e4m3 = spec_of(Format::e4m3);
  const auto outcome = [&](double x, CastRounding rounding = CastRounding::nearest_even,
                           bool saturate = false) {
    const CastRule rule{rounding, saturate};
    return outcome_of_cast(x, encode_value(x, e4m3, rule), e4m3, rule);
  };
  EXPECT_TRUE(outcome(448).exact);
  EXPECT_FALSE(outcome(464).overflow);  // rounds to 448
  EXPECT_FALSE(outcome(464, CastRounding::nearest_even, true).exact);
  EXPECT_TRUE(outcome(464, CastRounding::nearest_away).overflow);
  EXPECT_TRUE(outcome(465).overflow);
  EXPECT_TRUE(outcome(-465, CastRounding::nearest_even, true).overflow);
  EXPECT_FALSE(outcome(479, CastRounding::toward_zero).overflow);
  EXPECT_TRUE(outcome(480, CastRounding::toward_zero).overflow);
  EXPECT_TRUE(outcome(449, CastRounding::toward_plus).overflow);
  EXPECT_FALSE(outcome(-449, CastRounding::toward_plus).overflow);
  EXPECT_TRUE(outcome(1e300).overflow);
  EXPECT_TRUE(outcome(kInfinity).overflow);
  EXPECT_TRUE(outcome(std::nan("")).nan);
  EXPECT_TRUE(outcome(0).exact);
  EXPECT_FALSE(outcome(0).underflow || outcome(0).subnormal);
  EXPECT_TRUE(outcome(0x1p-10).underflow);
  EXPECT_TRUE(outcome(0x1p-9).exact && outcome(0x1p-9).subnormal);
  EXPECT_TRUE(outcome(0x1.1p-9).subnormal && !outcome(0x1.1p-9).exact);
  EXPECT_FALSE(outcome(0x1p-6).subnormal);
}

TEST(CastOutcomes, IntegersAreClampedAndNeverSubnormal) {
  const auto text = [](Format format, double x, CastRounding rounding = CastRounding::nearest_even) {
    const FormatSpec spec = spec_of(format);
    const CastRule rule{rounding, false};
    const CastOutcome out = outcome_of_cast(x, encode_value(x, spec, rule), spec, rule);
    return std::string(out.overflow ? "clamped"
                       : out.exact  ? "exact"
                                    : "inexact") +
           (out.underflow ? ", underflow" : "") + (out.subnormal ? ", subnormal" : "");
  };
  const CastRounding zero = CastRounding::toward_zero;
  EXPECT_EQ(text(Format::s8, 0), "exact");
  EXPECT_EQ(text(Format::s8, 1), "exact");
  EXPECT_EQ(text(Format::s8, -128), "exact");
  EXPECT_EQ(text(Format::s8, 1.5), "inexact");
  EXPECT_EQ(text(Format::s8, 0.25), "inexact, underflow");
  EXPECT_EQ(text(Format::s8, 127.25), "inexact");
  EXPECT_EQ(text(Format::s8, 127.5), "clamped");
  EXPECT_EQ(text(Format::s8, 127.5, zero), "inexact");
  EXPECT_EQ(text(Format::s8, 128, zero), "clamped");
  EXPECT_EQ(text(Format::s8, -128.5), "inexact");
  EXPECT_EQ(text(Format::s8, -129), "clamped");
  EXPECT_EQ(text(Format::s8, kInfinity), "clamped");
  EXPECT_EQ(text(Format::u8, 255), "exact");
  EXPECT_EQ(text(Format::u8, 256), "clamped");
  EXPECT_EQ(text(Format::u8, -0.25), "inexact, underflow");
  EXPECT_EQ(text(Format::u8, -1), "clamped");
  EXPECT_EQ(text(Format::s4, 8), "clamped");
  EXPECT_EQ(text(Format::u4, 15.25), "inexact");
  EXPECT_EQ(text(Format::s32, 0x1p31), "clamped");
  EXPECT_EQ(text(Format::s32, -0x1p31), "exact");
  EXPECT_EQ(text(Format::s32, 1e300), "clamped");
}

TEST(CastOutcomes, FormatsWithInfinityAndWithoutZero) {
  const FormatSpec half = spec_of(Format::f16);
  const CastRule plain;
  const CastRule saturating{CastRounding::nearest_even, true};
  EXPECT_TRUE(outcome_of_cast(kInfinity, 0x7C00, half, plain).exact);
  EXPECT_TRUE(outcome_of_cast(kInfinity, 0x7BFF, half, saturating).overflow);
  EXPECT_FALSE(outcome_of_cast(65519, 0x7BFF, half, plain).overflow);
  EXPECT_TRUE(outcome_of_cast(65520, 0x7C00, half, plain).overflow);
  const FormatSpec scale = spec_of(Format::ue8m0);
  EXPECT_FALSE(outcome_of_cast(0, 0, scale, plain).exact);  // became 2^-127
  EXPECT_FALSE(outcome_of_cast(0, 0, scale, plain).underflow);
  EXPECT_TRUE(outcome_of_cast(0x1p-127, 0, scale, plain).exact);
  EXPECT_TRUE(outcome_of_cast(0x1.9p127, 0xFF, scale, plain).overflow);
  EXPECT_TRUE(outcome_of_cast(0x1p-1074, 1, spec_of(Format::f64), plain).subnormal);
}

}  // namespace
}  // namespace mmaudit
