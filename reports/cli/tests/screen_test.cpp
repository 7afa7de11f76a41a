// mmaudit screen without a GPU: what it lists, simulates and refuses.
#include "mmaudit/device/runner.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class Screen : public Folder {
 protected:
  static void refused(const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

TEST_F(Screen, ListsSourcesOfA) {
  const Outcome outcome = run({"screen", "--list"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(lines(outcome.out), 49U);
  EXPECT_NE(outcome.out.find("wgmma.sp.m64n256k32.f32.f16.f16 RS\n"), std::string::npos);
}

TEST_F(Screen, SimulatesStuckBits) {
  const Outcome outcome =
      run({"screen", "--coverage", "--inst", "mma.m16n8k32.s32.s8.s8.s32", "--inputs", "normal"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("100.0%"), std::string::npos) << outcome.out;
}

TEST_F(Screen, RefusesInOneLine) {
  refused(run({"screen", "--list", "--minutes", "0"}), "--minutes");
  refused(run({"screen", "--coverage", "--inst", "hmma"}), "mmaudit screen --list");
  refused(run({"screen", "--coverage", "--inputs", "warm"}), "allowed: some of normal, toggling");
  refused(run({"screen", "--inject", "0,0,0,0,1,1"}), "MMAUDIT_SCREEN_INJECTION");
}

TEST_F(Screen, SaysSoWithoutAGpu) {
  if (!device::devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  const Outcome outcome = run({"screen", "--quick", "--json", path("screen.json")});
  EXPECT_EQ(outcome.code, kEnvironment);
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  EXPECT_EQ(files(), 0U);
}

}  // namespace
}  // namespace mmaudit::cli::test
