// The MPFR oracle against Boost rationals, against std::fma, and on values worked out by hand.
#include "mmaudit/oracles/exact.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>

#include "mmaudit/convert.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

using boost::multiprecision::cpp_rational;

const Instruction kF16{Op::mma, 16, 8, 16, Format::f32, Format::f16, Format::f16, Format::f32};
const Instruction kF64{Op::mma, 8, 8, 4, Format::f64, Format::f64, Format::f64, Format::f64};

struct Value {
  double a, b;
};

oracle::ExactDot exact_of(const Instruction& inst, const std::vector<Value>& products, double c,
                          unsigned modifiers = 0) {
  std::vector<std::uint64_t> a(static_cast<std::size_t>(inst.k)), b = a;
  for (std::size_t k = 0; k < products.size(); ++k) {
    a[k] = encode_nearest_even(products[k].a, spec_of(inst.a));
    b[k] = encode_nearest_even(products[k].b, spec_of(inst.b));
  }
  return oracle::exact_dot(inst, {.a = a,
                                  .b = b,
                                  .c = encode_nearest_even(c, spec_of(inst.c)),
                                  .modifiers = static_cast<std::uint8_t>(modifiers)});
}

cpp_rational rational(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  cpp_rational value(static_cast<long long>(std::ldexp(fraction, 53)));
  const boost::multiprecision::cpp_int scale = boost::multiprecision::cpp_int(1) << std::abs(exponent - 53);
  return exponent < 53 ? cpp_rational(value / scale) : cpp_rational(value * scale);
}

cpp_rational rational_dot(const Instruction& inst, const OneDot& one) {
  const auto value = [](std::uint64_t bits, Format format) {
    return rational(decode_value(bits, spec_of(format)));
  };
  cpp_rational sum = value(one.c, inst.c);
  for (std::size_t k = 0; k < one.a.size(); ++k) {
    sum += value(one.a[k], inst.a) * value(met(inst, one, k), inst.b);
  }
  return sum;
}

TEST(ExactDot, RoundsLikeRationalArithmetic) {
  std::size_t checked = 0;
  for (const Probe& probe : all_probes()) {
    if (spec_of(probe.instruction.d).integer()) continue;  // nothing is rounded there
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    for (const gen::InputClass input_class :
         {gen::InputClass::random_finite, gen::InputClass::cancellation, gen::InputClass::near_subnormal}) {
      TileBatch tiles(probe.instruction);
      gen::append_class(tiles, generator, input_class, kSeed, 0, 1, 0);
      for (std::size_t i = 0; i < 8; ++i) {
        const OneDot one = cut(tiles, 0, i, i);
        const oracle::ExactDot exact = oracle::exact_dot(probe.instruction, one);
        ASSERT_TRUE(exact.finite);
        const cpp_rational sum = rational_dot(probe.instruction, one);
        // The neighbours of the nearest number are no nearer.
        const std::uint64_t nearest = oracle::correctly_rounded(exact, probe.instruction.d);
        const FormatSpec d = spec_of(probe.instruction.d);
        const double got = decode_value(nearest, d);
        if (!std::isfinite(got) || sum == 0) continue;
        ++checked;
        const cpp_rational error = abs(cpp_rational(rational(got) - sum));
        for (const std::uint64_t neighbour : {nearest - 1, nearest + 1}) {
          const double other = decode_value(neighbour, d);
          if (!std::isfinite(other)) continue;
          const cpp_rational other_error = abs(cpp_rational(rational(other) - sum));
          EXPECT_TRUE(error < other_error || (error == other_error && nearest % 2 == 0) ||
                      (nearest & (d.sign_bit() - 1)) == 0)
              << text_of(probe.instruction, one);
        }
        EXPECT_LE(std::fabs(oracle::error_in_ulps(exact, nearest, probe.instruction.d)), 0.5);
        const cpp_rational relative = error / abs(sum);
        EXPECT_NEAR(oracle::relative_error(exact, got), relative.convert_to<double>(),
                    1e-12 * relative.convert_to<double>());
      }
    }
  }
  EXPECT_GT(checked, 500U);
}

TEST(ExactDot, OneProductIsStdFma) {
  Draws random{kSeed};
  std::vector<std::uint64_t> a(4), b(4);
  for (int i = 0; i < 20'000; ++i) {
    a[0] = random.next();
    b[0] = random.next();
    const std::uint64_t c = random.next();
    const double expected =
        std::fma(std::bit_cast<double>(a[0]), std::bit_cast<double>(b[0]), std::bit_cast<double>(c));
    const oracle::ExactDot exact = oracle::exact_dot(kF64, {.a = a, .b = b, .c = c});
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(exact.value));
      continue;
    }
    ASSERT_EQ(exact.value, expected);
    ASSERT_EQ(oracle::correctly_rounded(exact, Format::f64), std::bit_cast<std::uint64_t>(expected));
  }
}

