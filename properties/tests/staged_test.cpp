// AMD's datapaths against the reference model of rational arithmetic: every row, every input class, and small
// numbers that meet at every edge.
#include <gtest/gtest.h>

#include "mmaudit/dot.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::test {
namespace {

/// A number of few exponents around 1, around the ends of the range, a zero or a special value.
std::uint64_t some_bits(std::uint64_t& random, const FormatSpec& format) {
  const std::uint64_t all = splitmix64(random);
  const std::uint64_t mask = format.magnitude_mask() | format.sign_bit();
  switch (splitmix64(random) % 8) {
    case 0:
      return all & mask;
    case 1:
      return all & format.sign_bit();
    case 2:  // subnormal
      return all & (format.sign_bit() |
                    ((std::uint64_t{1} << (format.fraction_bits + format.ignored_low_bits)) - 1));
    default: {  // near 1, few fraction bits
      const std::uint64_t field = static_cast<std::uint64_t>(format.bias) + splitmix64(random) % 7 - 3;
      const std::uint64_t fraction = all & ((std::uint64_t{3} << (format.fraction_bits - 2)) | 1) &
                                     ((std::uint64_t{1} << format.fraction_bits) - 1);
      return (all & format.sign_bit()) |
             (((field << format.fraction_bits) | fraction) << format.ignored_low_bits);
    }
  }
}

TEST(Staged, EveryRowIsTheReferenceOnRandomDots) {
  std::uint64_t compared = 0;
  for (const Architecture& architecture : architectures())
    for (const Instruction& inst : kInstructions) {
      const DatapathEntry* entry = find_datapath(architecture, inst);
      if (entry == nullptr || !is_staged(entry->datapath.arithmetic)) continue;
      const DotPlan plan = make_plan(inst, entry->datapath);
      std::uint64_t random = compared + 1;
      for (int i = 0; i < 3000; ++i) {
        DotCase x;
        for (int k = 0; k < inst.k; ++k) {
          x.a.push_back(some_bits(random, plan.a));
          x.b.push_back(some_bits(random, plan.b));
          if (k > 0 && splitmix64(random) % 4 == 0) {  // cancels
            x.a.back() = x.a[x.a.size() - 2] ^ plan.a.sign_bit();
            x.b.back() = x.b[x.b.size() - 2];
          }
        }
        x.c = some_bits(random, plan.step.addend);
        const std::uint64_t want = oracle::reference_dot(inst, entry->datapath, x);
        const Strided<std::uint64_t> a{x.a.data()}, b{x.b.data()};
        ASSERT_EQ(dot(plan, a, b, x.c, 0), want) << architecture.name << ' ' << name_of(inst) << ' ' << i;
        ASSERT_EQ(explain(inst, entry->datapath, x).result, want);
        ++compared;
      }
    }
  EXPECT_GT(compared, 150'000U);
}

// The inputs of campaigns and laws.
TEST(Staged, EveryRowIsTheReferenceOnDirectedDots) {
  std::uint64_t compared = 0;
  for (const Architecture& architecture : architectures())
    for (const Instruction& inst : kInstructions) {
      const DatapathEntry* entry = find_datapath(architecture, inst);
      if (entry == nullptr || !is_staged(entry->datapath.arithmetic)) continue;
      const DotPlan plan = make_plan(inst, entry->datapath);
      for (const DotCase& x : gen::directed_dots(inst, entry->datapath)) {
        const Strided<std::uint64_t> a{x.a.data()}, b{x.b.data()};
        ASSERT_EQ(dot(plan, a, b, x.c, x.modifiers), oracle::reference_dot(inst, entry->datapath, x))
            << architecture.name << ' ' << name_of(inst) << ' ' << compared;
        ++compared;
      }
    }
  EXPECT_GT(compared, 10'000U);
}

}  // namespace
}  // namespace mmaudit::test
