// Where the inputs can be counted: every product of two 8-bit numbers, every one of them beside another and a
// c of every exponent, every binary32 to every narrower format. Tests named Slow are left out of an ordinary
// run.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <thread>

#include "mmaudit/convert.hpp"
#include "mmaudit/laws/check.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::laws {
namespace {

const Law& law_named(std::string_view name) {
  return *std::find_if(lawbook().begin(), lawbook().end(), [&](const Law& law) { return law.name == name; });
}

Subject hopper_fp8(Format a, Format b) {
  const Architecture& hopper = *find_architecture("hopper");
  for (const Subject& one : subjects_of(hopper))
    if (is_wgmma(one.instruction.op) && !is_sparse(one.instruction.op) && one.instruction.a == a &&
        one.instruction.b == b && one.instruction.d == Format::f32)
      return one;
  throw std::logic_error("no such instruction");
}

constexpr int kPatterns = 256;

/// The tiles in which element 0 of A and B takes every pair of patterns.
std::vector<Tile> every_product(const Subject& subject) {
  std::vector<Tile> tiles;
  const int m = subject.instruction.m, n = subject.instruction.n;
  for (int a = 0; a < kPatterns; a += m)
    for (int b = 0; b < kPatterns; b += n) {
      Tile& tile = tiles.emplace_back(subject.instruction);
      for (int row = 0; row < m; ++row)
        tile.at_a(row, 0) = static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(row);
      for (int col = 0; col < n; ++col)
        tile.at_b(0, col) = static_cast<std::uint64_t>(b) + static_cast<std::uint64_t>(col);
    }
  return tiles;
}

/// Answers `tiles` by the model and asks `law` about every `stride`-th element; how many it spoke of.
std::uint64_t hold(const Law& law, const Subject& subject, std::vector<Tile>& tiles, std::size_t stride) {
  std::vector<Tile*> pointers;
  pointers.reserve(tiles.size());
  for (Tile& tile : tiles) pointers.push_back(&tile);
  answer(model_backend(*subject.architecture), pointers);
  const int m = subject.instruction.m, n = subject.instruction.n;
  std::uint64_t judged = 0;
  std::size_t at = 0;
  for (const Tile& tile : tiles)
    for (int row = 0; row < m; ++row)
      for (int col = 0; col < n; ++col) {
        if (at++ % stride != 0) continue;
        const LawVerdict verdict = law.judge({subject, tile, {}, row, col});
        judged += verdict.kind != LawVerdict::Kind::silent;
        if (verdict.kind != LawVerdict::Kind::broken) continue;
        ADD_FAILURE() << law.name << " is broken by " << name_of(subject.instruction) << std::hex << " a "
                      << tile.at_a(row, 0) << ',' << tile.at_a(row, 1) << " b " << tile.at_b(0, col) << ','
                      << tile.at_b(1, col) << " c " << tile.at_c(row, col) << " D " << tile.at_d(row, col)
                      << " allowed " << verdict.expected;
        return judged;
      }
  return judged;
}

constexpr std::pair<Format, Format> kPairs[] = {{Format::e4m3, Format::e4m3},
                                                {Format::e4m3, Format::e5m2},
                                                {Format::e5m2, Format::e4m3},
                                                {Format::e5m2, Format::e5m2}};

TEST(Exhaustive, EveryProductOfTwoBytes) {
  for (const auto& [a, b] : kPairs) {
    const Subject subject = hopper_fp8(a, b);
    std::vector<Tile> tiles = every_product(subject);
    EXPECT_EQ(hold(law_named("follows_the_documented_model"), subject, tiles, 1), 65536U);
    EXPECT_GT(hold(law_named("products_are_exact"), subject, tiles, 1), 60000U);
  }
}

/// Every product beside another one and a c of every exponent. The other product and the rest of c change
/// from tile to tile.
void every_product_beside_every_exponent(Format format_a, Format format_b) {
  const Subject subject = hopper_fp8(format_a, format_b);
  const Instruction& inst = subject.instruction;
  std::uint64_t judged = 0, by_oracle = 0;
  for (int field = 0; field < 255; ++field) {
    std::vector<Tile> tiles = every_product(subject);
    Draws random{static_cast<std::uint64_t>(field) * 4 + static_cast<std::uint64_t>(format_a)};
    for (Tile& tile : tiles) {
      for (int row = 0; row < inst.m; ++row) tile.at_a(row, 1) = random.next() & 0xFFU;
      for (int col = 0; col < inst.n; ++col) tile.at_b(1, col) = random.next() & 0xFFU;
      for (std::uint64_t& c : tile.c)
        c = (random.next() & 0x807FFFFFU) | static_cast<std::uint64_t>(field) << 23;
    }
    judged += hold(law_named("c_takes_part"), subject, tiles, 1);
    by_oracle += hold(law_named("follows_the_documented_model"), subject, tiles, 101);
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%llu dot products, %llu by the oracle\n", static_cast<unsigned long long>(judged),
              static_cast<unsigned long long>(by_oracle));
  EXPECT_GT(judged, 14'000'000U);
}

TEST(SlowExhaustive, EveryE4m3ProductBesideEveryExponentOfC) {
  every_product_beside_every_exponent(Format::e4m3, Format::e4m3);
}

TEST(SlowExhaustive, EveryE5m2ProductBesideEveryExponentOfC) {
  every_product_beside_every_exponent(Format::e5m2, Format::e5m2);
}

/// The numbers of a format from 0 upwards, by its definition, and between each two what is nearer to which.
struct Ladder {
  std::vector<double> values, halves;  ///< halves[i]: midway between values[i] and what follows it
};

Ladder ladder_of(const FormatSpec& format) {
  Ladder ladder;
  const std::uint64_t codes = format.max_finite_bits() >> format.ignored_low_bits;
  const auto value = [&](std::uint64_t code) {
    const auto field = static_cast<int>(code >> format.fraction_bits);
    const auto fraction = static_cast<double>(code & ((std::uint64_t{1} << format.fraction_bits) - 1));
    const double one = std::ldexp(1.0, format.fraction_bits);
    return std::ldexp(field == 0 ? fraction : one + fraction,
                      std::max(field, 1) - format.bias - format.fraction_bits);
  };
  for (std::uint64_t code = 0; code <= codes; ++code) {
    ladder.values.push_back(value(code));
    ladder.halves.push_back((value(code) + value(code + 1)) / 2);
  }
  return ladder;
}

/// Every `step`-th binary32 of both signs, in order of magnitude, to `format` under `rule`; how many.
std::uint64_t every_binary32(const FormatSpec& format, CastRule rule, std::uint32_t step) {
  const Ladder ladder = ladder_of(format);
  const std::uint64_t beyond =
      format.specials == Specials::ieee ? format.infinity_bits() : format.conversion_nan_bits();
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  std::uint64_t compared = 0;
  std::size_t code = 0;  // of the largest number that is not above x
  for (std::uint64_t magnitude = 0; magnitude < 0x80000000U; magnitude += step) {
    const auto bits = static_cast<std::uint32_t>(magnitude);
    const double x = std::bit_cast<float>(bits);
    if (bits <= kInfinity)
      while (code + 1 < ladder.values.size() && ladder.values[code + 1] <= x) ++code;
    for (const bool negative : {false, true}) {
      std::uint64_t expected = 0;
      if (bits > kInfinity) {
        expected = format.conversion_nan_bits();
      } else {
        const bool exact = x == ladder.values[code];
        bool up = false;
        if (rule.rounding == CastRounding::nearest_even)
          up = x > ladder.halves[code] || (x == ladder.halves[code] && code % 2 != 0);
        if (rule.rounding == CastRounding::nearest_away) up = x >= ladder.halves[code];
        if (rule.rounding == CastRounding::toward_plus) up = !exact && !negative;
        if (bits == kInfinity) up = true;
        const std::size_t to = code + (up ? 1 : 0);
        expected = to < ladder.values.size() ? std::uint64_t{to} << format.ignored_low_bits
                   : rule.saturate           ? format.max_finite_bits()
                                             : beyond;
        if (negative) expected |= format.sign_bit();
      }
      ++compared;
      const std::uint64_t found = encode_value(negative ? -x : x, format, rule);
      if (found == expected) continue;
      ADD_FAILURE() << name_of(format.id) << std::hex << " of " << bits << (negative ? " negated" : "")
                    << ": " << found << ", by the ladder " << expected;
      return compared;
    }
  }
  return compared;
}

constexpr Format kNarrow[] = {Format::e4m3, Format::e5m2, Format::f16, Format::bf16, Format::tf32};
constexpr CastRounding kRoundings[] = {CastRounding::nearest_even, CastRounding::nearest_away,
                                       CastRounding::toward_zero, CastRounding::toward_plus};

TEST(Exhaustive, ManyBinary32UnderEveryRounding) {
  for (const Format format : kNarrow)
    for (const CastRounding rounding : kRoundings)
      for (const bool saturate : {false, true})
        EXPECT_GT(every_binary32(spec_of(format), {rounding, saturate}, 4099), 1'000'000U);
}

TEST(SlowExhaustive, EveryBinary32ToNearest) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  std::atomic<int> whole{0};
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < std::size(kNarrow); i = next++)
        whole += every_binary32(spec_of(kNarrow[i]), {}, 1) == std::uint64_t{1} << 32;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, static_cast<int>(std::size(kNarrow)));
}

}  // namespace
}  // namespace mmaudit::laws
