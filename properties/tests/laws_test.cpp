// The laws, held against the model and the reference model of every generation.
#include <gtest/gtest.h>

#include <algorithm>

#include "law_runs.hpp"
#include "mmaudit/laws/report.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "mmaudit/oracles/reference.hpp"

namespace mmaudit::laws {
namespace {

bool is_fast(const Law& law) { return !law.slow; }  // follows_test.cpp has the others
bool of_scales(const Law& law) { return !law.slow && law.scales != Scales::none; }

/// Of the block-scaled mma; tcgen05 has the same models, and tiles eight times as large.
std::vector<Subject> scaled_subjects() {
  std::vector<Subject> all = subjects_of(*find_architecture("blackwell_rtx"));
  std::erase_if(all, [](const Subject& one) { return one.instruction.scale == Format::none; });
  return all;
}

TEST(Laws, TheModelOfHopperObeysEveryOne) {
  const Architecture& hopper = *find_architecture("hopper");
  for (const auto& [name, tally] :
       check_all(model_backend(hopper), unscaled_subjects(hopper), 4000, is_fast)) {
    const auto law = std::find_if(lawbook().begin(), lawbook().end(),
                                  [&, &one = name](const Law& x) { return x.name == one; });
    EXPECT_TRUE(tally.applied > 0 || law->scales == Scales::own) << name << " applied to nothing";
    std::printf("%-34s %4d rows, %4d skipped, %10llu judged\n", name.c_str(), tally.applied, tally.skipped,
                static_cast<unsigned long long>(tally.judged));
  }
}

TEST(Laws, TheModelOfEveryGenerationObeysThem) {
  for (const Architecture& architecture : architectures())
    check_all(model_backend(architecture), unscaled_subjects(architecture), 1000, is_fast);
}

/// A law under which `wrong` is not the row it came from; nullptr: none.
const Law* caught_by(const Subject& subject, const Mutant& wrong, std::uint64_t dots, Failure* failure) {
  const Backend backend = mutant_backend(*subject.architecture, subject.instruction, wrong.datapath, "wrong");
  for (const Law& law : lawbook()) {
    if (law.slow) continue;  // it catches them all
    const LawResult result = check_law(law, subject, backend, {.seed = kSeed, .dots = dots});
    if (result.good()) continue;
    if (failure != nullptr && result.failure) *failure = *result.failure;
    return &law;
  }
  return nullptr;
}

TEST(Laws, BlockScalesObeyThoseThatSpeakOfThem) {
  const auto tallies =
      check_all(model_backend(*find_architecture("blackwell_rtx")), scaled_subjects(), 2000, of_scales);
  for (const auto& [name, tally] : tallies) {
    EXPECT_GT(tally.applied, 0) << name << " applied to nothing";
    std::printf("%-34s %4d rows, %4d skipped, %10llu judged\n", name.c_str(), tally.applied, tally.skipped,
                static_cast<unsigned long long>(tally.judged));
  }
}

TEST(Laws, AWrongDeviceIsShrunkToAFewProducts) {
  const Architecture& hopper = *find_architecture("hopper");
  const Instruction inst = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  const Subject subject(hopper, inst, find_datapath(hopper, inst)->datapath);
  int shrunk = 0;
  for (const Mutant& one : mutants_of(inst, subject.datapath)) {
    if (!one.invisible.empty()) continue;
    Failure failure;
    if (caught_by(subject, one, 3000, &failure) == nullptr || failure.law.empty()) continue;
    ++shrunk;
    EXPECT_LE(nonzero_products(subject, failure.dot), 3)
        << one.rule << ' ' << one.change << ", " << failure.law;
    // And it still fails, by itself.
    const Backend backend = mutant_backend(*subject.architecture, subject.instruction, one.datapath, "wrong");
    const auto law =
        std::find_if(lawbook().begin(), lawbook().end(), [&](const Law& l) { return l.name == failure.law; });
    const auto verdict = judge_alone(*law, subject, backend, failure.dot);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->kind, LawVerdict::Kind::broken);
    // What broke it once is tried first.
    const LawResult again =
        check_law(*law, subject, backend, {.seed = kSeed + 1, .dots = 1, .first = {failure.dot}});
    EXPECT_GT(again.broken, 0U);
  }
  EXPECT_GT(shrunk, 15);
}

TEST(Laws, ALawThatSaysNothingIsAComplaint) {
  const Architecture& hopper = *find_architecture("hopper");
  const Instruction inst = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  const Subject subject(hopper, inst, find_datapath(hopper, inst)->datapath);
  const Law mute{.name = "mute",
                 .statement = "",
                 .source = "",
                 .why_not = [](const Subject&) { return std::string(); },
                 .judge = [](const Case&) { return silent(); }};
  const LawResult result = check_law(mute, subject, model_backend(hopper), {.seed = kSeed, .dots = 100});
  EXPECT_FALSE(result.good());
  EXPECT_NE(result.complaint().find("of the kind that it speaks of"), std::string::npos);
}

TEST(Laws, OneOfTwoThatAppliedToNothingSpoilsTheReport) {
  const Law law{.name = "any", .statement = "", .source = "", .judge = [](const Case&) { return silent(); }};
  LawResult judged, skipped;
  judged.law = skipped.law = &law;
  judged.judged = 1;
  skipped.skipped = "not on this GPU";
  LawReport report;
  report.laws = {{&law, {judged}}, {&law, {skipped}}};
  EXPECT_TRUE(report.laws[0].good());
  EXPECT_FALSE(report.laws[1].good());
  EXPECT_FALSE(report.good());
  report.laws[1].may_be_silent = true;
  EXPECT_TRUE(report.good());
}

TEST(Laws, ABoundThatNoInputComesNearIsAComplaint) {
  const Architecture& hopper = *find_architecture("hopper");
  const Instruction inst = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  const Subject subject(hopper, inst, find_datapath(hopper, inst)->datapath);
  Law far{.name = "far", .statement = "", .source = "", .judge = [](const Case&) {
            return LawVerdict{LawVerdict::Kind::holds, 0, 0.25};
          }};
  const auto complaint = [&] {
    return check_law(far, subject, model_backend(hopper), {.seed = kSeed, .dots = 100}).complaint();
  };
  far.reach = 0.5;
  EXPECT_EQ(complaint(), "no input comes near the bound");
  far.can_reach = [](const Subject&) { return false; };
  EXPECT_EQ(complaint(), "");
  far.can_reach = nullptr;
  far.reach = 0.25;
  EXPECT_EQ(complaint(), "");
}

TEST(Laws, OfARecordingTheFirstFailureIsKeptAsItStands) {
  const Architecture& hopper = *find_architecture("hopper");
  const Instruction inst = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  const Subject subject(hopper, inst, find_datapath(hopper, inst)->datapath);
  const Law seven{.name = "seven", .statement = "", .source = "", .judge = [](const Case& at) {
                    return equal_bits(at.tile.at_d(at.row, at.col), 7);
                  }};
  Tile tile(inst);
  tile.d.assign(static_cast<std::size_t>(inst.m * inst.n), 7);
  tile.d[2 * 8 + 5] = 4, tile.d[2 * 8 + 6] = 3;
  tile.at_a(2, 1) = 9;
  const LawResult result = check_recorded(seven, subject, std::vector<Tile>{tile});
  EXPECT_EQ(result.judged, static_cast<std::uint64_t>(inst.m * inst.n));
  EXPECT_EQ(result.broken, 2U);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->found, 4U);
  EXPECT_EQ(result.failure->expected, 7U);
  EXPECT_EQ(result.failure->dot.a[1], 9U);
}

TEST(Laws, TheReferenceModelObeysThem) {
  const Architecture& hopper = *find_architecture("hopper");
  check_all(oracle::reference_backend(hopper), unscaled_subjects(hopper), 1, is_fast);
  std::vector<Subject> some = scaled_subjects();
  std::erase_if(some, [](const Subject& one) { return one.instruction.a != one.instruction.b; });
  check_all(oracle::reference_backend(*find_architecture("blackwell_rtx")), some, 1, of_scales);
}

}  // namespace
}  // namespace mmaudit::laws
