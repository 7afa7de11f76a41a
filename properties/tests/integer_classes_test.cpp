// What the families of integers claim: they reach the ends, leave them and come back, cancel, and are mostly
// zero where they say so.
#include <gtest/gtest.h>

#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

using gen::InputClass;

std::vector<Probe> integer_probes() {
  std::vector<Probe> probes;
  for (const Probe& probe : all_probes())
    if (spec_of(probe.instruction.a).integer()) probes.push_back(probe);
  return probes;
}

bool has_sign(Format format) { return spec_of(format).encoding == Encoding::signed_integer; }

std::vector<OneDot> dots_of(const Probe& probe, InputClass input_class, std::size_t count) {
  TileBatch tiles(probe.instruction);
  gen::append_class(tiles, gen::make_generator_spec(probe.instruction, probe.datapath), input_class, kSeed, 0,
                    count, 0);
  std::vector<OneDot> dots;
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t i = 0; i < 8; ++i) dots.push_back(cut(tiles, t, i, i));
  return dots;
}

double exact(const Probe& probe, const OneDot& one) {
  return oracle::exact_dot(probe.instruction, one).value;
}

TEST(IntegerFamilies, NearOverflowLeavesTheRangeAndStaysInIt) {
  for (const Probe& probe : integer_probes()) {
    std::size_t above = 0, below = 0, inside = 0;
    for (const OneDot& one : dots_of(probe, InputClass::near_overflow, 40)) {
      const double sum = exact(probe, one);
      above += sum > 0x1p31 - 1 ? 1U : 0U;
      below += sum < -0x1p31 ? 1U : 0U;
      inside += std::fabs(sum) < 0x1p31 - 1 ? 1U : 0U;
    }
    EXPECT_GT(above, 0U) << name_of(probe.instruction);
    EXPECT_GT(inside, 0U) << name_of(probe.instruction);
    EXPECT_EQ(below > 0, has_sign(probe.instruction.a) || has_sign(probe.instruction.b))
        << name_of(probe.instruction);
  }
}

TEST(IntegerFamilies, FloorEdgeTellsAnEarlyClampFromALateOne) {
  for (const Probe& probe : integer_probes()) {
    const Instruction& inst = probe.instruction;
    if (!inst.satfinite || (!has_sign(inst.a) && !has_sign(inst.b))) continue;
    Probe early = probe;
    early.datapath.saturation = SaturationRule::every_step;
    early.datapath.products_per_step = static_cast<std::int16_t>(inst.stored_k() / 2);
    std::size_t differ = 0;
    for (const OneDot& one : dots_of(probe, InputClass::floor_edge, 40))
      differ += model_dot(probe, one) != model_dot(early, one) ? 1U : 0U;
    EXPECT_GT(differ, 0U) << name_of(inst);
  }
}

TEST(IntegerFamilies, CancellationLeavesLittle) {
  for (const Probe& probe : integer_probes()) {
    const Instruction& inst = probe.instruction;
    if (inst.multiply != Multiply::product) continue;
    const bool pairs = has_sign(inst.a) || has_sign(inst.b);
    for (OneDot one : dots_of(probe, InputClass::cancellation, 10)) {
      if (pairs) one.c = 0;
      EXPECT_LE(std::fabs(exact(probe, one)), 2) << name_of(inst);
    }
  }
}

TEST(IntegerFamilies, MostlyZerosAreMostlyZeros) {
  for (const Probe& probe : integer_probes()) {
    double zeros = 0, all = 0;
    for (const OneDot& one : dots_of(probe, InputClass::mostly_zeros, 8))
      for (const std::uint64_t bits : one.a) {
        zeros += bits == 0 ? 1 : 0;
        all += 1;
      }
    EXPECT_NEAR(zeros / all, 0.78, 0.14) << name_of(probe.instruction);
  }
}

TEST(IntegerFamilies, ElementsFillTheirBitsAndNoMore) {
  for (const Probe& probe : integer_probes()) {
    for (int f = 0; f < gen::kInputClasses; ++f) {
      std::uint64_t seen_a = 0, seen_b = 0;
      for (const OneDot& one : dots_of(probe, static_cast<InputClass>(f), 6)) {
        for (const std::uint64_t bits : one.a) seen_a |= bits;
        for (const std::uint64_t bits : one.b) seen_b |= bits;
      }
      EXPECT_EQ(seen_a >> spec_of(probe.instruction.a).value_bits(), 0U);
      EXPECT_EQ(seen_b >> spec_of(probe.instruction.b).value_bits(), 0U);
      EXPECT_NE(seen_a, 0U) << name_of(probe.instruction) << ' ' << gen::name_of(static_cast<InputClass>(f));
      EXPECT_NE(seen_b, 0U) << name_of(probe.instruction) << ' ' << gen::name_of(static_cast<InputClass>(f));
    }
  }
}

}  // namespace
}  // namespace mmaudit::test
