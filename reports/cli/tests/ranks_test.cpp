// Campaigns under mpirun, on the model: two ranks count what one process does, and a killed one is listed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace mmaudit::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kArguments =
    " -q campaign --on model --threads 1 --seed 11 --inst mma.m16n8k16.f32.f16 --dots ";

bool is_there(const char* command) {
  return std::system((std::string("command -v ") + command + " >/dev/null").c_str()) == 0;
}

std::size_t lines_of(const fs::path& file) {
  std::ifstream in(file);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
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

  static pid_t start(const std::string& command) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }
  static int end_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The process that does part 1 of 2, once its journal has some lines; 0 when there is none in time.
  [[nodiscard]] pid_t worker() const {
    const std::string journal = path("j.jsonl.rank1");
    for (int tries = 0; tries < 1500 && lines_of(journal) < 3; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const fs::directory_entry& process : fs::directory_iterator("/proc")) {
      const std::string name = process.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream in(process.path() / "cmdline", std::ios::binary);
      const std::string line{std::istreambuf_iterator<char>(in), {}};
      if (line.find(journal + std::string(1, '\0')) != std::string::npos) return std::stoi(name);
    }
    return 0;
  }
  static pid_t parent_of(pid_t process) {
    std::ifstream in("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(in, text);
    text.erase(0, text.rfind(')') + 4);  // "123 (name) S 45"
    return std::stoi(text);
  }

  /// What the result says was done is what the journals say, and what is missing makes it whole.
  void expect_what_the_journals_say() {
    const json all = result("all.json");
    EXPECT_FALSE(all.at("complete").get<bool>());
    EXPECT_EQ(all.at("mismatches"), 0);
    std::uint64_t dots = 0, missing = 0;
    for (const char* rank : {"0", "1"}) {
      std::ifstream journal(path(std::string("j.jsonl.rank") + rank));
      std::string line;
      std::getline(journal, line);
      while (std::getline(journal, line) && !journal.eof())
        dots += json::parse(line).at("dots").get<std::uint64_t>();
    }
    EXPECT_EQ(all.at("dots"), dots);
    for (const json& one : all.at("not_done")) missing += one.at("dots").get<std::uint64_t>();
    EXPECT_GT(missing, 0U);
    const json& whole = all.at("parts");
    EXPECT_EQ(dots + missing,
              whole[0].at("dots").get<std::uint64_t>() + whole[1].at("dots").get<std::uint64_t>());
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
}

TEST_F(Ranks, AKilledOneIsListedAndGoesOn) {
  const std::string arguments = "2e6 --journal " + path("j.jsonl") + " --out " + path("all.json");
  const pid_t mpirun = start(two(arguments));
  const pid_t victim = worker();
  if (victim > 0) kill(victim, SIGKILL);
  EXPECT_EQ(end_of(mpirun), 1) << output();
  ASSERT_GT(victim, 0);
  expect_what_the_journals_say();
  const json all = result("all.json");
  ASSERT_EQ(all.at("not_done").size(), 1U);  // rank 0 went on to its end
  EXPECT_EQ(all.at("not_done")[0].at("part"), 1);
  EXPECT_EQ(all.at("not_done")[0].at("why"), "lost, ended by signal 9");
  EXPECT_NE(output().find("not done: part 1 of 2"), std::string::npos);

  EXPECT_EQ(run(two(arguments)), 0) << output();
  EXPECT_TRUE(result("all.json").at("complete").get<bool>());
}

/// mpirun ends everybody with the process that it started itself, and says 128 + 9; the result is there.
TEST_F(Ranks, AKilledWatcherLeavesAResult) {
  const pid_t mpirun = start(two("2e6 --journal " + path("j.jsonl") + " --out " + path("all.json")));
  const pid_t victim = worker();
  if (victim > 0) kill(parent_of(victim), SIGKILL);
  EXPECT_EQ(end_of(mpirun), 128 + SIGKILL) << output();
  ASSERT_GT(victim, 0);
  ASSERT_TRUE(fs::exists(path("all.json"))) << output();
  const json all = result("all.json");
  EXPECT_FALSE(all.at("complete").get<bool>());
  EXPECT_GT(all.at("dots").get<std::uint64_t>(), 0U);
  bool listed = false;
  for (const json& one : all.at("not_done")) listed = listed || one.at("part") == 1;
  EXPECT_TRUE(listed);
}

}  // namespace
}  // namespace mmaudit::cli
