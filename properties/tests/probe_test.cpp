// Datapaths played as unknown devices are found again, and no claim about them is false.
#include "mmaudit/probe/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "../probe/changes.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::test {
namespace {

using probe::Alternative;
using probe::Claim;
using probe::Finding;

struct Row {
  const char* architecture;
  const char* instruction;
};

Backend unknown(const Datapath& hidden) {
  return {"unknown", [](const Instruction&, std::uint8_t) { return std::string(); },
          [hidden](const Instruction& inst, const TileView& batch) { emulate(inst, hidden, batch); }};
}

/// Rows are alike, and 128 of them eight times the work.
Instruction small(Instruction inst) {
  inst = with_shape(inst, kWgmmaMinN);
  inst.m = std::min<std::int16_t>(inst.m, 16);
  return inst;
}

Finding probed(const Instruction& inst, const Datapath& hidden, std::uint64_t dots = 20'000) {
  return probe::probe(inst, unknown(hidden), {.seed = 7, .dots = dots});
}

/// A rule whose hidden value is neither the found one nor one that was left open.
std::string false_claims(const Finding& finding, const Datapath& hidden) {
  std::string text;
  for (const Claim& claim : finding.claims) {
    const std::string value = probe::value_of(hidden, claim.rule);
    const auto at = std::find_if(claim.alternatives.begin(), claim.alternatives.end(),
                                 [&](const Alternative& one) { return one.value == value; });
    if (value != claim.value && at != claim.alternatives.end() && at->witness)
      text += claim.rule + ": found " + claim.value + ", is " + value + "; ";
  }
  return text;
}

/// Every witness is what it says: the hidden datapath gives its D, the other value does not.
void expect_honest_witnesses(const Finding& finding, const Datapath& hidden) {
  const Instruction& inst = finding.instruction;
  for (const Claim& claim : finding.claims)
    for (const Alternative& one : claim.alternatives) {
      if (!one.witness) continue;
      EXPECT_NE(one.expected, one.witness->d) << claim.rule << " " << one.value;
      if (is_sparse(inst.op) || inst.scale != Format::none) continue;
      const Strided<std::uint64_t> a{one.witness->dot.a.data()}, b{one.witness->dot.b.data()};
      EXPECT_EQ(dot(make_dot_spec(inst, hidden), a, b, one.witness->dot.c, 0), one.witness->d) << claim.rule;
    }
}

/// The datapath without one rule's change is not what was found: a witness, or other steps, say so. Where a
/// second rule would have to change too, the original's value is excluded as the others stand, and that
/// second rule may be the changed one.
bool reported(const Finding& finding, const Datapath& original, const Datapath& changed,
              const std::vector<std::string>& steps) {
  const auto was = [&](const std::string& rule) { return probe::value_of(original, rule); };
  const auto is = [&](const std::string& rule) { return probe::value_of(changed, rule); };
  const auto with_the_change = [&](const std::string& reason) {
    return std::any_of(finding.claims.begin(), finding.claims.end(), [&](const Claim& claim) {
      const std::string& rule = claim.rule;
      return was(rule) != is(rule) &&
             reason.find("together with " + rule + " = " + is(rule)) != std::string::npos;
    });
  };
  for (const Claim& claim : finding.claims)
    for (const Alternative& one : claim.alternatives) {
      if (one.value != was(claim.rule)) continue;
      const bool excluded = one.witness || one.reason.find("together with") != std::string::npos;
      if ((excluded && one.value != is(claim.rule)) || with_the_change(one.reason)) return true;
    }
  return finding.steps != steps;
}

void expect_found(const Instruction& inst, const Datapath& hidden) {
  Finding finding;
  ASSERT_NO_THROW(finding = probed(inst, hidden));
  EXPECT_TRUE(finding.explained()) << finding.contradictions << ", " << finding.mismatches;
  EXPECT_EQ(false_claims(finding, hidden), "");
  expect_honest_witnesses(finding, hidden);
}

void expect_mutants_reported(const Row& row) {
  const Instruction inst = small(find_instruction(row.instruction).value());
  const Datapath original = find_datapath(*find_architecture(row.architecture), inst)->datapath;
  const std::vector<std::string> steps = probed(inst, original).steps;
  for (const Mutant& mutant : mutants_of(inst, original)) {
    SCOPED_TRACE(std::string(row.instruction) + ": " + mutant.rule + " " + mutant.change);
    const Finding finding = probed(inst, mutant.datapath);
    EXPECT_TRUE(finding.explained()) << finding.contradictions << ", " << finding.mismatches;
    EXPECT_EQ(false_claims(finding, mutant.datapath), "");
    EXPECT_TRUE(!mutant.invisible.empty() || reported(finding, original, mutant.datapath, steps));
  }
}

TEST(Probe, rows_of_each_arithmetic_are_found_again) {
  constexpr Row kRows[] = {
      {"hopper", "mma.m16n8k16.f32.f16.f16.f32"},
      {"ampere", "mma.m16n8k8.f32.tf32.tf32.f32"},
      {"turing", "mma.m16n8k8.f16.f16.f16.f16"},
      {"hopper", "mma.m16n8k32.f32.e4m3.e5m2.f32"},
      {"hopper", "mma.m8n8k4.f16.f16.f16.f16"},
      {"hopper", "mma.m8n8k4.f64.f64.f64.f64"},
      {"hopper", "mma.m16n8k32.satfinite.s32.s8.u8.s32"},
      {"blackwell_rtx", "mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0"},
      {"blackwell_rtx", "mma.sp.m16n8k64.kind_mxf8f6f4.scale_vec_1X.f32.e3m2.e2m3.f32.ue8m0"}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.instruction);
    const Instruction inst = small(find_instruction(row.instruction).value());
    expect_found(inst, find_datapath(*find_architecture(row.architecture), inst)->datapath);
  }
}

