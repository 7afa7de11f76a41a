// Under mpirun: a campaign on the model, of which two ranks count what one process does; a screen without a
// GPU.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace mmaudit::campaign {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kArguments =
    " -q verify campaign --on model --threads 1 --seed 11 --inst mma.m16n8k16.f32.f16 --dots ";

bool is_there(const char* command) {
  return std::system((std::string("command -v ") + command + " >/dev/null").c_str()) == 0;
}

class Ranks : public testing::Test {
 protected:
  void SetUp() override {
#ifndef MMAUDIT_HAS_MPI
    GTEST_SKIP() << "built without MPI (libopenmpi-dev)";
#endif
    if (!is_there("mpirun")) GTEST_SKIP() << "no mpirun (openmpi-bin)";
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);  // a container's only user
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    folder_ = fs::temp_directory_path() / ("mmaudit_ranks_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] json result(const std::string& name) const { return json::parse(std::ifstream(path(name))); }

  [[nodiscard]] std::string one(const std::string& more) const {
    return "exec " MMAUDIT_PROGRAM + std::string(kArguments) + more + " >" + path("output") + " 2>&1";
  }
  [[nodiscard]] std::string two(const std::string& more) const {
    return "exec mpirun --oversubscribe -np 2 " MMAUDIT_PROGRAM + std::string(kArguments) + more + " >" +
           path("output") + " 2>&1";
  }
  [[nodiscard]] std::string output() const {
    std::ifstream in(path("output"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static int run(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  fs::path folder_;
};

json counts_of(json result) {
  for (json& row : result.at("instructions")) row.erase("seconds");
  return result.at("instructions");
}

TEST_F(Ranks, TwoCountWhatOneDoes) {
  ASSERT_EQ(run(one("1e5 --out " + path("one.json"))), 0) << output();
  ASSERT_EQ(run(two("1e5 --out " + path("two.json"))), 0) << output();
  const json alone = result("one.json"), both = result("two.json");
  EXPECT_TRUE(both.at("complete").get<bool>());
  EXPECT_EQ(both.at("plan"), alone.at("plan"));
  EXPECT_EQ(counts_of(both), counts_of(alone));
  EXPECT_EQ(both.at("parts").size(), 2U);
  const std::string journal = "1e5 --journal " + path("j.jsonl") + " --out " + path("again.json");
  for (int again = 0; again < 2; ++again) {  // the second finds everything done
    ASSERT_EQ(run(two(journal)), 0) << output();
    EXPECT_EQ(counts_of(result("again.json")), counts_of(alone));
  }
  EXPECT_TRUE(fs::exists(path("j.jsonl.rank1")));
}

TEST_F(Ranks, AScreenNamesHostsWithoutAGpu) {
  if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
  const std::string screen =
      "exec mpirun --oversubscribe -np 2 " MMAUDIT_PROGRAM " -q screen --minutes 0.05 ";
  const std::string to_file = " >" + path("output") + " 2>&1";
  EXPECT_EQ(run(screen + "--json " + path("s.json") + " --prometheus " + path("s.prom") + to_file), 1)
      << output();
  const json both = result("s.json");
  EXPECT_FALSE(both.at("passed").get<bool>());
  ASSERT_EQ(both.at("gpus").size(), 2U);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(both.at("gpus").at(rank).at("rank"), rank);
    EXPECT_FALSE(both.at("gpus").at(rank).at("host").get<std::string>().empty());
    EXPECT_FALSE(both.at("gpus").at(rank).at("error").get<std::string>().empty());
  }
  EXPECT_NE(output().find(", no GPU: FAIL: "), std::string::npos) << output();
  EXPECT_TRUE(fs::exists(path("s.prom")));
  // A refusal is one line of mmaudit's, whatever mpirun says about it.
  EXPECT_EQ(run(screen + "--feed tma" + to_file), 2) << output();
  const std::string refusal = output();
  const std::size_t first = refusal.find("--feed: found tma");
  EXPECT_NE(first, std::string::npos) << refusal;
  EXPECT_EQ(refusal.find("--feed: found tma", first + 1), std::string::npos) << refusal;
}

}  // namespace
}  // namespace mmaudit::campaign
