// Signals, and limits of file size, memory and disk, as the program meets them: exit code, one line, no file
// left behind.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class Limits : public Folder {
 protected:
  /// Starts the program in the folder; `prepare` runs in the child.
  pid_t start(
      const std::vector<std::string>& arguments, const std::function<void()>& prepare = [] {}) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    std::vector<char*> argv = {const_cast<char*>("mmaudit")};
    for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    const auto open_as = [](int fd, const std::string& file) {
      const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(opened, fd);
    };
    open_as(STDOUT_FILENO, path("stdout"));
    open_as(STDERR_FILENO, path("stderr"));
    if (::chdir(path("").c_str()) != 0) ::_exit(99);
    prepare();
    ::execv(MMAUDIT_PROGRAM, argv.data());
    ::_exit(98);
  }
  /// As a shell reports it.
  static int exit_code(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  int run_limited(int resource, rlim_t limit, const std::vector<std::string>& arguments) {
    return exit_code(start(arguments, [&] {
      const rlimit limits{limit, limit};
      ::setrlimit(static_cast<__rlimit_resource>(resource), &limits);
    }));
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path("")))
      out.insert(entry.path().filename().string());
    out.erase("stdout");
    out.erase("stderr");
    return out;
  }
  void expect_one_line(const char* part) const {
    EXPECT_EQ(lines(text("stderr")), 1U) << text("stderr");
    EXPECT_NE(text("stderr").find(part), std::string::npos) << text("stderr");
  }
  void save(const std::string& name, std::uint64_t rows, std::uint64_t columns) const {
    std::vector<float> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(1 + i % 7);
    corpus::save_tensor(path(name),
                        corpus::make_tensor<float>("x", corpus::DType::f32, {rows, columns}, values));
  }
};

/// Waits until `ready`, at most a minute.
void wait_for(const std::function<bool()>& ready) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 6000 && !ready(); ++i) std::this_thread::sleep_for(10ms);
}

TEST_F(Limits, ASignalEndsACampaignWithItsJournal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = start({"-q", "verify", "campaign", "--on", "model", "--dots", "1e11", "--seed", "1",
                               "--inst", "m8n8k4.f64", "--journal", "j", "--out", "x.json"});
    wait_for([&] { return lines(text("j")) > 3; });
    ::kill(child, signal);
    EXPECT_EQ(exit_code(child), 130) << text("stderr");
    EXPECT_NE(text("stdout").find("NOT COMPLETE"), std::string::npos) << text("stdout");
    EXPECT_EQ(names(), (std::set<std::string>{"j", "x.json"}));
    EXPECT_NE(run({"verify", "campaign", "--show", path("x.json")}).out.find("NOT COMPLETE"),
              std::string::npos);
    std::filesystem::remove(path("j"));
    std::filesystem::remove(path("x.json"));
  }
}

TEST_F(Limits, ASignalEndsAnAuditWithoutAFile) {
  // Minutes of work for one thread: the signal comes while it runs, however fast the machine is.
  save("a.npy", 4096, 4096);
  save("b.npy", 4096, 4096);
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child =
        start({"audit", "--a", "a.npy", "--b", "b.npy", "--no-b-transposed", "--sample", "all", "--threads",
               "1", "--html", "x.html", "--json", "x.json", "--md", "x.md"});
    wait_for([&] { return !text("stderr").empty(); });  // its progress: the outputs were tried
    EXPECT_NE(text("stderr").find("will write"), std::string::npos) << text("stderr");
    ::kill(child, signal);
    EXPECT_EQ(exit_code(child), 128 + signal) << text("stdout");
    EXPECT_EQ(names(), (std::set<std::string>{"a.npy", "b.npy"}));
  }
}

TEST_F(Limits, ASweepWithoutAGpuLeavesNothing) {
  EXPECT_EQ(exit_code(start({"sweep", "--out", "sweep"}, [] { ::setenv("CUDA_VISIBLE_DEVICES", "", 1); })),
            kEnvironment);
  expect_one_line("GPU");
  EXPECT_EQ(names(), std::set<std::string>{});
}

