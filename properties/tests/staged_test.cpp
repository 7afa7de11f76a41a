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

struct Row {
  std::string_view architecture;
  Instruction instruction;
  Datapath datapath;
};

/// Every instruction of every architecture whose steps are sums in stages.
std::vector<Row> staged_rows() {
  std::vector<Row> rows;
  for (const Architecture& architecture : architectures())
    for (const Instruction& inst : kInstructions)
      if (const DatapathEntry* entry = find_datapath(architecture, inst);
          entry != nullptr && is_staged(entry->datapath.arithmetic))
        rows.push_back({architecture.name, inst, entry->datapath});
  return rows;
}

TEST(Staged, EveryRowIsTheReferenceOnRandomDots) {
  std::uint64_t compared = 0;
  for (const Row& row : staged_rows()) {
    const DotSpec spec = make_dot_spec(row.instruction, row.datapath);
    std::uint64_t random = compared + 1;
    for (int i = 0; i < 3000; ++i) {
      DotCase x;
      for (int k = 0; k < row.instruction.k; ++k) {
        x.a.push_back(some_bits(random, spec.a));
        x.b.push_back(some_bits(random, spec.b));
        if (k > 0 && splitmix64(random) % 4 == 0) {  // cancels
          x.a.back() = x.a[x.a.size() - 2] ^ spec.a.sign_bit();
          x.b.back() = x.b[x.b.size() - 2];
        }
      }
      x.c = some_bits(random, spec.step.addend);
      const std::uint64_t want = oracle::reference_dot(row.instruction, row.datapath, x);
      const Strided<std::uint64_t> a{x.a.data()}, b{x.b.data()};
      ASSERT_EQ(dot(spec, a, b, x.c, 0), want)
          << row.architecture << ' ' << name_of(row.instruction) << ' ' << i;
      ASSERT_EQ(explain(row.instruction, row.datapath, x).result, want);
      ++compared;
    }
  }
  EXPECT_GT(compared, 150'000U);
}

// The inputs of campaigns and laws.
TEST(Staged, EveryRowIsTheReferenceOnDirectedDots) {
  std::uint64_t compared = 0;
  for (const Row& row : staged_rows()) {
    const DotSpec spec = make_dot_spec(row.instruction, row.datapath);
    for (const DotCase& x : gen::directed_dots(row.instruction, row.datapath)) {
      const Strided<std::uint64_t> a{x.a.data()}, b{x.b.data()};
      ASSERT_EQ(dot(spec, a, b, x.c, x.modifiers), oracle::reference_dot(row.instruction, row.datapath, x))
          << row.architecture << ' ' << name_of(row.instruction) << ' ' << compared;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10'000U);
}

}  // namespace
}  // namespace mmaudit::test
