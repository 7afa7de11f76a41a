// Campaigns without a GPU, through the program; ranks without MPI, through messages that a test makes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "campaign_ranks.hpp"
#include "campaign_worker.hpp"
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
  const Outcome outcome = run({"-q", "campaign", "--on", "model", "--family", "floor_edge", "--dots", "1",
                               "--seed", "3", "--out", path("x.json")});
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
      run_apart({"-q", "campaign", "--on", "model", "--model", flipped(), "--inst", "mma.m16n8k16.f32.f16",
                 "--dots", "1e5", "--seed", "3", "--out", path("x.json")},
                path("output"));
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find("shrunk from 16 non-zero products"), std::string::npos) << outcome.out;
  EXPECT_GT(read("x.json").at("mismatches").get<std::uint64_t>(), 0U);
}

TEST_F(CampaignOnModel, PartsGoOnAndMergeToTheWhole) {
  const std::vector<std::string> base = {
      "-q",     "campaign", "--on",   "model", "--inst",   "mma.m16n8k16.f32.bf16",
      "--dots", "3e4",      "--seed", "3",     "--family", "normal,window"};
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
  EXPECT_EQ(
      run({"campaign", "--merge", path("part0.json"), path("part1.json"), "--out", path("all.json")}).code,
      kAllGood);
  nlohmann::json one = read("one.json"), all = read("all.json");
  for (nlohmann::json* result : {&one, &all})
    for (nlohmann::json& row : result->at("instructions")) row.erase("seconds");
  EXPECT_EQ(one.at("instructions"), all.at("instructions"));
  EXPECT_EQ(run({"campaign", "--merge", path("part1.json"), "--out", path("half.json")}).code, kMismatch);
  EXPECT_EQ(read("half.json").at("not_done").size(), 1U);
}

TEST_F(CampaignOnModel, RefusesWhatItCantDo) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--part", "2/2", "--seed", "1"},
                                             {"--part", "x", "--seed", "1"},
                                             {"--part", "0/2"},
                                             {"--gpus", "2"},
                                             {"--arch", "nothing"},
                                             {"--inst", "nothing"},
                                             {"--on", "nothing"},
                                             {"--merge", path("nothing")}}) {
    std::vector<std::string> arguments = {"campaign", "--on", "model"};
    if (bad[0] == "--on") arguments.resize(1);
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << bad[0];
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  }
}

/// Rank 0 of several; what the others say is in `mail`.
class FakeComm final : public RankComm {
 public:
  explicit FakeComm(int size) : size_(size) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return 0; }
  [[nodiscard]] int local_size() const override { return size_; }
  void send(int to, const std::string& text) override { sent.emplace_back(RankMessage{to, text}); }
  std::optional<RankMessage> receive() override {
    if (mail.empty()) return std::nullopt;
    RankMessage next = mail.front();
    mail.pop_front();
    return next;
  }
  void finish() override {}

  std::deque<RankMessage> mail;
  std::vector<RankMessage> sent;

 private:
  int size_;
};

class Ranks : public testing::Test {
 protected:
  Ranks() {
    const Architecture& hopper = require_architecture({}, "hopper");
    const Instruction instruction = require_instruction("mma.m16n8k16.f32.f16.f16.f32");
    const DatapathEntry& entry = require_datapath(hopper, instruction);
    plan_.seed = 5;
    plan_.dots = 1'000'000;
    plan_.architecture = hopper.name;
    plan_.instructions = {host_instruction(instruction, entry, entry)};
    plan_.families = {gen::Family::normal, gen::Family::random_bits};
  }

  /// The journal of a part that has done all of its items, the first of them with `mismatches`.
  [[nodiscard]] std::string journal(const CampaignPart& part, int mismatches = 0) const {
    std::string text = journal_header(plan_, part) + "\n";
    const std::vector<CampaignItem> items = items_of(plan_);
    for (std::size_t i = part.index; i < items.size(); i += part.of) {
      text += nlohmann::json({{"instruction", 0},
                              {"family", items[i].family},
                              {"first", items[i].first_chunk},
                              {"chunks", items[i].chunks},
                              {"dots", dots_of(plan_, items[i])},
                              {"mismatches", mismatches},
                              {"seconds", 0.5},
                              {"examples", nlohmann::json::array()}})
                  .dump() +
              "\n";
      mismatches = 0;
    }
    return text;
  }

