// The shipped recordings: the model agrees, mutants do not, damage is noticed.
#include <nlohmann/json.hpp>

#include <fstream>

#include "mmaudit/comparison.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mutation_score.hpp"
#include "program.hpp"
#include "verify.hpp"

namespace mmaudit::cli::test {
namespace {

TEST(Corpus, TheModelAgreesOnEveryBit) {
  Progress quiet(true);
  const VerifyReport report = verify_corpus(MMAUDIT_TEST_CORPUS, {}, quiet);
  EXPECT_EQ(report.mismatches(), 0U);
  // What a datapath calls recorded has a recording (wgmma at N = 8).
  std::size_t recorded = 0;
  for (const Architecture& architecture : architectures())
    for (const Instruction& one : all_instructions(8)) {
      const DatapathEntry* entry = find_datapath(architecture, one);
      recorded += entry != nullptr && entry->evidence == Evidence::recorded;
    }
  EXPECT_EQ(report.instructions.size(), recorded);
  EXPECT_GT(report.dots(), 600000U);
}

/// Short names mean every form of an instruction; a row that two of them mean is replayed once.
TEST(Corpus, FunctionsAreChosenByListsAndShortNames) {
  for (const auto& [names, functions] : {std::pair{"ex2,rcp", "6 functions, "},
                                         {"ex2.approx.ftz,ex2.approx.ftz.f32,expf", "3 functions, "},
                                         {"functions,tanh", "47 functions, "}}) {
    const Outcome outcome = run({"verify", "--inst", names, "--corpus", MMAUDIT_TEST_CORPUS});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(functions), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find(" inputs, 0 differ"), std::string::npos) << outcome.out;
  }
}

/// Of a generation that is not recorded the vendor's bounds are known, and nothing that a GPU said.
TEST(Corpus, FunctionsOfAnotherGenerationAreLiterature) {
  const auto rows_of = [](const char* architecture) {
    return nlohmann::json::parse(
        run({"list", "--functions", "--arch", architecture, "--json"}).out)["functions"];
  };
  EXPECT_EQ(rows_of("h200").size(), 47U);
  for (const auto& [architecture, count] : {std::pair{"volta", 42U}, {"ampere", 45U}, {"blackwell", 47U}}) {
    const auto rows = rows_of(architecture);
    EXPECT_EQ(rows.size(), count) << architecture;
    for (const auto& row : rows) {
      EXPECT_EQ(row["evidence"], "literature") << architecture;
      EXPECT_EQ(row["steps"], "-") << architecture;
      EXPECT_EQ(row["on_all_operands"], "-") << architecture;
    }
  }
}

TEST(Corpus, EveryMutantIsContradictedOrInvisible) {
  Progress quiet(true);
  const std::vector<RecordingScore> scores = score_recordings(MMAUDIT_TEST_CORPUS, {}, quiet);
  ASSERT_FALSE(scores.empty());
  for (const RecordingScore& score : scores) {
    // Exact arithmetic leaves little to get wrong: of single bits, the operation and the clamp.
    EXPECT_GT(score.mutants.size(), score.instruction.d == Format::s32 ? 1U : 5U);
    for (const ScoredMutant& one : score.mutants) {
      const std::string what = name_of(score.instruction) + ": " + one.rule + ": " + one.change;
      EXPECT_TRUE(one.contradicted() || !one.invisible.empty()) << what << " survived";
      EXPECT_TRUE(!one.contradicted() || one.invisible.empty())
          << what << " is contradicted although no input should tell: " << one.invisible;
    }
  }
}

TEST(Corpus, AWrongDatapathIsReportedWithBitsAndAReplayLine) {
  const std::filesystem::path file =
      std::filesystem::path(MMAUDIT_TEST_CORPUS) / "hopper/mma.m16n8k16.f32.f16.f16.f32.safetensors";
  const corpus::Recording recording = corpus::read_recording(file);
  const Instruction instruction = instruction_of(recording, file.string());
  Datapath wrong = datapath_of_recording(recording, instruction, "test").datapath;
  wrong.output.nan = wrong.output.nan == NanRule::canonical ? NanRule::ieee_quiet : NanRule::canonical;
  const Comparison result = replay(recording, instruction, wrong);
  ASSERT_GT(result.mismatches(), 0U);
  ASSERT_FALSE(result.examples.empty());
  EXPECT_NE(describe(result.examples[0], instruction).find("mmaudit explain --inst"), std::string::npos);
}

class Damage : public Folder {};

TEST_F(Damage, OneFlippedBitIsDamageNotAMismatch) {
  const auto files = corpus::find_recordings(MMAUDIT_TEST_CORPUS);
  const std::string copy = path("copy.safetensors");
  std::filesystem::copy_file(files.front(), copy);
  const auto size = std::filesystem::file_size(copy);
  for (const auto offset : {size - 1, size / 2, size / 3}) {
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
    file.close();
    const Outcome outcome =
        run({"-q", "verify", "--corpus", std::filesystem::path(copy).parent_path().string()});
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_NE(outcome.err.find("damaged"), std::string::npos) << outcome.err;
    EXPECT_EQ(lines(outcome.err), 1U);
    std::filesystem::copy_file(files.front(), copy, std::filesystem::copy_options::overwrite_existing);
  }
}

TEST_F(Damage, VerifyWritesJUnitAndJson) {
  const Outcome outcome = run({"-q", "verify", "--corpus", MMAUDIT_TEST_CORPUS, "--inst",
                               "mma.m16n8k8.f32.tf32", "--junit", path("v.xml"), "--json", path("v.json")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  std::ifstream xml(path("v.xml"));
  const std::string text((std::istreambuf_iterator<char>(xml)), {});
  EXPECT_NE(text.find("failures=\"0\""), std::string::npos);
  std::ifstream json(path("v.json"));
  EXPECT_EQ(nlohmann::json::parse(json)["mismatches"], 0);
}

/// The operands of an example give what the recording says by the right model.
void expect_model_of_row(const nlohmann::json& example) {
  const auto list = [&](const char* operand) {
    std::string text;
    for (const nlohmann::json& one : example.at(operand))
      text += (text.empty() ? "0x" : ",0x") + one.get<std::string>();
    return text;
  };
  const Outcome outcome = run({"explain", "--inst", "mma.m16n8k8.f32.tf32.tf32.f32", "--a", list("a"), "--b",
                               list("b"), "--c", "0x" + example.at("c").get<std::string>(), "--json"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("traces").at(0).at("d"), example.at("expected"));
}

TEST_F(Damage, AModelWithOneWrongFFails) {
  nlohmann::json model =
      nlohmann::json::parse(run({"list", "--arch", "hopper", "--json"}).out).at("architectures").at(0);
  model["name"] = "wrong";
  model.erase("aliases");
  for (nlohmann::json& row : model.at("rows"))
    if (row.at("datapath") == "mma.tf32") row["F"] = row.at("F").get<int>() - 1;
  std::ofstream(path("model.json")) << model;
  const Outcome outcome =
      run({"-q", "verify", "--corpus", MMAUDIT_TEST_CORPUS, "--inst", "mma.m16n8k8.f32", "--model",
           path("model.json"), "--junit", path("v.xml"), "--json", path("v.json")});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.err;
  const nlohmann::json result = nlohmann::json::parse(std::ifstream(path("v.json")));
  std::uint64_t wrong = 0, dots = 0;
  for (const nlohmann::json& one : result.at("instructions")) {
    const bool tf32 = one.at("instruction") == "mma.m16n8k8.f32.tf32.tf32.f32";
    EXPECT_EQ(one.at("mismatches").get<std::uint64_t>() > 0, tf32) << one.at("instruction");
    EXPECT_EQ(one.at("examples").empty(), !tf32);
    std::uint64_t of_classes = 0;
    for (const nlohmann::json& each : one.at("families"))
      of_classes += each.at("mismatches").get<std::uint64_t>();
    EXPECT_EQ(of_classes, one.at("mismatches"));
    for (const nlohmann::json& example : one.at("examples")) expect_model_of_row(example);
    wrong += one.at("mismatches").get<std::uint64_t>();
    dots += one.at("dots").get<std::uint64_t>();
  }
  EXPECT_GT(wrong, 0U);
  EXPECT_GT(result.at("instructions").size(), 1U);
  EXPECT_EQ(result.at("mismatches"), wrong);
  EXPECT_EQ(result.at("dots"), dots);
  EXPECT_NE(outcome.out.find(std::to_string(wrong) + " mismatches"), std::string::npos) << outcome.out;
  std::ifstream xml(path("v.xml"));
  const std::string text((std::istreambuf_iterator<char>(xml)), {});
  EXPECT_NE(text.find("failures=\"1\""), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(wrong) + " of "), std::string::npos) << text;
}

TEST_F(Damage, AnEmptyOrMissingCorpusIsNotAPass) {
  EXPECT_EQ(run({"verify", "--corpus", path("nothing")}).code, kBadInput);
  EXPECT_EQ(run({"verify", "--corpus", path("")}).code, kBadInput);
  EXPECT_EQ(run({"-q", "verify", "--corpus", MMAUDIT_TEST_CORPUS, "--inst", "no.such"}).code, kBadInput);
}

TEST_F(Damage, ExplainReadsADotProductOfARecording) {
  const auto files = corpus::find_recordings(MMAUDIT_TEST_CORPUS);
  const Outcome outcome =
      run({"explain", "--tile", files.front().string(), "--index", "3", "--row", "1", "--col", "2"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("recorded 0x"), std::string::npos);
  EXPECT_EQ(run({"explain", "--tile", files.front().string(), "--index", "999999"}).code, kBadInput);
}

TEST_F(Damage, AuditWritesItsThreeFiles) {
  const Outcome outcome =
      run({"-q", "audit", "--no-gpu", "--no-study", "--corpus", MMAUDIT_TEST_CORPUS, "--out", path("out")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* name : {"out/audit.html", "out/audit.md", "out/audit.json"})
    EXPECT_GT(std::filesystem::file_size(path(name)), 1000U);
  EXPECT_NE(outcome.out.find("29 of 30"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace mmaudit::cli::test