// An undecided rule is no claim: the reason comes from the formats.
TEST(Probe, what_no_input_can_tell_is_left_open) {
  const Instruction inst = find_instruction("mma.m16n8k8.f16.f16.f16.f16").value();
  const Finding finding = probed(inst, find_datapath(*find_architecture("turing"), inst)->datapath);
  const auto order = std::find_if(finding.claims.begin(), finding.claims.end(),
                                  [](const Claim& one) { return one.rule == "order"; });
  ASSERT_NE(order, finding.claims.end());
  EXPECT_FALSE(order->decided());
  EXPECT_EQ(finding.steps, std::vector<std::string>{"0-7"});
}

// No combination of rules gives a D whose last bit is always set: the finding says so and shows one.
TEST(Probe, a_device_without_a_model_is_not_explained) {
  const Instruction inst = find_instruction("mma.m8n8k4.f64.f64.f64.f64").value();
  const Datapath near = find_datapath(*find_architecture("hopper"), inst)->datapath;
  Backend odd = unknown(near);
  odd.run = [near](const Instruction& one, const TileView& batch) {
    emulate(one, near, batch);
    auto* d = static_cast<std::uint64_t*>(batch.d);
    const TileExtents extents(one);
    for (std::size_t i = 0; i < batch.tiles * extents.m * extents.n; ++i) d[i] |= 1U;
  };
  int told = 0;  // a long search says which rules it changes
  const auto progress = [&](const std::string& what) {
    told += what.find("rounding, ") == 0 && what.find("answers contradict") != std::string::npos ? 1 : 0;
  };
  const Finding finding = probe::probe(inst, odd, {.seed = 7, .dots = 1000, .progress = progress});
  EXPECT_GT(told, 0);
  EXPECT_FALSE(finding.explained());
  ASSERT_TRUE(finding.example);
  EXPECT_NE(finding.example->expected, finding.example->found);
}

