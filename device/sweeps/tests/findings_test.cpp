// Findings and published rows, on grids whose answer is known.
#include <gtest/gtest.h>

#include <set>

#include "fake_machine.hpp"
#include "mmaudit/sweeps/findings.hpp"
#include "mmaudit/sweeps/published.hpp"

namespace mmaudit::sweeps::test {
namespace {

const std::vector<std::string> kOfFindings = {"mma.m16n8k16.f32.f16",
                                              "mma.m16n8k8.f32.f16",
                                              "mma.sp.m16n8k16.f32.f16",
                                              "mma.sp.m16n8k32.f32.f16",
                                              "wgmma.m64nNk16.f32.f16",
                                              "wgmma.sp.m64nNk32.f32.f16",
                                              "ldmatrix",
                                              "ld.shared"};

State state_at(const std::string& subject, std::vector<std::pair<std::string, std::string>> axes) {
  State state;
  state.subject = subject;
  state.axes = std::move(axes);
  return state;
}

TEST(Findings, AllHoldOnAGridThatBehavesAsThePapersSay) {
  FakeMachine machine;
  const SweepResult result = sweep_of(machine, kOfFindings);
  for (const Finding& finding : findings_of(result)) {
    ASSERT_TRUE(finding.holds.has_value()) << finding.statement;
    EXPECT_TRUE(*finding.holds) << finding.statement << ": " << finding.measured;
    EXPECT_FALSE(finding.measured.empty());
    EXPECT_FALSE(finding.source.empty());
  }
}

TEST(Findings, EachFailsOnAGridThatContradictsIt) {
  FakeMachine machine;
  // One flat unit: no sub-cores, no cost of small k, of shared memory, of data, of conflicts.
  machine.cycles = [](const Cell& cell) {
    if (is_sparse(cell.instruction.op) && cell.subject.kind == Kind::wgmma) return 128.0;
    if (cell.subject.kind == Kind::wgmma) return 3.0 * cell.instruction.n + (cell.a_from_registers ? 0 : 20);
    if (cell.subject.kind == Kind::mma) return 0.5 * cell.instruction.k * cell.warps * cell.ilp;
    return 20.0 * cell.warps + 3 * cell.ways + 5 * cell.subject.words;
  };
  machine.clock = [](const Cell&) { return 2e9; };
  const SweepResult result = sweep_of(machine, kOfFindings);
  for (const Finding& finding : findings_of(result)) {
    ASSERT_TRUE(finding.holds.has_value()) << finding.statement;
    EXPECT_FALSE(*finding.holds) << finding.statement << ": " << finding.measured;
  }
}

TEST(Findings, NothingIsSaidOfWhatWasNotMeasured) {
  FakeMachine machine;
  for (const Finding& finding : findings_of(sweep_of(machine, {"stmatrix"})))
    EXPECT_FALSE(finding.holds.has_value());
}

TEST(Convergence, LeastIlpThatReachesTheRate) {
  FakeMachine machine;
  machine.cycles = [](const Cell& cell) {
    const int deepest = (cell.warps + 3) / 4 * cell.ilp;
    return cell.subject.kind == Kind::mma ? std::max(24.0, 8.0 * deepest) : 1.0;
  };
  const SweepResult result = sweep_of(machine, {kMma}, false, {"scope=sm"});
  const auto four = convergence_of(result, kMma, "random", 4),
             eight = convergence_of(result, kMma, "random", 8);
  ASSERT_TRUE(four && eight);
  EXPECT_EQ(four->ilp, 3);
  EXPECT_EQ(eight->ilp, 2);
  EXPECT_DOUBLE_EQ(four->rate, 4 * 3 * 2048 / 24.0);
  EXPECT_FALSE(convergence_of(result, kMma, "random", 5));
}

TEST(Published, CyclesOfTheSamePoint) {
  const auto rows =
      published_cycles(state_at(kMma, {{"scope", "sm"}, {"init", "random"}, {"warps", "1"}, {"ilp", "1"}}));
  EXPECT_NE(cycles_text(rows).find("24.1 (H800, Luo VIII)"), std::string::npos) << cycles_text(rows);
  EXPECT_NE(cycles_text(rows).find("24.7 (A100, Sun III)"), std::string::npos);
  EXPECT_EQ(cycles_text(published_cycles(
                state_at(kMma, {{"scope", "sm"}, {"init", "random"}, {"warps", "8"}, {"ilp", "2"}}))),
            "32.6 (A100, Sun III)");
  EXPECT_TRUE(published_cycles(state_at(kMma, {{"scope", "sm"}, {"warps", "7"}, {"ilp", "1"}})).empty());
  EXPECT_TRUE(published_cycles(state_at(kMma, {{"scope", "gpu"}, {"warps", "1"}, {"ilp", "1"}})).empty());
}

TEST(Published, WgmmaByNAndWhereAComesFrom) {
  const auto at = [](const char* n, const char* a) {
    return cycles_text(published_cycles(
        state_at("wgmma.m64nNk16.f32.f16.f16",
                 {{"scope", "sm"}, {"init", "zero"}, {"warps", "4"}, {"n", n}, {"a", a}, {"group", "8"}})));
  };
  EXPECT_EQ(at("8", "shared"), "18.0 (H800 PCIe, Luo XI)");
  EXPECT_EQ(at("8", "registers"), "13.0 (H800 PCIe, Luo XI)");
  EXPECT_EQ(at("256", "shared"), "128.0 (H800 PCIe, Luo IX)");
}

TEST(Published, NamesOfBitsAndOfTransposedLoads) {
  const auto cycles = [](const char* subject, std::vector<std::pair<std::string, std::string>> axes) {
    return cycles_text(published_cycles(state_at(subject, std::move(axes))));
  };
  EXPECT_NE(cycles("mma.m16n8k256.s32.b1.b1.s32.xor.popc", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}})
                .find("26.0 (A100, Sun III)"),
            std::string::npos);
  EXPECT_EQ(cycles("ldmatrix.x4", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}}), "29.3 (A100, Sun IX)");
  EXPECT_EQ(cycles("ldmatrix.x4.trans", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}}), "");
  EXPECT_EQ(cycles("ld.shared.u32", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}, {"ways", "8"}}),
            "37.0 (A100, Sun X)");
}

