// Rows with one rule changed: the model follows the reference through every one of them, and the inputs tell
// them from the row they came from. Both are needed: the first says that a mutant is the wrong model it
// claims to be, the second that a check over these inputs is able to fail.
#include "mmaudit/mutants/mutants.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "decisive.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

/// One buffer a input class, the directed cases last.
std::vector<TileBatch> inputs_for(const Probe& probe, std::size_t tiles_a_family) {
  const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
  std::vector<TileBatch> inputs;
  for (int f = 0; f < gen::kInputClasses; ++f) {
    inputs.emplace_back(probe.instruction);
    gen::append_class(inputs.back(), generator, static_cast<gen::InputClass>(f), kSeed, 0, tiles_a_family, 0);
  }
  inputs.emplace_back(probe.instruction);
  gen::append_directed(inputs.back(), probe.datapath, 0);
  return inputs;
}

TEST(Mutants, TheModelFollowsTheReferenceThroughEveryOne) {
  std::size_t compared = 0;
  for (const Probe& probe : all_probes()) {
    std::vector<TileBatch> inputs = inputs_for(probe, 1);
    const auto n = static_cast<std::size_t>(probe.instruction.n);
    const std::size_t elements = static_cast<std::size_t>(probe.instruction.m) * n;
    // A prime stride, and each mutant starts where the last one stopped: together they cover all elements.
    const std::size_t stride = elements == 512 ? 211 : 53;
    std::size_t start = 0;
    for (const Mutant& wrong : mutants_of(probe.instruction, probe.datapath)) {
      const Probe mutant{probe.instruction, wrong.datapath};
      for (TileBatch& tiles : inputs) {
        std::size_t at = start;
        for (; at < tiles.tiles * elements; at += stride) {
          const OneDot one = cut(tiles, at / elements, at % elements / n, at % n);
          const std::uint64_t expected = oracle::reference_dot(mutant.instruction, mutant.datapath, one);
          ++compared;
          ASSERT_EQ(model_dot(mutant, one), expected)
              << wrong.rule << ' ' << wrong.change << ": " << text_of(mutant.instruction, one);
        }
        start = at % stride;
      }
    }
  }
  std::printf("%zu dots compared\n", compared);
  EXPECT_GE(compared, 50'000U);
}

bool shows_difference(const Probe& probe, const Probe& mutant, std::vector<TileBatch>& inputs,
                      const std::vector<std::vector<std::byte>>& right) {
  for (const OneDot& one : decisive_dots(probe.instruction))
    if (model_dot(probe, one) != model_dot(mutant, one)) return true;
  for (std::size_t i = inputs.size(); i-- > 0;) {
    emulate(mutant.instruction, mutant.datapath, inputs[i].view());
    if (inputs[i].d != right[i]) return true;
  }
  return false;
}

TEST(Mutants, TheInputsTellEveryOneFromTheRowExceptThoseThatCannotShow) {
  std::size_t visible = 0, invisible = 0;
  for (const Probe& probe : all_probes()) {
    std::vector<TileBatch> inputs = inputs_for(probe, is_wgmma(probe.instruction.op) ? 2 : 6);
    std::vector<std::vector<std::byte>> right;
    for (TileBatch& tiles : inputs) {
      emulate(probe.instruction, probe.datapath, tiles.view());
      right.push_back(tiles.d);
    }
    for (const Mutant& wrong : mutants_of(probe.instruction, probe.datapath)) {
      const bool seen = shows_difference(probe, {probe.instruction, wrong.datapath}, inputs, right);
      EXPECT_EQ(seen, wrong.invisible.empty()) << name_of(probe.instruction) << ", " << wrong.rule << ' '
                                               << wrong.change << ": " << wrong.invisible;
      (seen ? visible : invisible) += 1;
    }
  }
  RecordProperty("visible", static_cast<int>(visible));
  RecordProperty("invisible", static_cast<int>(invisible));
  std::printf("%zu mutants seen, %zu cannot show\n", visible, invisible);
  EXPECT_GT(visible, invisible);
}

// Rules that the Hopper rows do not use must have the effect their names say: one hand-made dot each.
TEST(Mutants, RulesOneByOne) {
  const Instruction f16{Op::mma, 16, 8, 16, Format::f32, Format::f16, Format::f16, Format::f32};
  const Datapath hopper;
  const auto expect = [&](const Datapath& datapath, const Decisive& terms, std::uint64_t d) {
    const auto one = decisive_dot(f16, terms, false);
    ASSERT_TRUE(one);
    EXPECT_EQ(model_dot({f16, datapath}, *one), d);
    EXPECT_EQ(oracle::reference_dot(f16, datapath, *one), d);
  };
  const Decisive half_unit_left = {{{0, 1, 1}, {1, -0x1p-13, 0x3p-14}, {2, -1, 1}},
                                   0};  // -0.75 units of 2^-25
  Datapath datapath = hopper;
  expect(datapath, half_unit_left, 0);
  datapath.alignment = Alignment::nearest_even;
  expect(datapath, half_unit_left, 0xB3000000);
  datapath.alignment = Alignment::floor_toward_minus_infinity;
  expect(datapath, half_unit_left, 0xB3000000);

  const Decisive late_addend = {{{0, 0x1p-12, 0x3p-13}}, 1};
  datapath = hopper;
  expect(datapath, late_addend, 0x3F800000);
  datapath.addend = AddendPlace::after_last_nearest;
  expect(datapath, late_addend, 0x3F800001);
  datapath.addend = AddendPlace::after_last_truncated;
  expect(datapath, late_addend, 0x3F800000);

  const Decisive to_infinity = {{{0, 1, 1}}, std::numeric_limits<double>::infinity()};
  datapath = hopper;
  datapath.output.overflow = Overflow::max_finite;
  expect(datapath, to_infinity, 0x7F800000);
  datapath = hopper;
  datapath.output.nan = NanRule::ieee_quiet;
  expect(datapath, {{{0, std::numeric_limits<double>::infinity(), 0}}, 0}, 0x7FC00000);
  datapath.infinity_times_zero = InfinityTimesZero::zero;
  expect(datapath, {{{0, std::numeric_limits<double>::infinity(), 0}, {1, 1, 1}}, 0}, 0);

  const Decisive minus_zero = {{}, -0.0};
  datapath = hopper;
  datapath.output.zero_sign = ZeroSign::ieee;
  expect(datapath, minus_zero, 0);  // the products are +0
  datapath.output.flush_subnormals = true;
  expect(datapath, {{}, -0x1p-149}, 0x80000000);
}

}  // namespace
}  // namespace mmaudit::test
