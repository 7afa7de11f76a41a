// Special functions against second implementations, and their laws. The recordings:
// corpus/tests/functions_test.cpp.
#include "mmaudit/functions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "mmaudit/functions/lines.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::functions::test {
namespace {

const Function& named(std::string_view name) { return *find(name); }
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// The square by its partial products, one at a time.
std::int64_t slow_square(std::uint32_t x) {
  std::int64_t sum = 0;
  for (int i = 0; i < kOperandBits; ++i)
    for (int j = i; j < kOperandBits; ++j) {
      const int column = i == j ? 2 * i : i + j + 1;
      if (column >= kLeastColumn && (x >> i & x >> j & 1) != 0)
        sum += std::int64_t{1} << (column - kLeastColumn);
    }
  return sum;
}

TEST(Square, IsTheSumOfItsPartialProducts) {
  for (std::uint32_t x = 0; x < 1U << kOperandBits; ++x) ASSERT_EQ(square_of(x), slow_square(x)) << x;
}

TEST(Binary32, FmaIsTheProcessors) {
  Draws draws{7};
  const auto random = [&] { return static_cast<std::uint32_t>(draws.next()); };
  for (int i = 0; i < 300000; ++i) {
    const std::uint32_t a = random();
    std::uint32_t b = random(), c = random();
    if (i % 2 != 0) b = (b & 0x807FFFFFU) | 0x3F800000U, c = (c & 0x807FFFFFU) | (a & kInfinity);
    const float wanted = std::fma(as_float(a), as_float(b), as_float(c));
    ASSERT_EQ(fma(a, b, c), std::isnan(wanted) ? kNan : bits(wanted))
        << std::hex << a << " " << b << " " << c;
  }
}

TEST(Binary32, RoundsTowardsZeroAndDown) {
  const Mode zero{.direction = Direction::zero}, down{.direction = Direction::down};
  const float next = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(fma(bits(next), next, 0.0F, zero), bits(std::nextafter(next, 2.0F)));
  EXPECT_EQ(fma(bits(-next), next, 0.0F, zero), bits(-std::nextafter(next, 2.0F)));
  EXPECT_EQ(fma(bits(-next), next, 0.0F, down), bits(-std::nextafter(std::nextafter(next, 2.0F), 2.0F)));
  EXPECT_EQ(mul(bits(0x1p-100F), 0x1p-30F, kFlush), 0U);
}

TEST(Functions, SpecialOperands) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto of = [](const char* name, float x) { return bits(evaluate(named(name), x)); };
  for (const Function& one : all()) {
    if (one.bits != 32) continue;
    EXPECT_EQ(bits(evaluate(one, std::numeric_limits<float>::quiet_NaN())), kNan) << one.name;
  }
  EXPECT_EQ(of("ex2.approx.f32", -kInf), 0U);
  EXPECT_EQ(of("ex2.approx.f32", 128), bits(kInf));
  EXPECT_EQ(of("ex2.approx.f32", -1), bits(0.5F));
  EXPECT_EQ(of("ex2.approx.f32", -149), 1U);
  EXPECT_EQ(of("ex2.approx.ftz.f32", -149), 0U);
  EXPECT_EQ(of("rcp.approx.f32", -0.0F), bits(-kInf));
  EXPECT_EQ(of("rcp.approx.f32", 0x1p-127F), bits(0x1p127F));
  EXPECT_EQ(of("rcp.approx.ftz.f32", 0x1p-127F), bits(kInf));
  EXPECT_EQ(of("lg2.approx.f32", 1), 0U);
  EXPECT_EQ(of("lg2.approx.f32", 0x1p-149F), bits(-149.0F));
  EXPECT_EQ(of("lg2.approx.f32", -1), kNan);
  EXPECT_EQ(of("sqrt.approx.f32", -0.0F), kSign);
  EXPECT_EQ(of("cos.approx.f32", 0), bits(1.0F));
  EXPECT_EQ(of("sin.approx.f32", kInf), kNan);
  EXPECT_EQ(of("expf", 1000), bits(kInf));
  EXPECT_EQ(evaluate(named("divide"), 1, 3), 1.0F / 3.0F);
}