TEST(Published, RatesOfTheWholeGpuOnly) {
  const auto rows = published_rates(state_at(
      "wgmma.m64nNk16.f32.f16.f16", {{"scope", "gpu"}, {"init", "random"}, {"n", "256"}, {"a", "shared"}}));
  EXPECT_EQ(rates_text(rows), "665.4 (H800 PCIe, Luo IX)");
}

TEST(Published, EveryRowSaysSomethingAndDenseRowsNameSubjects) {
  std::set<std::string> names;
  for (const Subject& subject : subjects()) names.insert(subject.name);
  int known = 0;
  for (const PublishedRow& row : published_rows()) {
    EXPECT_FALSE(row.cycles.empty() && row.rate.empty() && row.watts.empty() && row.per_watt.empty() &&
                 row.mhz.empty());
    EXPECT_EQ(row.rate.empty(), row.unit == Unit::none) << row.table << row.subject;
    const bool found =
        names.contains(std::string(row.subject)) || names.contains(std::string(row.subject) + ".and.popc");
    known += found ? 1 : 0;
    EXPECT_TRUE(found || row.subject.find(".sp.") != std::string_view::npos) << row.subject;
  }
  EXPECT_GT(known, 200);
}

TEST(Peaks, HopperAndAmpere) {
  Instruction is = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  EXPECT_EQ(peak_fma(90, is), 2048);
  EXPECT_EQ(peak_fma(80, is), 1024);
  is.a = Format::s4;
  EXPECT_EQ(peak_fma(90, is), 0);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
