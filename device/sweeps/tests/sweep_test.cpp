#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_machine.hpp"
#include "mmaudit/sweeps/render.hpp"

namespace mmaudit::sweeps::test {
namespace {

TEST(Statistics, QuartilesAreInterpolated) {
  const Statistics of = statistics_of({4, 1, 3, 2});
  EXPECT_EQ(of.count, 4);
  EXPECT_DOUBLE_EQ(of.median, 2.5);
  EXPECT_DOUBLE_EQ(of.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(of.upper_quartile, 3.25);
  EXPECT_DOUBLE_EQ(of.least, 1);
  EXPECT_DOUBLE_EQ(of.most, 4);
  EXPECT_DOUBLE_EQ(of.noise(), 0.6);
  EXPECT_EQ(statistics_of({}).count, 0);
  EXPECT_DOUBLE_EQ(statistics_of({7}).median, 7);
}

TEST(Statistics, OneOutlierMovesNeitherMedianNorNoise) {
  std::vector<double> samples(20, 10.0);
  samples.push_back(1e6);
  EXPECT_DOUBLE_EQ(statistics_of(samples).median, 10);
  EXPECT_DOUBLE_EQ(statistics_of(samples).noise(), 0);
}

TEST(StopRule, AtLeastTwentyRunsAndNoEndlessNoise) {
  const RunRule rule;
  EXPECT_GE(rule.least, 20);
  std::vector<double> still(static_cast<std::size_t>(rule.least) - 1, 5.0);
  EXPECT_FALSE(enough(still, rule));
  still.push_back(5.0);
  EXPECT_TRUE(enough(still, rule));
  std::vector<double> noisy;
  while (!enough(noisy, rule)) noisy.push_back(noisy.size() % 2 == 0 ? 1.0 : 2.0);
  EXPECT_EQ(static_cast<int>(noisy.size()), rule.most);
}

TEST(Subjects, NamesAreUniqueAndEveryTypeIsThere) {
  std::set<std::string> names;
  std::set<Format> types;
  for (const Subject& subject : subjects()) {
    EXPECT_TRUE(names.insert(subject.name).second) << subject.name;
    if (subject.words == 0) types.insert(subject.instruction.a);
  }
  for (const Format format : {Format::f64, Format::tf32, Format::bf16, Format::f16, Format::e5m2,
                              Format::e4m3, Format::s8, Format::u8, Format::s4, Format::u4, Format::b1})
    EXPECT_TRUE(types.contains(format)) << name_of(format);
  EXPECT_THROW(select_subjects({"hmma"}), InputError);
}

TEST(Cells, ConflictsNarrowerThanTheLoadDoNotExist) {
  const std::vector<Axis> axes = resolve_axes({"warps=1", "ilp=1"}, false);
  const auto ways = [&](const char* name) {
    std::vector<int> found;
    for (const Cell& cell : cells_of(select_subjects({name}).front(), axes)) found.push_back(cell.ways);
    return found;
  };
  EXPECT_EQ(ways("ld.shared.u32"), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(ways("ld.shared.u64"), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(ways("ld.shared.v4"), (std::vector<int>{4, 8}));
}

TEST(Cells, WgmmaTakesWholeWarpgroups) {
  for (const Cell& cell : cells_of(select_subjects({"wgmma"}).front(), resolve_axes({}, false))) {
    EXPECT_EQ(cell.warps % 4, 0);
    EXPECT_GT(cell.instruction.n, 0);
    EXPECT_DOUBLE_EQ(cell.fma(), cell.warps / 4.0 * 64 * cell.instruction.n * 16);
  }
}

TEST(Sweep, MeasuresTheGridOnceAndTheGpuAtItsBestPoint) {
  FakeMachine machine;
  const SweepResult result = sweep_of(machine, {kMma});
  EXPECT_EQ(machine.measured, 2 * 8 * 6 + 2);
  std::set<std::string> keys;
  for (const State& state : result.states) EXPECT_TRUE(keys.insert(state.key()).second) << state.key();
  const State* gpu = nullptr;
  double best = 0;
  for (const State& state : result.states) {
    if (state.axis("scope") == "gpu") gpu = &state;
    if (state.axis("scope") == "sm") best = std::max(best, *state.get(tag::kFma));
  }
  ASSERT_NE(gpu, nullptr);
  const State* chosen =
      result.find(std::string(kMma) + " scope=sm init=random warps=" + std::string(gpu->axis("warps")) +
                  " ilp=" + std::string(gpu->axis("ilp")));
  ASSERT_NE(chosen, nullptr);
  EXPECT_GE(*chosen->get(tag::kFma), best / 1.006);
  EXPECT_NEAR(*gpu->get(tag::kFlops), 2 * *chosen->get(tag::kFma) * 132 * 1.8e9,
              1e-3 * *gpu->get(tag::kFlops));
}

TEST(Sweep, SlowClocksAreCountedNotDropped) {
  FakeMachine machine;
  const SweepResult result = sweep_of(machine, {kMma}, true, {"init=[zero,random]"});
  int seen = 0;
  for (const State& state : result.states) {
    if (state.axis("scope") != "gpu") continue;
    ++seen;
    EXPECT_EQ(*state.get(tag::kRuns), RunRule{}.least);
    EXPECT_EQ(*state.get(tag::kThrottled), state.axis("init") == "random" ? RunRule{}.least : 0);
  }
  EXPECT_EQ(seen, 2);
}

TEST(Sweep, WithoutAGridTheGpuTakesTheMostThatRuns) {
  FakeMachine machine;
  machine.most_warps = 16;
  const SweepResult result = sweep_of(machine, {kMma}, false, {"scope=gpu", "init=zero"});
  std::vector<std::string> measured;
  for (const State& state : result.states)
    if (state.skipped.empty()) measured.push_back(state.key());
  EXPECT_EQ(measured, std::vector<std::string>{std::string(kMma) + " scope=gpu init=zero warps=16 ilp=6"});
}

TEST(Sweep, EnergyIsWorkOverJoules) {
  FakeMachine machine;  // 700 W
  const SweepResult result =
      sweep_of(machine, {"wgmma.m64nNk16.f32.f16"}, true, {"scope=[sm,energy]", "n=256", "a=shared"});
  const State* state = nullptr;
  for (const State& one : result.states)
    if (one.axis("scope") == "energy") state = &one;
  ASSERT_NE(state, nullptr);
  EXPECT_DOUBLE_EQ(*state->get(tag::kWatts), 700);
  EXPECT_DOUBLE_EQ(*state->get(tag::kFlopsPerWatt), *state->get(tag::kFlops) / 700);
  const double work = 2.0 * 64 * 256 * 16 * 1000 * 132 * RunRule{}.least * state->number("warps") / 4;
  EXPECT_DOUBLE_EQ(*state->get(tag::kFlops), work);
  EXPECT_NE(to_console(result).find("TFLOPS/W"), std::string::npos);
}

TEST(Sweep, StopsWhenToldAndGoesOnWhereItStopped) {
  FakeMachine machine;
  SweepResult result;
  result.device = machine.facts();
  const SweepOptions options{select_subjects({kMma, "ldmatrix.x4"}), resolve_axes({}, true), {}};
  int saved = 0;
  SweepHooks hooks;
  hooks.keep_going = [&] { return machine.measured < 5; };
  hooks.save = [&] { ++saved; };
  run_sweep(machine, options, hooks, result);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.states.size(), 5U);
  EXPECT_EQ(saved, 1);

  SweepResult again = from_json(to_json(result), "kept");
  EXPECT_TRUE(again.interrupted);
  run_sweep(machine, options, {}, again);
  EXPECT_FALSE(again.interrupted);
  FakeMachine fresh;
  SweepResult whole;
  whole.device = fresh.facts();
  run_sweep(fresh, options, {}, whole);
  EXPECT_EQ(machine.measured, fresh.measured) << "a point was measured twice, or left out";
  EXPECT_EQ(again.states, whole.states);
}

TEST(Sweep, WrongBitsAreCounted) {
  FakeMachine machine;
  machine.differing = [](const Cell& cell) {
    return std::uint64_t{cell.warps == 4 && cell.ilp == 2 ? 3U : 0U};
  };
  const SweepResult result = sweep_of(machine, {kMma}, true, {"scope=sm"});
  EXPECT_EQ(result.wrong(), 1);
  EXPECT_NE(to_console(result).find("WRONG BITS"), std::string::npos);
  machine.differing = [](const Cell&) { return 0; };
  EXPECT_EQ(to_console(sweep_of(machine, {kMma}, true)).find("WRONG BITS"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