TEST(Functions, AreNearTheirValueAndWithinTheirBound) {
  Draws draws{11};
  const auto random = [&] { return static_cast<std::uint32_t>(draws.next()); };
  for (const Function& one : all()) {
    if (one.bits != 32 || one.bound.kind == BoundKind::none) continue;
    const Found* known = found_on_all(one);  // where the vendor's bound does not hold
    const double most = known != nullptr && known->above.count != 0 ? known->bound.error : one.bound.most;
    for (int i = 0; i < 20000; ++i) {
      const float x = as_float((random() & 0x807FFFFFU) | ((97U + random() % 60) << 23)), y = 1.5F;
      const double value = exact(one, x, y);
      if (!(x >= one.bound.low && x <= one.bound.high) || !std::isfinite(value)) continue;
      if (std::fabs(value) >= 0x1p128 || std::fabs(value) < 0x1p-126) continue;
      // The vendor counts ulps from the correctly rounded result.
      const double aim =
          one.bound.kind == BoundKind::ulps ? static_cast<double>(static_cast<float>(value)) : value;
      const double away = std::fabs(static_cast<double>(evaluate(one, x, y)) - aim);
      const double unit = std::ldexp(1.0, std::ilogb(value) - kFractionBits);
      const double found = one.bound.kind == BoundKind::relative ? away / std::fabs(value)
                           : one.bound.kind == BoundKind::ulps   ? away / unit
                                                                 : away;
      ASSERT_LE(found, most + std::floor(one.bound.per_x * std::fabs(x))) << one.name << " " << x;
    }
  }
}

TEST(Log1p, IsOneUlpFromMpfr) {
  // x, and log(1 + x) to the nearest number by mpmath 1.3 with 200 bits.
  constexpr std::uint32_t kNearest[][2] = {
      {0x3EC64685, 0x3EA79792}, {0x3F800000, 0x3F317218}, {0x7F7FFFFF, 0x42B17218}, {0xBF7FFFFF, 0xC1851592},
      {0x33800000, 0x33800000}, {0xBF000000, 0xBF317218}, {0x00800001, 0x00800001}, {0x3E800000, 0x3E647FBE},
      {0xBE800000, 0xBE934B11}, {0x3F000000, 0x3ECF991F}, {0x42C80000, 0x4093AF11}, {0x3B03126F, 0x3B02F0ED},
      {0x4B800000, 0x41851592}, {0x3ECCCCCD, 0x3EAC4617}, {0xBE4CCCCD, 0xBE647FBE}};
  for (const Id id : {Id::log1pf, Id::fast_log1pf})
    for (const auto& [x, nearest] : kNearest)
      EXPECT_LE(evaluate(id, x, 0, kUnit) - nearest + 1, 2U) << std::hex << x;
  // C99 F.9.3.9 has +-0, -1 and Inf; below -1 there is no value.
  constexpr std::uint32_t kSpecial[][2] = {{0, 0},
                                           {kSign, kSign},
                                           {0xBF800000, kSign | kInfinity},
                                           {0xBF800001, kNan},
                                           {kSign | kInfinity, kNan},
                                           {kInfinity, kInfinity},
                                           {0xFFC00000, kNan}};
  for (const auto& [x, wanted] : kSpecial)
    EXPECT_EQ(evaluate(Id::log1pf, x, 0, kUnit), wanted) << std::hex << x;
  EXPECT_EQ(evaluate(Id::log1pf, 0x80000001, 0, kUnit), 0x80000001U);
  EXPECT_EQ(evaluate(Id::fast_log1pf, 0x80000001, 0, kUnit), kSign);
}

