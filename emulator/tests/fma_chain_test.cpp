// binary64 fused multiply-add against the host's std::fma, bit for bit, in the four rounding modes.
#include "mmaudit/arithmetic/fma_chain.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <utility>
#include <vector>

#include "mmaudit/splitmix64.hpp"

namespace mmaudit {
namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
constexpr std::uint64_t kInfinity = std::uint64_t{0x7FF} << 52;
constexpr std::uint64_t kDefaultNan = std::uint64_t{0xFFF8} << 48;

Datapath ieee(Rounding rounding) {
  Datapath datapath;
  datapath.arithmetic = Arithmetic::fma_chain;
  datapath.output = {Format::f64,        52, rounding, Overflow::infinity, false, ZeroSign::ieee,
                     NanRule::ieee_quiet};
  return datapath;
}

constexpr std::pair<Rounding, int> kModes[] = {{Rounding::nearest_even, FE_TONEAREST},
                                               {Rounding::toward_zero, FE_TOWARDZERO},
                                               {Rounding::down, FE_DOWNWARD},
                                               {Rounding::up, FE_UPWARD}};

bool is_nan(std::uint64_t bits) { return (bits & ~kSign) > kInfinity; }

/// Volatile, so that no compiler folds it in another rounding mode.
std::uint64_t host_fma(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  volatile double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b), z = std::bit_cast<double>(c);
  volatile double d = std::fma(x, y, z);
  return std::bit_cast<std::uint64_t>(static_cast<double>(d));
}

struct Triple {
  std::uint64_t a, b, c;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return splitmix64(state_); }
  int in(int low, int high) { return low + static_cast<int>(next() % static_cast<unsigned>(high - low + 1)); }
  /// Random sign, `exponent` (clamped; below -1022 subnormal), and a fraction that is dense, sparse or all
  /// ones.
  std::uint64_t number(int exponent) {
    std::uint64_t fraction = next() & kFraction;
    switch (next() % 4) {
      case 0:
        fraction &= next() & next() & next();
        break;
      case 1:
        fraction |= next() | next() | next();
        break;
      default:
        break;
    }
    fraction &= kFraction;
    const std::uint64_t sign = next() & kSign;
    if (exponent > 1023) exponent = 1023;
    if (exponent >= -1022) return sign | static_cast<std::uint64_t>(exponent + 1023) << 52 | fraction;
    const int shift = -1022 - exponent;
    return sign | (shift > 52 ? 1 : (fraction | (kFraction + 1)) >> shift);
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint64_t kSpecials[] = {0,
                                       1,
                                       2,
                                       kFraction - 1,
                                       kFraction,
                                       kFraction + 1,
                                       kFraction + 2,
                                       std::uint64_t{0x3FE} << 52,
                                       (std::uint64_t{0x3FF} << 52) - 1,
                                       std::uint64_t{0x3FF} << 52,
                                       (std::uint64_t{0x3FF} << 52) + 1,
                                       std::uint64_t{0x400} << 52,
                                       std::uint64_t{0x3CA} << 52,
                                       std::uint64_t{0x3C9} << 52,
                                       std::uint64_t{0x1FF} << 52,
                                       std::uint64_t{0x5FE} << 52,
                                       kInfinity - 1,
                                       kInfinity,
                                       kInfinity + 1,
                                       kInfinity | kFraction,
                                       kInfinity | (std::uint64_t{1} << 51)};

std::uint64_t special(Random& random) {
  const std::uint64_t x = kSpecials[random.next() % std::size(kSpecials)];
  return x | (random.next() & kSign);
}

Triple any_bits(Random& random) { return {random.next(), random.next(), random.next()}; }
Triple specials(Random& random) { return {special(random), special(random), special(random)}; }
Triple one_special(Random& random) {
  Triple x{random.number(random.in(-1080, 1023)), random.number(random.in(-60, 60)),
           random.number(random.in(-1080, 1023))};
  (random.next() % 3 == 0 ? x.a : random.next() % 2 == 0 ? x.b : x.c) = special(random);
  return x;
}
/// Product and addend within `reach` binades.
Triple near(Random& random, int centre, int reach) {
  const int a = random.in(-500, 500);
  return {random.number(a), random.number(centre - a), random.number(centre + random.in(-reach, reach))};
}
Triple close(Random& random) { return near(random, random.in(-900, 900), 3); }
Triple apart(Random& random) { return near(random, random.in(-800, 800), 130); }
Triple subnormal_result(Random& random) { return near(random, random.in(-1140, -1000), 60); }
Triple subnormal_factor(Random& random) {
  return {random.number(random.in(-1080, -1010)), random.number(random.in(-80, 1023)),
          random.number(random.in(-1080, 100))};
}
Triple overflow(Random& random) { return near(random, random.in(1018, 1026), 4); }
/// c is the rounded product negated: what is left is the rounding error, or nothing.
Triple cancellation(Random& random) {
  const int a = random.in(-480, 480);
  Triple x{random.number(a), random.number(random.in(-500, 500)), 0};
  const double product = std::bit_cast<double>(x.a) * std::bit_cast<double>(x.b);
  x.c = std::bit_cast<std::uint64_t>(-product) + static_cast<std::uint64_t>(random.in(-1, 1));
  return x;
}
/// The sum lies on or next to the middle of two numbers.
Triple ties(Random& random) {
  const int exponent = random.in(-900, 900);
  const std::uint64_t power = static_cast<std::uint64_t>(1023 + exponent / 2 - 53) << 52;
  const std::uint64_t other = static_cast<std::uint64_t>(1023 + exponent - exponent / 2) << 52;
  const std::uint64_t nudge = random.next() % 3 - 1;
  return {power | (random.next() & kSign), other + nudge, random.number(exponent)};
}

void expect_host_bits(Triple (*generate)(Random&), int count, const char* what) {
  Random random(20251121);
  std::vector<Triple> inputs(static_cast<std::size_t>(count));
  for (Triple& x : inputs) x = generate(random);
  std::vector<std::uint64_t> expected(inputs.size());
  for (const auto& [rounding, mode] : kModes) {
    std::fesetround(mode);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expected[i] = host_fma(inputs[i].a, inputs[i].b, inputs[i].c);
    std::fesetround(FE_TONEAREST);
    const Datapath datapath = ieee(rounding);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Triple& x = inputs[i];
      const std::uint64_t got = fused_multiply_add(x.a, x.b, x.c, datapath);
      if (is_nan(expected[i]) ? is_nan(got) : got == expected[i]) continue;
      FAIL() << what << std::hex << ' ' << x.a << " * " << x.b << " + " << x.c << " mode " << mode << " got "
             << got << " expected " << expected[i];
    }
  }
}