  /// Rank 0's own work: what `journal` has, at once.
  [[nodiscard]] RankWork work(std::string text) {
    return {.journal = [text]() mutable { return std::exchange(text, {}); },
            .ended = [] { return true; },
            .code = [] { return 0; },
            .how = [] { return std::string("stopped, exit code 0"); },
            .stop = [this] { ++stops_; },
            .kill = [] {}};
  }

  static nlohmann::json merged(const RankEnd& end) {
    std::vector<std::pair<std::string, std::string>> parts;
    for (const RankRecord& one : end.records) parts.emplace_back("rank", one.result());
    return nlohmann::json::parse(merge_campaigns(parts));
  }

  CampaignPlan plan_;
  int stops_ = 0;
};

const RankRules kPatient = {.silence = 30, .interrupted = [] { return false; }};

TEST_F(Ranks, AreMerged) {
  FakeComm comm(2);
  const std::string other = journal({1, 2});
  const std::size_t torn = other.size() / 2;  // in the middle of a line
  comm.mail = {{1, "j" + other.substr(0, torn)}, {1, "j" + other.substr(torn)}, {1, R"(e[0,"stopped"])"}};
  const RankEnd end = watch_ranks(comm, plan_, facts_without_gpu(), work(journal({0, 2})), kPatient);
  EXPECT_TRUE(end.all_there);
  EXPECT_TRUE(merged(end).at("complete").get<bool>());
}

TEST_F(Ranks, ASilentOneIsLost) {
  FakeComm comm(3);
  comm.mail = {{2, "j" + journal({2, 3})}, {2, R"(e[0,"stopped"])"}};
  const RankRules impatient = {.silence = 0.05, .interrupted = [] { return false; }};
  const RankEnd end = watch_ranks(comm, plan_, facts_without_gpu(), work(journal({0, 3})), impatient);
  EXPECT_FALSE(end.all_there);
  EXPECT_EQ(end.records[1].code(), -1);
  const nlohmann::json result = merged(end);
  EXPECT_FALSE(result.at("complete").get<bool>());
  ASSERT_EQ(result.at("not_done").size(), 1U);
  EXPECT_EQ(result.at("not_done")[0].at("part"), 1);
}

TEST_F(Ranks, ADifferenceStopsAll) {
  FakeComm comm(2);
  comm.mail = {{1, "j" + journal({1, 2}, 3)}, {1, R"(e[1,"stopped"])"}};
  const RankEnd end = watch_ranks(comm, plan_, facts_without_gpu(), work(journal({0, 2})), kPatient);
  EXPECT_EQ(merged(end).at("mismatches"), 3);
  EXPECT_EQ(stops_, 1);
  ASSERT_EQ(comm.sent.size(), 1U);
  EXPECT_EQ(comm.sent[0].text, "s");
}

TEST_F(Ranks, AnotherPlanIsRefused) {
  FakeComm comm(2);
  CampaignPlan other = plan_;
  other.seed = 6;
  comm.mail = {{1, "j" + journal_header(other, {1, 2}) + "\n"}};
  const RankEnd end = watch_ranks(comm, plan_, facts_without_gpu(), work(journal({0, 2})), kPatient);
  EXPECT_EQ(end.records[1].code(), kBadInput);
  EXPECT_FALSE(merged(end).at("complete").get<bool>());
}

TEST_F(Ranks, AnInterruptionLeavesWhatIsKnown) {
  FakeComm comm(2);
  const RankRules asked = {.silence = 30, .interrupted = [] { return true; }};
  RankWork busy = work(journal({0, 2}));
  busy.ended = [] { return false; };
  const RankEnd end = watch_ranks(comm, plan_, facts_without_gpu(), busy, asked);
  EXPECT_FALSE(end.all_there);
  const nlohmann::json result = merged(end);
  EXPECT_GT(result.at("dots").get<std::uint64_t>(), 0U);
  EXPECT_EQ(result.at("not_done").size(), 1U);
}

}  // namespace
}  // namespace mmaudit::cli::test
