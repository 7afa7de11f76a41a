// Products of groups of 4-bit elements whose scales are anything: every level of vectors against the plain
// core, bit for bit. Draws aim at what the general kernel does on its own: exponents of groups that cancel or
// are zero, the minimum exponent, sums that are subnormal or overflow, and NaN.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "mmaudit/matmul.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

/// Elements of D per kind; MMAUDIT_HOSTILE_ELEMENTS sets another number.
std::size_t wanted() {
  const char* given = std::getenv("MMAUDIT_HOSTILE_ELEMENTS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 350'000;
}

std::vector<Probe> grouped_probes() {
  std::vector<Probe> probes;
  for (const Probe& probe : scaled_probes())
    if (probe.datapath.arithmetic == Arithmetic::grouped_dot_add && !is_sparse(probe.instruction.op))
      probes.push_back(probe);
  return probes;
}

enum class Scales { any, whole_range, close, two_values, about_minimum, about_overflow, count };

struct HostileProduct {
  static constexpr std::uint64_t kRows = 37, kColumns = 75;  // no whole panel, no whole tile
  Instruction instruction;
  Matmul problem;
  std::vector<std::uint8_t> a, b, scale_a, scale_b;
  std::vector<std::uint32_t> c, d;
  Scales how;
  std::string what;

  HostileProduct(const Probe& probe, std::uint64_t seed) : instruction(probe.instruction) {
    Draws random{mixed(seed)};
    problem.m = kRows;
    problem.n = kColumns;
    problem.k = static_cast<std::uint64_t>(random.between(1, 320));
    how = static_cast<Scales>(seed % static_cast<std::uint64_t>(Scales::count));
    what = name_of(instruction) + " seed " + std::to_string(seed);
    const std::uint64_t blocks = scale_blocks(instruction, problem);
    a = elements(random, kRows, problem.k, false);
    b = elements(random, problem.k, kColumns, true);
    scale_a = scales(random, kRows * blocks, false);
    scale_b = scales(random, kColumns * blocks, true);
    if (random.one_in(3)) make_nan(random, blocks);
    addends(random);
    d.resize(kRows * kColumns);
    problem.a = a.data();
    problem.b = b.data();
    problem.c = c.data();
    problem.d = d.data();
    problem.scale_a = scale_a.data();
    problem.scale_b = scale_b.data();
  }

  std::vector<std::uint32_t> run(const Datapath& datapath, std::optional<SimdLevel> level) {
    MatmulOptions options;
    options.fast = level.has_value();
    options.level = level;
    d.assign(d.size(), 0xA5A5A5A5U);
    matmul(instruction, datapath, problem, options);
    return d;
  }

 private:
  /// Any codes; few of them; or pairs along K that cancel where the other side has two equal neighbours.
  std::vector<std::uint8_t> elements(Draws& random, std::uint64_t rows, std::uint64_t columns,
                                     bool along_rows) {
    std::vector<std::uint8_t> out(rows * columns);
    const bool least = how == Scales::about_minimum && !random.one_in(4);
    const std::uint64_t kind = least ? 1 : random.below(4), sparse = random.below(2) == 0 ? 4 : 20;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t k = along_rows ? i / columns : i % columns;
      const std::size_t before = along_rows ? i - columns : i - 1;
      out[i] = static_cast<std::uint8_t>(random.below(16));
      if (kind == 1 && !random.one_in(sparse)) out[i] = random.one_in(2) ? 0 : 8;
      if (least) out[i] &= 9;  // the least number
      if (kind >= 2 && k % 2 == 1)
        out[i] = static_cast<std::uint8_t>(out[before] ^ (along_rows || random.one_in(50) ? 0 : 8));
    }
    return out;
  }

  std::vector<std::uint8_t> scales(Draws& random, std::size_t count, bool of_b) {
    const FormatSpec format = spec_of(instruction.scale);
    const int last = static_cast<int>(format.max_finite_bits()), one = static_cast<int>(one_bits(format));
    const int binade = 1 << format.fraction_bits, pair[] = {random.between(0, last), random.between(0, last)};
    std::vector<std::uint8_t> out(count);
    for (std::uint8_t& x : out) {
      int byte = random.between(0, last);
      if (how == Scales::whole_range) byte = random.one_in(2) ? 0 : last;
      if (how == Scales::close) byte = one + random.between(0, 3 * binade);
      if (how == Scales::two_values) byte = pair[random.below(2)];
      // A's are 2^-70; B's let a group end at the last place of binary32 and another one 2^25 below.
      if (how == Scales::about_minimum)
        byte = one + binade * (!of_b              ? -70
                               : random.one_in(2) ? random.between(-78, -68)
                                                  : random.between(-105, -100));
      if (how == Scales::about_overflow) byte = one + binade * random.between(50, 68);
      x = static_cast<std::uint8_t>(std::clamp(byte, 0, last));
    }
    return out;
  }

  void make_nan(Draws& random, std::uint64_t blocks) {
    const auto nan = static_cast<std::uint8_t>(spec_of(instruction.scale).max_finite_bits() + 1);
    for (int i = 0; i < 2; ++i) {
      scale_a[random.below(kRows) * blocks + random.below(blocks)] = nan;
      scale_b[random.below(blocks) * kColumns + random.below(kColumns)] = nan;
    }
  }

  void addends(Draws& random) {
    const std::uint64_t kind = how == Scales::about_minimum && random.one_in(2) ? 0 : random.below(6);
    const int middle = random.between(1, 254);
    for (std::size_t i = 0; i < kRows * kColumns; ++i) {
      auto bits = static_cast<std::uint32_t>(random.next());
      const auto field = [&](int low, int high) {
        const int exponent = std::clamp(random.between(low, high), 0, 254);
        bits = (bits & 0x807FFFFFU) | static_cast<std::uint32_t>(exponent) << 23;
      };
      if (kind == 0) bits &= 0x80000000U;
      if (kind == 1) field(middle - 30, middle + 30);
      if (kind == 2) field(120, 140);
      if (kind == 3) field(0, 1), bits &= random.one_in(2) ? 0x8000000FU : ~0U;
      if (kind == 4) field(250, 254);
      c.push_back(bits);
    }
  }
};