// tanh.approx.f32 as an H100 gives it (driver 580.159.04, 2026-11-24): two operands of each segment and some
// outside.
struct Recorded {
  std::uint32_t x, y;
};
constexpr Recorded kRecorded[] = {
    {0x3BBC8800, 0x3BBC87C6}, {0x3BC18000, 0x3BC17FBC}, {0x3C047000, 0x3C046F6D}, {0x3C79A000, 0x3C799AE4},
    {0x3CF96800, 0x3CF9541D}, {0x3CE94800, 0x3CE937C5}, {0x3D379800, 0x3D37789C}, {0x3D13F000, 0x3D13DFB5},
    {0x3D74F800, 0x3D74AD53}, {0x3D517800, 0x3D514969}, {0x3D9A2800, 0x3D99DDCE}, {0x3DA93000, 0x3DA8CDA7},
    {0x3DC57800, 0x3DC4DC02}, {0x3DC1C000, 0x3DC12C81}, {0x3E005F75, 0x3DFF68C1}, {0x3E006A99, 0x3DFF7EA9},
    {0x3E2A8800, 0x3E28F8ED}, {0x3E3A2000, 0x3E381A13}, {0x3E43F000, 0x3E4194BD}, {0x3E593000, 0x3E55FCF5},
    {0x3E63F800, 0x3E6046AC}, {0x3E6E8000, 0x3E6A4771}, {0x3E8C4000, 0x3E88D84D}, {0x3E844800, 0x3E816A57},
    {0x3EBCE000, 0x3EB4BFCD}, {0x3EA68000, 0x3EA0DEA3}, {0x3EC86000, 0x3EBEBC6D}, {0x3EC0A000, 0x3EB805F2},
    {0x3EE8F800, 0x3EDA1EB2}, {0x3EE1F800, 0x3ED45B54}, {0x3F12700B, 0x3F044F89}, {0x3F123F6F, 0x3F042BEB},
    {0x3F3EC000, 0x3F21D99C}, {0x3F37F000, 0x3F1DB125}, {0x3F572800, 0x3F2FA136}, {0x3F496000, 0x3F280F8D},
    {0x3F7D9000, 0x3F41EFEC}, {0x3F68D800, 0x3F388D79}, {0x3F829000, 0x3F45162B}, {0x3F852800, 0x3F472A9E},
    {0x3F984000, 0x3F5495C3}, {0x3F96B800, 0x3F539FB7}, {0x3FA1D800, 0x3F5A2E6A}, {0x3FA6C800, 0x3F5CCBD6},
    {0x3FBC6800, 0x3F666318}, {0x3FB74000, 0x3F645A2D}, {0x3FC04DB0, 0x3F67D409}, {0x3FC06276, 0x3F67DB79},
    {0x3FD6D000, 0x3F6EC0C6}, {0x3FD0A000, 0x3F6D1161}, {0x3FEDF000, 0x3F73DC26}, {0x3FE87000, 0x3F72CC56},
    {0x3FF0F800, 0x3F746888}, {0x3FF5E000, 0x3F753EC9}, {0x40051800, 0x3F782039}, {0x40062800, 0x3F78611C},
    {0x4009B000, 0x3F7929F4}, {0x400CB800, 0x3F79C661}, {0x40121000, 0x3F7AB8C9}, {0x4012C000, 0x3F7AD53C},
    {0x401CA000, 0x3F7C31F0}, {0x401C1000, 0x3F7C20C4}, {0x40241000, 0x3F7CFABA}, {0x4027D800, 0x3F7D506B},
    {0x40286800, 0x3F7D5C61}, {0x40292800, 0x3F7D6BE9}, {0x403068BA, 0x3F7DF147}, {0x403007E7, 0x3F7DEB11},
    {0x403E0800, 0x3F7EA76D}, {0x403E4800, 0x3F7EAA19}, {0x40418000, 0x3F7ECAB1}, {0x40447000, 0x3F7EE5CA},
    {0x40498000, 0x3F7F0EFC}, {0x404AD800, 0x3F7F18E1}, {0x4050A000, 0x3F7F3F08}, {0x4051C000, 0x3F7F45AD},
    {0x405D5000, 0x3F7F7E25}, {0x405EE000, 0x3F7F8453}, {0x40627800, 0x3F7F916F}, {0x4066F800, 0x3F7F9FF1},
    {0x406CE800, 0x3F7FB033}, {0x406A3000, 0x3F7FA91D}, {0x40700800, 0x3F7FB79F}, {0x4076B000, 0x3F7FC536},
    {0x407DC000, 0x3F7FD0D9}, {0x407A0000, 0x3F7FCAFA}, {0x408FF800, 0x3F7FEFA9}, {0x408D5000, 0x3F7FECFB},
    {0x40978000, 0x3F7FF5E1}, {0x40937000, 0x3F7FF2E7}, {0x40AA3000, 0x3F7FFCDE}, {0x40AD8000, 0x3F7FFD77},
    {0x40BF9800, 0x3F7FFF2B}, {0x40BF6800, 0x3F7FFF29}, {0x40C0A800, 0x3F7FFF3B}, {0x40C26000, 0x3F7FFF4F},
    {0x40D58000, 0x3F7FFFCB}, {0x40DE5000, 0x3F7FFFE1}, {0x40E6C000, 0x3F7FFFEE}, {0x40E93000, 0x3F7FFFF1},
    {0x40F06000, 0x3F7FFFF4}, {0x40FE3800, 0x3F7FFFFB}, {0x39003800, 0x39003800}, {0x3B003800, 0x3B003800},
    {0x41003800, 0x3F800000}, {0x41803800, 0x3F800000}};

