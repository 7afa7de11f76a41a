// mmaudit sweep without a GPU: what it lists, refuses and compares.
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/sweeps/render.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class Sweep : public Folder {
 protected:
  /// A sweep of one point that took so many cycles.
  std::string save(const std::string& name, double cycles) {
    sweeps::SweepResult result;
    sweeps::State state;
    state.subject = "ldmatrix.x4";
    state.axes = {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}};
    state.summaries = {{sweeps::tag::kCycles, cycles}, {sweeps::tag::kCyclesNoise, 0.001}};
    result.states = {state};
    corpus::write_file_atomically(path(name), std::string_view(sweeps::to_json(result)));
    return path(name);
  }

  static void refused(const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

TEST_F(Sweep, ListsSubjectsAndAxes) {
  const Outcome outcome = run({"sweep", "--list"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* part : {"wgmma.m64nNk16.f32.f16.f16", "ld.shared.v4.u32", "ways", "usual [1:6:1]"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST_F(Sweep, RefusesInOneLine) {
  refused(run({"sweep", "-a", "warps=99"}), "allowed: 1 to 32");
  refused(run({"sweep", "-a", "colour=red"}), "allowed: NAME=VALUES");
  refused(run({"sweep", "--inst", "hmma"}), "--inst");
  const std::string good = save("good.json", 29);
  refused(run({"sweep", "compare", good, path("none.json")}), "cannot read");
  corpus::write_file_atomically(path("bad.json"), std::string_view("{\"meta\": 1}"));
  refused(run({"sweep", "compare", path("bad.json"), good}), "bad.json: not a result");
}

TEST_F(Sweep, SaysSoWithoutAGpu) {
  if (!device::devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  const Outcome outcome = run({"sweep", "--out", path("out")});
  EXPECT_EQ(outcome.code, kEnvironment);
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  EXPECT_EQ(files(), 0U) << "a folder was made for nothing";
}

TEST_F(Sweep, CompareFailsOnARegressionOnly) {
  const std::string before = save("before.json", 29), slower = save("slower.json", 31);
  EXPECT_EQ(run({"sweep", "compare", before, before}).code, kAllGood);
  EXPECT_EQ(run({"sweep", "compare", slower, before}).code, kAllGood);
  const Outcome outcome = run({"sweep", "compare", before, slower});
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find("SLOW"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace mmaudit::cli::test
