// mmaudit screen without a GPU: what it lists, simulates and refuses.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/screen/fault_simulation.hpp"
#include "mmaudit/value_text.hpp"
#include "program.hpp"
#include "screen/report.hpp"

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
  EXPECT_EQ(lines(outcome.out),
            1 + 49U + 3 * 18 + 12);  // the head, as before, streams of wgmma, ldmatrix of mma
  EXPECT_NE(outcome.out.find("wgmma.sp.m64n256k32.f32.f16.f16 RS\n"), std::string::npos);
  EXPECT_NE(outcome.out.find("wgmma.m64n256k32.s32.s8.s8 SS tensor_hbm\n"), std::string::npos);
  EXPECT_NE(outcome.out.find("mma.m16n8k32.s32.s8.s8.s32 ldmatrix\n"), std::string::npos);
}

TEST_F(Screen, SimulatesStuckBits) {
  const Outcome outcome =
      run({"screen", "--coverage", "--inst", "mma.m16n8k32.s32.s8.s8.s32", "--inputs", "normal"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  // Faults of one bit: one of 2,112 needs another set. Faults of 2 to 4 bits.
  EXPECT_NE(outcome.out.find(" 2112             0    99.95%  99.95% "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" 5172   100.00%\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("operand b bit  1 at 0\n"), std::string::npos) << outcome.out;
}

/// The command of a finding gives D of the whole chain, which the fault simulation computes by other means.
TEST_F(Screen, ExplainLineOfAFindingGivesTheExpectedWord) {
  const Architecture& hopper = *find_architecture("hopper");
  int tried = 0;
  for (const screen::Work& work : screen::screened()) {
    if (work.registers || work.feed != screen::Feed::loads) continue;
    screen::Finding finding;
    finding.work = work;
    finding.work.inputs = tried % 2 == 0 ? screen::InputSet::normal : screen::InputSet::cancellation;
    finding.tile = 1;
    finding.row = work.instruction.m - 3;
    finding.column = work.instruction.n - 2;
    const Datapath& datapath = find_datapath(hopper, work.instruction)->datapath;
    finding.expected =
        screen::chain_with_fault(make_dot_spec(work.instruction, datapath),
                                 screen::make_operands(work.instruction, datapath, finding.work.inputs),
                                 finding.tile, finding.row, finding.column, screen::kSteps, nullptr);
    std::istringstream line(screen::explain_line(finding, hopper));
    std::vector<std::string> arguments;
    for (std::string word; line >> word;) arguments.push_back(word);
    ASSERT_GT(arguments.size(), 9U);
    EXPECT_EQ(arguments.front(), "mmaudit");
    arguments.erase(arguments.begin());
    arguments.emplace_back("--json");
    const Outcome outcome = run(arguments);
    ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out).at("traces").at(0).at("d"),
              hex_text(finding.expected, spec_of(work.instruction.d).storage_bits))
        << work.name();
    ++tried;
  }
  EXPECT_EQ(tried, 31);
}

/// A finding as the JSON of a screen has it, with the bits that the model expects.
constexpr const char* kFound =
    R"({"kind": "mmaudit-screen", "gpus": [{"gpu": 3, "compute_capability": 90, "findings": [
  {"sm": 17, "subcore": 2, "lane": 5, "instruction": "mma.m16n8k32.s32.s8.s8.s32", "inputs": "integers", "tile": 1,
   "row": 3, "column": 5, "expected": "EXPECTED", "found": "0x2000"}]}]})";

TEST_F(Screen, AFindingBecomesACudaFile) {
  const Instruction inst = find_instruction("mma.m16n8k32.s32.s8.s8.s32").value();
  const Datapath& datapath = find_datapath(*find_architecture("hopper"), inst)->datapath;
  const std::uint64_t expected = screen::chain_with_fault(
      make_dot_spec(inst, datapath), screen::make_operands(inst, datapath, screen::InputSet::integers), 1, 3,
      5, screen::kSteps, nullptr);
  std::string json = kFound;
  json.replace(json.find("EXPECTED"), 8, "0x" + hex_text(expected, 32));
  const std::string from = write("screen.json", json);
  Outcome outcome = run({"screen", "--from", from, "--reproducer", path("first.cu")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  const std::string file = read(path("first.cu"));
  for (const char* part :
       {"kSm = 17;", "kSubcore = 2;", "kGpu = 3", "m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}"})
    EXPECT_NE(file.find(part), std::string::npos) << part << "\n" << file.substr(0, 600);
  refused(run({"screen", "--from", from}), "allowed: with --reproducer FILE.cu");
  refused(run({"screen", "--from", path("none.json"), "--reproducer", path("x.cu")}), "none.json");
  refused(run({"screen", "--from", from, "--reproducer", from}), "a file of its own");
  refused(run({"screen", "--from", write("b.json", kFound), "--reproducer", path("x.cu")}),
          "found \"EXPECTED\"");
  EXPECT_EQ(files(), 3U);
}

TEST_F(Screen, RefusesInOneLine) {
  refused(run({"screen", "--list", "--minutes", "0"}), "--minutes");
  refused(run({"screen", "--coverage", "--inst", "hmma"}), "mmaudit screen --list");
  refused(run({"screen", "--coverage", "--inputs", "warm"}), "allowed: some of normal, toggling");
  refused(run({"screen", "--inst", "wgmma.m64n256k16.f32.f16.f16,hmma"}), "--inst: found hmma");
  refused(run({"screen", "--coverage", "--inputs", "norml"}), "did you mean normal?");
  refused(run({"screen", "--feed", "loads,bulk_12"}), "did you mean bulk_l2?");
  refused(run({"screen", "--list", "--feed", "bulk"}), "--feed: found bulk,");
  refused(run({"screen", "--list", "--prometheus", "list.prom"}),
          "--prometheus: found list.prom with --list");
  refused(run({"screen", "--gpu", "-1"}), "--gpu: found -1, allowed: from 0");
  refused(run({"screen", "--feed", "tma"}),
          "allowed: some of loads, ldmatrix, bulk_l2, bulk_hbm, tensor_hbm");
  refused(run({"screen", "--inject", "0,0,0,0,1,1"}),
          "allowed: accumulator:SM,SUBCORE,LANE,WORD,FLIPS,EVERY");
  refused(run({"screen", "--inst", "mma.m16n8k16.f64", "--feed", "ldmatrix,bulk_l2"}),
          "found ldmatrix,bulk_l2, which none of these instructions has");
  refused(run({"screen", "--inject", "load:0,0,zz,1"}), "load:SM,WORD,FLIPS,EVERY");
  refused(run({"screen", "--inject", "load:0,0,1,1"}), "MMAUDIT_SCREEN_INJECTION");
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