TEST_F(Limits, AFileThatMayNotGrowIsAnErrorOfTheSurroundings) {
  save("a.npy", 16, 64);
  save("b.npy", 64, 8);
  const std::vector<std::string> audit = {"-q", "audit", "--a", "a.npy", "--b", "b.npy"};
  for (const char* format : {"--html", "--json", "--md", "--csv"}) {
    std::vector<std::string> arguments = audit;
    arguments.insert(arguments.end(), {format, "x"});
    EXPECT_EQ(run_limited(RLIMIT_FSIZE, 512, arguments), kEnvironment) << format;
    expect_one_line("cannot write");
    EXPECT_EQ(names(), (std::set<std::string>{"a.npy", "b.npy"})) << format;
  }
  const std::vector<std::string> campaign = {"-q",         "verify",    "campaign", "--on", "model",
                                             "--dots",     "1e6",       "--seed",   "1",    "--inst",
                                             "m8n8k4.f64", "--journal", "j"};
  EXPECT_EQ(run_limited(RLIMIT_FSIZE, 1024, campaign), kEnvironment);
  expect_one_line("cannot write");
  // What the limit cut off is a torn line: the same command goes on from there.
  EXPECT_EQ(exit_code(start(campaign)), kAllGood) << text("stderr");
  EXPECT_EQ(run_limited(RLIMIT_FSIZE, 4096,
                        {"-q", "baseline", "record", "--on", "model", "--inst", "m8n8k4", "--out", "base"}),
            kEnvironment);
  expect_one_line("cannot write");
  EXPECT_EQ(names(), (std::set<std::string>{"a.npy", "b.npy", "j"}));
}

TEST_F(Limits, AFullDiskUnderStandardOutput) {
  save("a.npy", 16, 64);
  save("b.npy", 64, 8);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"-q", "audit", "--a", "a.npy", "--b", "b.npy"},
           {"-q", "verify", "campaign", "--on", "model", "--dots", "1e4", "--seed", "1", "--inst",
            "m8n8k4.f64"},
           {"-q", "audit", "--a", "a.npy", "--b", "b.npy", "--json", "-"}}) {
    EXPECT_EQ(exit_code(start(arguments, [] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); })),
              kEnvironment);
    expect_one_line("standard output: cannot write: No space left on device");
  }
  EXPECT_EQ(names(), (std::set<std::string>{"a.npy", "b.npy"}));
}

TEST_F(Limits, AReaderThatStopsEarlyLosesNoFile) {
  save("a.npy", 16, 64);
  save("b.npy", 64, 8);
  const pid_t child = start({"-q", "audit", "--a", "a.npy", "--b", "b.npy", "--html", "x.html"}, [] {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) ::_exit(97);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
  });
  EXPECT_NE(exit_code(child), kAllGood);  // by SIGPIPE, or with a line about it where that is ignored
  EXPECT_EQ(names(), (std::set<std::string>{"a.npy", "b.npy", "x.html"}));
}

TEST_F(Limits, MemoryThatRunsOutIsSaidSo) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer reserves terabytes";
#endif
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"list", "--json"},
                                             {"-q", "baseline", "record", "--on", "model", "--out", "-"},
                                             {"-q", "verify", "laws", "--dots", "1e4", "--inst", "m8n8k4"}}) {
    int refused = 0;
    for (rlim_t mebibytes = 4; mebibytes <= 128; ++mebibytes) {
      const int code = run_limited(RLIMIT_AS, mebibytes << 20, arguments);
      if (code == kAllGood) break;
      // Below the program's own size the kernel ends it before its first instruction, then the loader gives
      // up, then the C++ runtime aborts over tables that are made before main() can say anything.
      if (refused == 0 &&
          (code == 127 || code == 128 + SIGKILL || code == 128 + SIGSEGV || code == 128 + SIGABRT))
        continue;
      EXPECT_EQ(code, kEnvironment) << arguments[0] << ' ' << mebibytes << ": " << code;
      EXPECT_EQ(lines(text("stderr")), 1U) << text("stderr");
      refused += code == kEnvironment ? 1 : 0;
    }
    EXPECT_GT(refused, 0) << arguments[0];
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