TEST(Probe, answers_alone_are_enough_for_the_claims_they_carry) {
  const Instruction inst = find_instruction("mma.m8n8k4.f64.f64.f64.f64").value();
  const Datapath hidden = find_datapath(*find_architecture("hopper"), inst)->datapath;
  probe::Options known{.seed = 7, .dots = 0};
  const Finding none = probe::probe(inst, Backend{}, known);
  EXPECT_FALSE(none.explained());
  DotCase sum;
  sum.a = {0x3FF0000000000000, 0x3FF0000000000000, 0, 0};
  sum.b = {0x3FF0000000000000, 0x3CA8000000000000, 0, 0};  // 1 + 1.5 * 2^-53 rounds up to nearest
  const Strided<std::uint64_t> a{sum.a.data()}, b{sum.b.data()};
  known.facts = {{sum, dot(make_dot_spec(inst, hidden), a, b, 0, 0)}};
  const Finding finding = probe::probe(inst, Backend{}, known);
  EXPECT_TRUE(finding.explained());
  const auto rounding = std::find_if(finding.claims.begin(), finding.claims.end(),
                                     [](const Claim& one) { return one.rule == "rounding"; });
  ASSERT_NE(rounding, finding.claims.end());
  for (const Alternative& one : rounding->alternatives)
    EXPECT_EQ(one.witness.has_value(), one.value != "RU") << one.value;
}

TEST(Probe, one_changed_rule_is_reported) {
  expect_mutants_reported({"hopper", "mma.m8n8k4.f64.f64.f64.f64"});
  expect_mutants_reported({"hopper", "mma.m16n8k32.satfinite.s32.s8.u8.s32"});
  expect_mutants_reported({"turing", "mma.m16n8k8.f16.f16.f16.f16"});
}

TEST(SlowProbe, every_built_in_row_is_found_again) {
  std::vector<std::pair<Instruction, Datapath>> seen;
  int staged = 0;
  for (const Architecture& architecture : architectures())
    for (const Instruction& listed : kInstructions) {
      const DatapathEntry* entry = find_datapath(architecture, listed);
      if (entry == nullptr) continue;
      if (is_staged(entry->datapath.arithmetic)) {  // a probe asks for one alignment per step
        ++staged;
        continue;
      }
      // Two instructions that differ in M, N and name alone are one function.
      Instruction inst = small(listed), key = inst;
      key.m = key.n = 0;
      key.op = is_sparse(inst.op) ? Op::mma_sp : Op::mma;
      key.unit = {};
      key.kind = MmaKind::none;
      key.min_compute_capability = 0;
      const std::pair one{key, entry->datapath};
      if (std::find(seen.begin(), seen.end(), one) != seen.end()) continue;
      seen.push_back(one);
      SCOPED_TRACE(std::string(architecture.name) + " " + name_of(inst));
      expect_found(inst, entry->datapath);
    }
  std::printf("%zu rows; left out: %d instructions whose sums have stages\n", seen.size(), staged);
  EXPECT_GT(seen.size(), 200U);
}

TEST(SlowProbe, one_changed_rule_is_reported) {
  for (const Row row :
       {Row{"hopper", "mma.m16n8k16.f32.f16.f16.f32"}, Row{"ada", "mma.m16n8k32.f32.e4m3.e5m2.f32"},
        Row{"hopper", "mma.m16n8k32.f32.e5m2.e4m3.f32"}, Row{"hopper", "wgmma.m64n8k8.f32.tf32.tf32"},
        Row{"hopper", "mma.sp.m16n8k32.f32.bf16.bf16.f32"}, Row{"hopper", "wmma.m16n16k16.f16.f16.f16.f32"},
        Row{"hopper", "mma.m8n8k4.f16.f16.f16.f16"},
        Row{"blackwell_rtx", "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"},
        Row{"blackwell_rtx", "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e2m3.f32.ue8m0"}})
    expect_mutants_reported(row);
}

}  // namespace
}  // namespace mmaudit::test