TEST(GroupHostile, EveryLevelIsThePlainCoreOnAnyScales) {
  std::size_t compared = 0;
  for (const Probe& probe : grouped_probes()) {
    std::size_t finite = 0, infinite = 0, nan = 0, subnormal = 0, here = 0;
    for (std::uint64_t seed = 0; here < wanted(); ++seed) {
      HostileProduct product(probe, kSeed + seed);
      const std::vector<std::uint32_t> expected = product.run(probe.datapath, {});
      for (const SimdLevel level : kSimdLevels) {
        if (!has_simd_level(level)) continue;
        const std::vector<std::uint32_t> d = product.run(probe.datapath, level);
        for (std::size_t i = 0; i < d.size(); ++i)
          ASSERT_EQ(d[i], expected[i]) << product.what << " " << name_of(level) << " element " << i << " k "
                                       << product.problem.k << " scales " << static_cast<int>(product.how);
      }
      here += expected.size();
      for (const std::uint32_t x : expected) {
        const std::uint32_t size = x & 0x7FFFFFFFU;
        (size > 0x7F800000U              ? nan
         : size == 0x7F800000U           ? infinite
         : size < 0x800000U && size != 0 ? subnormal
                                         : finite)++;
      }
    }
    std::printf("%s: %zu finite, %zu subnormal, %zu infinite, %zu NaN\n", name_of(probe.instruction).c_str(),
                finite, subnormal, infinite, nan);
    EXPECT_GT(finite, here / 4);
    EXPECT_GT(nan, here / 200);
    if (probe.instruction.scale == Format::ue8m0) {
      EXPECT_GT(infinite, here / 200);
      EXPECT_GT(subnormal, here / 200);
    }
    compared += here;
  }
  std::printf("%zu elements compared per level\n", compared);
  EXPECT_GE(compared, 1'000'000U);
}

/// One bit of F or of the minimum more or less, and the comparison above must see it.
TEST(GroupHostile, TheComparisonSeesAWrongRow) {
  for (const Probe& probe : grouped_probes()) {
    for (const int change : {0, 1, 2, 3}) {
      Datapath wrong = probe.datapath;
      auto& number = change < 2 ? wrong.fraction_bits : wrong.min_alignment_exponent;
      number = static_cast<std::int16_t>(number + (change % 2 == 0 ? 1 : -1));
      // No sum of near scales comes down to the minimum.
      if (change >= 2 && probe.instruction.scale == Format::ue4m3) continue;
      for (const SimdLevel level : kSimdLevels) {
        if (!has_simd_level(level)) continue;
        std::size_t seen = 0;
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
          HostileProduct product(probe, kSeed + seed);
          if (change >= 2 && product.how != Scales::about_minimum) continue;
          const std::vector<std::uint32_t> right = product.run(probe.datapath, level);
          const std::vector<std::uint32_t> other = product.run(wrong, level);
          for (std::size_t i = 0; i < right.size(); ++i) seen += right[i] != other[i] ? 1 : 0;
        }
        EXPECT_GT(seen, 10U) << name_of(probe.instruction) << " " << name_of(level) << " change " << change;
      }
    }
  }
}

}  // namespace
}  // namespace mmaudit::test
