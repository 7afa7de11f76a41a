// mmaudit verify laws: the table, the example database, what is refused.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "law_check.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/laws/report.hpp"
#include "mmaudit/model/architecture.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class Laws : public Folder {};

/// 2^-12 * 2^-13 beside 1 and -1: what alignment cuts off at F = 24.
laws::Failure lost_bit() {
  const Instruction inst = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  laws::Failure failure{"alignment_truncates", inst, {}, 0, 0x33000000, 5};
  failure.dot.a = std::vector<std::uint64_t>(16);
  failure.dot.b = std::vector<std::uint64_t>(16);
  failure.dot.a[0] = failure.dot.b[0] = failure.dot.b[2] = 0x3C00;
  failure.dot.a[2] = 0xBC00;
  failure.dot.a[1] = 0x0C00;
  failure.dot.b[1] = 0x0800;
  return failure;
}

TEST_F(Laws, HoldOnTheModelAndAreCounted) {
  const Outcome table =
      run({"-q", "verify", "laws", "--inst", "mma.m16n8k16.f32.f16", "--dots", "1000", "--seed", "3"});
  EXPECT_EQ(table.code, kAllGood) << table.out << table.err;
  EXPECT_NE(table.out.find("alignment_truncates"), std::string::npos);
  const Outcome json =
      run({"-q", "verify", "laws", "--law", "the_floor", "--dots", "1000", "--seed", "3", "--json"});
  EXPECT_EQ(json.code, kAllGood) << json.err;
  const auto result = nlohmann::json::parse(json.out);
  EXPECT_EQ(result["laws"].size(), 1U);
  EXPECT_GT(result["laws"][0]["dots"], 0);
  EXPECT_GT(result["laws"][0]["skipped"].size(), 0U);
  const Outcome list = run({"verify", "laws", "--list"});
  EXPECT_NE(list.out.find("source:"), std::string::npos);
}

TEST_F(Laws, HoldOverRecordings) {
  const Outcome table = run({"-q", "verify", "laws", "--on", "corpus", "--corpus", MMAUDIT_TEST_CORPUS,
                             "--inst", "mma.m16n8k16.f32.f16.f16.f32", "--dots", "1000", "--reasons"});
  EXPECT_EQ(table.code, kAllGood) << table.out << table.err;
  for (const char* part :
       {"laws on recordings of NVIDIA H200", "it compares with dot products that are not recorded",
        "follows_the_documented_model"})
    EXPECT_NE(table.out.find(part), std::string::npos) << table.out;
  const Outcome none =
      run({"-q", "verify", "laws", "--on", "corpus", "--corpus", MMAUDIT_TEST_CORPUS, "--arch", "volta"});
  EXPECT_EQ(none.code, kBadInput);
  EXPECT_NE(none.err.find("found no recording"), std::string::npos) << none.err;
}

/// Results that no instruction gave: the last bit of every D turned.
TEST_F(Laws, AWrongRecordingBreaksThem) {
  const std::string name = "mma.m16n8k16.f32.f16.f16.f32.safetensors";
  corpus::Recording recording =
      corpus::read_recording(std::filesystem::path(MMAUDIT_TEST_CORPUS) / "hopper" / name);
  for (std::size_t i = 0; i < recording.d.data.size(); i += 4) recording.d.data[i] ^= std::byte{1};
  corpus::write_recording(path(name), recording);
  const Outcome table =
      run({"-q", "verify", "laws", "--on", "corpus", "--corpus", path(""), "--law", "alignment_truncates"});
  EXPECT_EQ(table.code, kMismatch) << table.out << table.err;
  EXPECT_NE(table.out.find("dot products break it"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("mmaudit explain --arch hopper"), std::string::npos) << table.out;
}

TEST_F(Laws, ALawThatAppliesToNothingFails) {
  // Volta has no sparse instruction, and nothing was left out.
  const Outcome outcome =
      run({"-q", "verify", "laws", "--arch", "volta", "--law", "sparse_is_dense", "--dots", "100"});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.out;
  EXPECT_NE(outcome.out.find("applied to nothing"), std::string::npos) << outcome.out;
}

TEST_F(Laws, StrengthNamesLawsAndRecordings) {
  const Outcome json = run({"-q", "verify", "laws", "--strength", "--corpus", MMAUDIT_TEST_CORPUS, "--inst",
                            "mma.m16n8k8.f32.tf32.tf32.f32", "--dots", "2000", "--seed", "3", "--json"});
  EXPECT_EQ(json.code, kAllGood) << json.err;
  const auto result = nlohmann::json::parse(json.out);
  EXPECT_EQ(result["survivors"], 0);
  EXPECT_EQ(result["wrongly_excused"], 0);
  ASSERT_GT(result["wrong_models"].size(), 20U);
  std::size_t by_both = 0;
  for (const auto& one : result["wrong_models"])
    by_both += !one["laws"].empty() && one.value("recorded_dots", 0) > 0;
  EXPECT_GT(by_both, 15U);
  const Outcome text = run({"-q", "verify", "laws", "--strength", "--corpus", MMAUDIT_TEST_CORPUS, "--inst",
                            "mma.m8n8k4.f64", "--dots", "1000", "--seed", "3"});
  EXPECT_EQ(text.code, kAllGood) << text.out;
  EXPECT_NE(text.out.find("chains_are_fused"), std::string::npos) << text.out;
  EXPECT_EQ(run({"verify", "laws", "--strength", "--on", "reference"}).code, kBadInput);
}

/// Scales of a failure come back from the example database, and the line that explains it has them.
TEST_F(Laws, ABlockScaledFailureIsKept) {
  const Instruction inst =
      find_instruction("mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3").value();
  laws::Failure failure{"scaled_addends_are_cut_at_f", inst, {}, 0, 1, 2};
  failure.dot.a = failure.dot.b = std::vector<std::uint64_t>(64);
  failure.dot.scale_a = {0x38, 0x01, 0x38, 0x7E};
  failure.dot.scale_b = {0x40, 0x38, 0x38, 0x38};
  const Architecture& architecture = *find_architecture("blackwell_rtx");
  RegressionFile file(path("kept.jsonl"));
  file.add(failure, architecture);
  file.save();
  const auto back = RegressionFile(path("kept.jsonl")).dots(failure.law, inst);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].scale_a, failure.dot.scale_a);
  EXPECT_EQ(back[0].scale_b, failure.dot.scale_b);
  const std::string text = describe(failure, laws::lawbook()[0], "", "");
  EXPECT_NE(text.find("--scale-a 0x38,0x01,0x38,0x7e --scale-b 0x40"), std::string::npos) << text;
}

