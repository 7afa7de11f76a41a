// The traces of sums in stages: every number in one leads to the step's result, as the model computes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::test {
namespace {

std::uint64_t rounded(Dyadic x, const DotSpec& spec) {
  return round_to_output(magnitude(x.significand), x.significand < 0, x.exponent, spec.datapath.output,
                         spec.step.output);
}

double value(Dyadic x) { return std::ldexp(static_cast<double>(x.significand), x.exponent); }

/// Bits of a factor or of c: exponents close enough that sums meet, now and then anything.
std::uint64_t drawn(std::uint64_t& random, const FormatSpec& format) {
  const std::uint64_t bits = splitmix64(random);
  if (bits % 16 == 0)
    return (bits >> 8) & (format.storage_bits == 64 ? ~0ULL : (1ULL << format.storage_bits) - 1);
  const double x =
      std::ldexp(static_cast<double>(bits >> 40) - 0x1p23, static_cast<int>(bits >> 8 & 15) - 31);
  return encode_nearest_even(x, format);
}

struct Seen {
  int steps = 0, sums = 0, cut_products = 0, cut_sums = 0, dropped = 0;
};

void check_stage(const Explanation& trace, const ExplainedStage& stage, Seen& seen) {
  const DotSpec& spec = trace.spec;
  const Datapath& datapath = spec.datapath;
  ++seen.steps;
  if (datapath.arithmetic == Arithmetic::rounded_tree) {
    for (const ExplainedPartial& one : stage.partials)
      if (one.fits && one.sum.significand != 0) {
        ++seen.sums;
        EXPECT_EQ(rounded(one.sum, spec), one.bits);
      }
    ASSERT_EQ(stage.partials.size() + 1, stage.products.size());
  }
  if (stage.special || !stage.total.fits) return;
  ++seen.sums;
  if (datapath.arithmetic != Arithmetic::two_stage_dot_add) {
    if (stage.total.sum.significand != 0) {
      EXPECT_EQ(rounded(stage.total.sum, spec), stage.after);
    }
    return;
  }
  EXPECT_EQ(rounded(stage.total.kept, spec), stage.after);
  EXPECT_LE(value(stage.total.kept), value(stage.total.sum));
  EXPECT_EQ(value(stage.total.kept_products) + value(stage.total.kept_addend), value(stage.total.sum));
  seen.cut_sums += value(stage.total.kept_products) != value(stage.total.products) ? 1 : 0;
  seen.dropped += stage.total.kept_addend.significand == 0 && (stage.before << 1) != 0 ? 1 : 0;
  ASSERT_EQ(stage.partials.size(), static_cast<std::size_t>(datapath.partial_sums));
  for (const ExplainedPartial& one : stage.partials) {
    double sum = 0;
    for (const ExplainedTerm& x : stage.products)
      if (std::find(one.ks.begin(), one.ks.end(), x.k) != one.ks.end() && x.taken != 0) {
        const double unit = std::ldexp(1.0, one.exponent - datapath.fraction_bits);
        seen.cut_products += std::fmod(x.taken, unit) != 0 ? 1 : 0;
        sum += x.taken - std::fmod(x.taken, unit);
      }
    EXPECT_EQ(sum, value(one.sum));
  }
}

TEST(ExplainedStages, EveryNumberLeadsToTheResult) {
  std::uint64_t random = 20261123;
  Seen exact, tree, two;
  for (const char* name : {"cdna1", "cdna2", "cdna3"})
    for (const Instruction& instruction : kInstructions) {
      const DatapathEntry* entry = find_datapath(*find_architecture(name), instruction);
      if (entry == nullptr || !is_staged(entry->datapath.arithmetic)) continue;
      const DotSpec spec = make_dot_spec(instruction, entry->datapath);
      Seen& seen = entry->datapath.arithmetic == Arithmetic::rounded_tree    ? tree
                   : entry->datapath.arithmetic == Arithmetic::exact_dot_add ? exact
                                                                             : two;
      for (int i = 0; i < 200; ++i) {
        std::vector<std::uint64_t> a, b;
        for (int k = 0; k < spec.k; ++k) {
          a.push_back(drawn(random, spec.a));
          b.push_back(drawn(random, spec.b));
        }
        const std::uint64_t c = i % 4 == 0 ? 0 : drawn(random, spec.step.addend);
        const Explanation trace = explain(spec, a.data(), b.data(), c, 0);
        for (const ExplainedStage& stage : trace.stages) check_stage(trace, stage, seen);
        if (HasFailure()) FAIL() << name << ' ' << name_of(instruction) << " draw " << i;
      }
    }
  for (const Seen* one : {&exact, &tree, &two}) EXPECT_GT(one->sums, 1000);
  EXPECT_GT(two.cut_products, 100);
  EXPECT_GT(two.cut_sums, 100);
  EXPECT_GT(two.dropped, 10);
}

}  // namespace
}  // namespace mmaudit::test
