// Every rule of a row changed by itself: the laws notice, or the formats say why none could. A few
// instructions of every kind; `mmaudit verify laws --strength` has all of them.
#include "mmaudit/laws/mutation.hpp"

#include <gtest/gtest.h>

#include <map>

#include "law_runs.hpp"

namespace mmaudit::laws {
namespace {

std::vector<Subject> some(std::string_view generation, const std::vector<const char*>& names) {
  const Architecture& architecture = *find_architecture(generation);
  std::vector<Subject> subjects;
  for (const char* name : names) {
    const Instruction inst = find_instruction(name).value();
    subjects.emplace_back(architecture, inst, find_datapath(architecture, inst)->datapath);
  }
  return subjects;
}

/// How many of `subjects`' wrong models there are; what no law but an oracle's notices fails the test.
std::size_t all_noticed(const std::vector<Subject>& subjects) {
  std::map<std::string, int> catches;
  const std::vector<JudgedMutant> mutants = judge_mutants(subjects, {.seed = seed_of_run()});
  std::size_t visible = 0;
  for (const JudgedMutant& one : mutants) {
    const std::string what = name_of(one.instruction) + ": " + one.rule + ": " + one.change;
    EXPECT_FALSE(one.wrongly_excused())
        << what << " breaks " << one.broken.front()->name << " although " << one.invisible;
    if (!one.invisible.empty()) continue;
    ++visible;
    EXPECT_FALSE(one.survives()) << what << " is noticed by no law";
    EXPECT_FALSE(!one.survives() && one.broken.front()->slow) << what << " is noticed by an oracle alone";
    for (const Law* law : one.broken) ++catches[std::string(law->name)];
  }
  for (const auto& [law, count] : catches) std::printf("%4d noticed by %s\n", count, law.c_str());
  return visible;
}

TEST(Mutation, LawsNoticeEveryWrongRule) {
  EXPECT_GT(
      all_noticed(some("hopper", {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16",
                                  "mma.m16n8k32.f32.e4m3.e5m2.f32", "wgmma.m64n8k32.f32.e4m3.e4m3",
                                  "mma.m8n8k4.f64.f64.f64.f64", "mma.sp.m16n8k32.f32.f16.f16.f32",
                                  "mma.m16n8k32.satfinite.s32.s8.u8.s32", "mma.m16n8k8.f32.tf32.tf32.f32"})),
      150U);
}

TEST(Mutation, LawsNoticeEveryWrongRuleOfBlockScales) {
  EXPECT_GT(
      all_noticed(some("blackwell_rtx", {"mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e5m2.f32.ue8m0",
                                         "mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0",
                                         "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"})),
      60U);
}

}  // namespace
}  // namespace mmaudit::laws