TEST_F(Laws, WhatIsWrongIsOneLine) {
  for (const auto& [arguments, part] :
       {std::pair<std::vector<std::string>, std::string>{{"verify", "laws", "--law", "gravity"},
                                                         "--law: found \"gravity\", allowed: part of"},
        {{"verify", "laws", "--inst", "frob"}, "--inst: found \"frob\", allowed: part of"},
        {{"verify", "laws", "--on", "paper"}, "--on"},
        {{"verify", "laws", "--dots", "0"}, "--dots"},
        {{"verify", "laws", "--regressions", write("a", "{}\n")}, "a:1: instruction: found none"},
        {{"verify", "laws", "--regressions", write("b", "\n[1]\n")}, "b:2: found no JSON object"},
        {{"verify", "laws", "--regressions",
          write("c", R"({"law":"x","instruction":"mma.m8n8k4.f64.f64.f64.f64","a":["zz","0","0","0"]})")},
         "c:1: a: found \"zz\", allowed: hex digits of 64 bits"},
        {{"verify", "laws", "--regressions",
          write("d", R"({"law":"x","instruction":"mma.m8n8k4.f64.f64.f64.f64","a":["0"]})")},
         "d:1: a: found 1 elements, allowed: 4"},
        {{"verify", "laws", "--regressions", write("e", R"({"law":)" + std::string(100'000, '['))},
         "e:1: nesting: found more, allowed: 32 levels"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << outcome.out;
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "lacks " << part;
  }
}

TEST_F(Laws, AKnownFailureIsKeptAndReadAgain) {
  const Architecture& hopper = *find_architecture("hopper");
  const std::string file = path("known.jsonl");
  {
    RegressionFile known(file);
    known.add(lost_bit(), hopper);
    known.add(lost_bit(), hopper);  // the same again is no second line
    known.save();
  }
  EXPECT_EQ(lines(read(file)), 1U);
  const RegressionFile known(file);
  const auto dots = known.dots("alignment_truncates", lost_bit().instruction);
  ASSERT_EQ(dots.size(), 1U);
  EXPECT_EQ(dots[0].a, lost_bit().dot.a);
  EXPECT_EQ(dots[0].b, lost_bit().dot.b);
  EXPECT_TRUE(known.dots("the_floor", lost_bit().instruction).empty());
  EXPECT_EQ(run({"-q", "verify", "laws", "--law", "alignment", "--inst", "m16n8k16.f32.f16", "--dots", "1",
                 "--seed", "1", "--regressions", file})
                .code,
            kAllGood);
}

TEST_F(Laws, AFailureBecomesACudaFile) {
  const std::string said = write_repro(lost_bit(), path("repro"));
  const std::string file = path("repro/alignment_truncates-mma.m16n8k16.f32.f16.f16.f32.cu");
  EXPECT_NE(said.find(file), std::string::npos) << said;
  const std::string text = read(file);
  for (const char* part :
       {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}",
        "0xc003c00", "the law allows 0x33000000"})
    EXPECT_NE(text.find(part), std::string::npos) << text.substr(0, 400) << part;
  laws::Failure wide = lost_bit();
  wide.instruction = find_instruction("wgmma.m64n8k16.f32.f16.f16").value();
  EXPECT_NE(write_repro(wide, path("repro")).find("no CUDA file"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::cli::test
