// Campaigns without a GPU, through the program.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class CampaignOnModel : public Folder {
 protected:
  [[nodiscard]] nlohmann::json read(const std::string& name) const {
    return nlohmann::json::parse(std::ifstream(path(name)));
  }

  /// Hopper with one rule changed: F of every row of mma.f16 is one less.
  [[nodiscard]] std::string flipped() const {
    nlohmann::json model =
        nlohmann::json::parse(run({"list", "--arch", "hopper", "--json"}).out).at("architectures").at(0);
    model["name"] = "flipped";
    model.erase("aliases");
    for (nlohmann::json& row : model.at("rows"))
      if (row.at("datapath") == "mma.f16" && row.at("output_format") == "f32")
        row["F"] = row.at("F").get<int>() - 1;
    std::ofstream(path("flipped.json")) << model;
    return path("flipped.json");
  }
};

TEST_F(CampaignOnModel, EveryInstructionAgreesAndSaysWhereItRan) {
  const Outcome outcome = run({"-q", "verify", "campaign", "--on", "model", "--family", "floor_edge",
                               "--dots", "1", "--seed", "3", "--out", path("x.json")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("MODEL AGAINST ITSELF"), std::string::npos);
  const nlohmann::json result = read("x.json");
  EXPECT_EQ(result.at("on"), "model");
  EXPECT_EQ(result.at("gpus"), 0);
  EXPECT_TRUE(result.at("complete").get<bool>());
  std::size_t vectors = 0;
  for (const nlohmann::json& one : result.at("instructions")) {
    EXPECT_GT(one.at("dots").get<std::uint64_t>(), 0U) << one.at("instruction");
    vectors += one.at("engine") == "vectors" ? 1 : 0;
  }
  EXPECT_GT(result.at("instructions").size(), 200U);
  EXPECT_GT(vectors, 40U);
}

TEST_F(CampaignOnModel, TakesBlockScalesOfEveryInputClass) {
  const Outcome outcome = run({"-q", "verify", "campaign", "--on", "model", "--arch", "blackwell", "--inst",
                               "scale_vec", "--dots", "1", "--seed", "3", "--out", path("x.json")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  const nlohmann::json result = read("x.json");
  EXPECT_EQ(result.at("mismatches"), 0);
  EXPECT_GT(result.at("instructions").size(), 20U);
  for (const nlohmann::json& one : result.at("instructions")) EXPECT_EQ(one.at("engine"), "vectors") << one;
}

/// In a process of its own, which alone has the --model that it loads.
Outcome run_apart(const std::vector<std::string>& arguments, const std::string& scratch) {
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome = run(arguments);
    std::ofstream(scratch) << outcome.out << outcome.err;
    _exit(outcome.code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::ifstream in(scratch);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {std::istreambuf_iterator<char>(in), {}}, {}};
}

TEST_F(CampaignOnModel, AFlippedRuleIsFoundAndShrunk) {
  const Outcome outcome =
      run_apart({"-q", "verify", "campaign", "--on", "model", "--model", flipped(), "--inst",
                 "mma.m16n8k16.f32.f16", "--dots", "1e5", "--seed", "3", "--out", path("x.json")},
                path("output"));
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find(" non-zero products)"), std::string::npos) << outcome.out;
  EXPECT_GT(read("x.json").at("mismatches").get<std::uint64_t>(), 0U);
}

TEST_F(CampaignOnModel, PartsGoOnAndMergeToTheWhole) {
  const std::vector<std::string> base = {
      "-q",     "verify", "campaign", "--on", "model",    "--inst",       "mma.m16n8k16.f32.bf16",
      "--dots", "3e4",    "--seed",   "3",    "--family", "normal,window"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return run(more);
  };
  EXPECT_EQ(with({"--out", path("one.json")}).code, kAllGood);
  for (const char* part : {"0", "1"}) {
    const std::string name = std::string("part") + part;
    for (int again = 0; again < 2; ++again)  // the second finds everything done
      EXPECT_EQ(with({"--part", std::string(part) + "/2", "--journal", path(name + ".jsonl"), "--out",
                      path(name + ".json")})
                    .code,
                kAllGood);
  }
  EXPECT_EQ(run({"verify", "campaign", "--merge", path("part0.json"), path("part1.json"), "--out",
                 path("all.json")})
                .code,
            kAllGood);
  nlohmann::json one = read("one.json"), all = read("all.json");
  for (nlohmann::json* result : {&one, &all})
    for (nlohmann::json& row : result->at("instructions")) row.erase("seconds");
  EXPECT_EQ(one.at("instructions"), all.at("instructions"));
  EXPECT_EQ(run({"verify", "campaign", "--merge", path("part1.json"), "--out", path("half.json")}).code,
            kMismatch);
  EXPECT_EQ(read("half.json").at("not_done").size(), 1U);
}

TEST_F(CampaignOnModel, RefusesWhatItCantDo) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--part", "2/2", "--seed", "1"},
                                             {"--part", "x", "--seed", "1"},
                                             {"--part", "0/2"},
                                             {"--gpus", "2"},
                                             {"--dots", "0"},
                                             {"--dots", "nan"},
                                             {"--arch", "nothing"},
                                             {"--inst", "nothing"},
                                             {"--on", "nothing"},
                                             {"--merge", path("nothing")}}) {
    std::vector<std::string> arguments = {"verify", "campaign", "--on", "model"};
    if (bad[0] == "--on") arguments.resize(2);
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << bad[0];
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    if (bad[0] != "--merge") {
      EXPECT_NE(outcome.err.find(bad[0] + ": found "), std::string::npos) << outcome.err;
    }
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