TEST(ExactDot, Decimals) {
  EXPECT_EQ(exact_of(kF16, {{1, 1}}, 0).decimal, "1");
  EXPECT_EQ(exact_of(kF16, {{1.5, -0.25}}, 0).decimal, "-0.375");
  EXPECT_EQ(exact_of(kF16, {{1024, 1024}}, 0.5).decimal, "1048576.5");
  EXPECT_EQ(exact_of(kF16, {}, 0x1p-20).decimal, "9.5367431640625e-7");
  EXPECT_EQ(exact_of(kF16, {}, 0x1p100).decimal, "1.267650600228229401496703205376e30");
  EXPECT_EQ(exact_of(kF16, {{1, 1}, {-1, 1}}, 0).decimal, "0");
  EXPECT_EQ(exact_of(kF16, {{1, 1}, {0.01, 0}}, -1000).decimal, "-999");
  const oracle::ExactDot long_one = exact_of(kF16, {{1, 1}}, 0x1p-149);
  EXPECT_EQ(long_one.decimal, "1");  // 1 + 1.4e-45: forty digits do not reach it
  EXPECT_FALSE(long_one.decimal_is_exact);
  EXPECT_TRUE(exact_of(kF16, {{1, 1}}, 0x1p-30).decimal_is_exact);
  EXPECT_EQ(exact_of(kF16, {{1, 1}}, std::numeric_limits<double>::quiet_NaN()).decimal, "nan");
  EXPECT_EQ(exact_of(kF16, {{1, 1}}, -std::numeric_limits<double>::infinity()).decimal, "-inf");
}

TEST(ExactDot, Modifiers) {
  EXPECT_EQ(exact_of(kF16, {{2, 3}}, 5, kNegateA).value, -1);
  EXPECT_EQ(exact_of(kF16, {{2, 3}}, 5, kNegateB).value, -1);
  EXPECT_EQ(exact_of(kF16, {{2, 3}}, 5, kNegateA | kNegateB).value, 11);
  EXPECT_EQ(exact_of(kF16, {{2, 3}}, 5, kScaleDZero).value, 6);
  EXPECT_EQ(exact_of(kF16, {{2, 3}}, std::numeric_limits<double>::quiet_NaN(), kScaleDZero).value, 6);
  EXPECT_EQ(exact_of(kF16, {{2, -3}}, 5).magnitude, 11);
}

TEST(ExactDot, ErrorsOfOneResult) {
  const oracle::ExactDot third = exact_of(kF16, {{1, 1}}, 0x3p-25);  // 1 + 0.75 units of 2^-23
  EXPECT_DOUBLE_EQ(oracle::error_in_ulps(third, 0x3F800000, Format::f32), -0.75);
  EXPECT_DOUBLE_EQ(oracle::error_in_ulps(third, 0x3F800001, Format::f32), 0.25);
  EXPECT_EQ(oracle::correctly_rounded(third, Format::f32), 0x3F800001U);
  EXPECT_EQ(oracle::correctly_rounded(third, Format::f16), 0x3C00U);
  EXPECT_EQ(oracle::relative_error(third, third.value), 0);

  const oracle::ExactDot zero = exact_of(kF16, {}, 0);
  EXPECT_EQ(oracle::relative_error(zero, 0), 0);
  EXPECT_EQ(oracle::relative_error(zero, 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(oracle::error_in_ulps(zero, 3, Format::f32), 3);
  EXPECT_EQ(oracle::correctly_rounded(zero, Format::f32), 0U);

  const oracle::ExactDot infinite = exact_of(kF16, {}, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(oracle::relative_error(infinite, -std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(oracle::correctly_rounded(infinite, Format::f16), 0xFC00U);
  const oracle::ExactDot nan = exact_of(kF16, {{0, std::numeric_limits<double>::infinity()}}, 0);
  EXPECT_EQ(oracle::correctly_rounded(nan, Format::f32), 0x7FFFFFFFU);
  EXPECT_TRUE(std::isnan(oracle::relative_error(nan, 1)));
  EXPECT_EQ(oracle::relative_error(nan, nan.value), 0);
}

TEST(ExactDot, RoundingAtTheEndsOfAFormat) {
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {{256, 256}, {-16, 1}}, 0), Format::f16),
            0x7C00U);  // 65520
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {{256, 256}, {-17, 1}}, 0), Format::f16), 0x7BFFU);
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {}, 464), Format::e4m3), 0x7EU);
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {}, -465), Format::e4m3), 0xFFU);
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {}, 0x1p-25), Format::f16), 0U);
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {}, -0x3p-26), Format::f16), 0x8001U);
  EXPECT_EQ(oracle::correctly_rounded(exact_of(kF16, {}, 1.0009765625), Format::tf32), 0x3F802000U);
}

// On exponents where F loses nothing, Hopper's f16 datapath is the exact sum cut off at 23 bits: the two
// oracles meet without the emulator.
TEST(ExactDot, TheReferenceIsTheExactSumCutOff) {
  const Probe probe{kF16, Datapath{}};
  Draws random{kSeed};
  for (int i = 0; i < 500; ++i) {
    OneDot one;
    one.a.assign(16, 0);
    one.b = one.a;
    for (std::size_t k = 0; k < 16; ++k) {
      one.a[k] = encode_nearest_even(random.in(-511, 511), spec_of(Format::f16));
      one.b[k] = encode_nearest_even(random.in(-511, 511), spec_of(Format::f16));
    }
    const oracle::ExactDot exact = oracle::exact_dot(kF16, one);
    const std::uint64_t d = oracle::reference_dot(kF16, probe.datapath, one);
    ASSERT_EQ(oracle::relative_error(exact, decode_value(d, spec_of(Format::f32))), 0);
  }
}

}  // namespace
}  // namespace mmaudit::test