TEST(Functions, ArraysGiveWhatSingleInputsGive) {
  Draws draws{3};
  std::vector<std::uint32_t> x(100000), y(x.size(), 0x3FC00000), found(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto word = static_cast<std::uint32_t>(draws.next());
    x[i] =
        i < 65536 ? static_cast<std::uint32_t>(i) << 16 : (word & 0x807FFFFFU) | ((100U + word % 50U) << 23);
    if (i % 2 == 1) y[i] = static_cast<std::uint32_t>(draws.next());
  }
  for (const Function& one : all()) {
    evaluate(one, x.data(), y.data(), found.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(found[i], evaluate(one.id, x[i], y[i], kUnit)) << one.name << std::hex << " " << x[i];
  }
}

TEST(Tanh, GivesTheRecordedBits) {
  for (const Recorded& each : kRecorded) {
    EXPECT_EQ(evaluate(Id::tanh, each.x, 0, kUnit), each.y);
    EXPECT_EQ(evaluate(Id::tanh, each.x | kSign, 0, kUnit), each.y | kSign);
  }
}

TEST(Laws, OddAndEvenFunctions) {
  Draws draws{5};
  const auto random = [&] { return static_cast<std::uint32_t>(draws.next()); };
  for (int i = 0; i < 100000; ++i) {
    const float x = as_float(random() & 0x7F7FFFFFU);
    for (const char* odd : {"rcp.approx.ftz.f32", "sin.approx.f32", "tanh.approx.f32", "tanhf", "erff"})
      ASSERT_EQ(bits(evaluate(named(odd), -x)), bits(evaluate(named(odd), x)) ^ kSign) << odd << " " << x;
    ASSERT_EQ(bits(evaluate(named("cos.approx.f32"), -x)), bits(evaluate(named("cos.approx.f32"), x))) << x;
  }
}

/// Lines in binary64 give what whole numbers give: every row, at operands of every binade and at random ones.
TEST(Functions, LinesGiveWhatTablesGive) {
  static const FastUnit fast{kUnit, folded_lines()};
  std::uint64_t state = 5;
  for (const Function& one : all())
    for (std::uint32_t i = 0; i < 100000; ++i) {
      const std::uint64_t drawn = splitmix64(state);
      const std::uint32_t y = static_cast<std::uint32_t>(drawn >> 32);
      std::uint32_t x = i < 2048 ? (i / 4) << 23 | (i % 4 < 2 ? i % 2 : 0x7FFFFFU - i % 2)
                                 : static_cast<std::uint32_t>(drawn);
      if (one.bits == 16) x &= 0xFFFFU;
      ASSERT_EQ(evaluate(one.id, x, y, fast), evaluate(one.id, x, y, kUnit))
          << one.name << std::hex << " " << x;
    }
}

}  // namespace
}  // namespace mmaudit::functions::test