TEST(FusedMultiplyAdd, IsTheHostsOnAnyBits) { expect_host_bits(any_bits, 1'000'000, "bits"); }
TEST(FusedMultiplyAdd, IsTheHostsOnSpecials) { expect_host_bits(specials, 500'000, "specials"); }
TEST(FusedMultiplyAdd, IsTheHostsOnOneSpecial) { expect_host_bits(one_special, 500'000, "one special"); }
TEST(FusedMultiplyAdd, IsTheHostsOnCloseExponents) { expect_host_bits(close, 1'000'000, "close"); }
TEST(FusedMultiplyAdd, IsTheHostsOnFarExponents) { expect_host_bits(apart, 1'000'000, "apart"); }
TEST(FusedMultiplyAdd, IsTheHostsOnSubnormals) {
  expect_host_bits(subnormal_result, 1'000'000, "subnormal result");
  expect_host_bits(subnormal_factor, 500'000, "subnormal factor");
}
TEST(FusedMultiplyAdd, IsTheHostsOnOverflow) { expect_host_bits(overflow, 500'000, "overflow"); }
TEST(FusedMultiplyAdd, IsTheHostsOnCancellation) {
  expect_host_bits(cancellation, 1'000'000, "cancellation");
}
TEST(FusedMultiplyAdd, IsTheHostsOnTies) { expect_host_bits(ties, 500'000, "ties"); }

TEST(FusedMultiplyAdd, EveryTripleOfSpecialsInEveryMode) {
  for (const auto& [rounding, mode] : kModes) {
    const Datapath datapath = ieee(rounding);
    for (unsigned signs = 0; signs < 8; ++signs) {
      for (const std::uint64_t x : kSpecials) {
        for (const std::uint64_t y : kSpecials) {
          for (const std::uint64_t z : kSpecials) {
            const std::uint64_t a = x | ((signs & 1) != 0 ? kSign : 0),
                                b = y | ((signs & 2) != 0 ? kSign : 0),
                                c = z | ((signs & 4) != 0 ? kSign : 0);
            std::fesetround(mode);
            const std::uint64_t expected = host_fma(a, b, c);
            std::fesetround(FE_TONEAREST);
            const std::uint64_t got = fused_multiply_add(a, b, c, datapath);
            ASSERT_TRUE(is_nan(expected) ? is_nan(got) : got == expected)
                << std::hex << a << " * " << b << " + " << c << " got " << got << " expected " << expected;
          }
        }
      }
    }
  }
}

TEST(FusedMultiplyAdd, TheFirstNanInTheOrderBCAWinsQuieted) {
  const Datapath datapath = ieee(Rounding::nearest_even);
  const std::uint64_t quiet = std::uint64_t{1} << 51;
  const std::uint64_t a = kInfinity | 0x111, b = kSign | kInfinity | 0x222, c = kInfinity | quiet | 0x333;
  const std::uint64_t one = std::uint64_t{0x3FF} << 52;
  EXPECT_EQ(fused_multiply_add(a, b, c, datapath), b | quiet);
  EXPECT_EQ(fused_multiply_add(a, one, c, datapath), c);
  EXPECT_EQ(fused_multiply_add(a, one, one, datapath), a | quiet);
  EXPECT_EQ(fused_multiply_add(one, b, c, datapath), b | quiet);
  EXPECT_EQ(fused_multiply_add(one, one, c, datapath), c);
  // A NaN beside an invalid operation is still that NaN.
  EXPECT_EQ(fused_multiply_add(kInfinity, 0, c, datapath), c);
  EXPECT_EQ(fused_multiply_add(kInfinity, b, kSign | kInfinity, datapath), b | quiet);
}

TEST(FusedMultiplyAdd, OtherNanOrdersAndTheCanonicalNan) {
  Datapath datapath = ieee(Rounding::nearest_even);
  const std::uint64_t quiet = std::uint64_t{1} << 51;
  const std::uint64_t nan[3] = {kInfinity | quiet | 1, kInfinity | quiet | 2, kInfinity | quiet | 3};
  for (const char* order : {"abc", "acb", "bac", "bca", "cab", "cba"}) {
    for (int i = 0; i < 3; ++i) datapath.nan_priority[i] = order[i];
    EXPECT_EQ(fused_multiply_add(nan[0], nan[1], nan[2], datapath), nan[order[0] - 'a']);
  }
  datapath.output.nan = NanRule::canonical;
  EXPECT_EQ(fused_multiply_add(nan[0], 0, 0, datapath), ~kSign);
  EXPECT_EQ(fused_multiply_add(kInfinity, 0, 0, datapath), ~kSign);
}

TEST(FusedMultiplyAdd, InvalidOperationsGiveTheNegativeQuietNan) {
  const Datapath datapath = ieee(Rounding::nearest_even);
  const std::uint64_t one = std::uint64_t{0x3FF} << 52;
  EXPECT_EQ(fused_multiply_add(kInfinity, 0, one, datapath), kDefaultNan);
  EXPECT_EQ(fused_multiply_add(kSign, kInfinity, one, datapath), kDefaultNan);
  EXPECT_EQ(fused_multiply_add(kInfinity, one, kSign | kInfinity, datapath), kDefaultNan);
  EXPECT_EQ(fused_multiply_add(kSign | kInfinity, one, kInfinity, datapath), kDefaultNan);
}

constexpr Datapath kNearest = [] {
  Datapath datapath;
  datapath.output.rounding = Rounding::nearest_even;
  return datapath;
}();
static_assert(fused_multiply_add(std::uint64_t{0x400} << 52, std::uint64_t{0x400} << 52,
                                 std::uint64_t{0x3FF} << 52, kNearest) == 0x4014000000000000);  // 2*2 + 1

}  // namespace
}  // namespace mmaudit
