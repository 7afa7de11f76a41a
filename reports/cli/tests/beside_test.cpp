// Commands of other programs: mmaudit-bench, and any mmaudit-NAME on PATH, as the built program runs them.
#include "beside.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

namespace fs = std::filesystem;

class Beside : public Folder {
 protected:
  /// Runs the words of a shell with the test's folder first on PATH; standard error is in `out` too.
  [[nodiscard]] Outcome shell(const std::string& words) const {
    const std::string call = "(PATH=" + path("") + ":/usr/bin:/bin; " + words + ") 2>&1";
    std::FILE* pipe = ::popen(call.c_str(), "r");
    Outcome outcome;
    std::array<char, 4096> part{};
    for (std::size_t bytes = 1; pipe != nullptr && bytes != 0;) {
      bytes = std::fread(part.data(), 1, part.size(), pipe);
      outcome.out.append(part.data(), bytes);
    }
    outcome.code = WEXITSTATUS(::pclose(pipe));
    return outcome;
  }
  void script(const std::string& name, const std::string& text) const {
    write(name, "#!/bin/sh\n" + text + "\n");
    fs::permissions(path(name), fs::perms::owner_all);
  }
  /// A copy of the program that nothing stands beside.
  [[nodiscard]] std::string alone() const {
    fs::create_directories(path("alone"));
    fs::copy_file(MMAUDIT_PROGRAM, path("alone/mmaudit"), fs::copy_options::overwrite_existing);
    return path("alone/mmaudit");
  }
  const std::string built_ = MMAUDIT_PROGRAM;
};

TEST_F(Beside, TheSecondProgramRunsItsCommands) {
  const Outcome listed = shell(built_ + " sweep --list");
  EXPECT_EQ(listed.code, kAllGood) << listed.out;
  EXPECT_EQ(listed.out, shell(built_ + "-bench sweep --list").out);
  EXPECT_EQ(listed.out, run({"sweep", "--list"}).out);
  EXPECT_EQ(shell(built_ + " help time gemm").out, run({"time", "gemm", "--help"}).out);
  EXPECT_EQ(shell(built_ + " --color never time --wrps 1").code, kBadInput);
  EXPECT_NE(shell(built_ + " -q time --wrps 1").out.find("found --wrps, allowed: --warps"),
            std::string::npos);
  EXPECT_EQ(shell(built_ + "-bench audit").code, kBadInput);
}

TEST_F(Beside, ASymbolicLinkFindsItToo) {
  fs::create_symlink(built_, path("mmaudit"));
  EXPECT_EQ(shell("mmaudit time machines").code, kAllGood);
}

TEST_F(Beside, WithoutItOneLineSaysHowToGetIt) {
  for (const char* words : {" sweep --list", " help sweep", " time", " screen --list", " -q sweep"}) {
    const Outcome outcome = shell(alone() + words);
    EXPECT_EQ(outcome.code, kEnvironment) << words;
    EXPECT_EQ(lines(outcome.out), 1U) << outcome.out;
    EXPECT_NE(outcome.out.find("./run install"), std::string::npos) << outcome.out;
  }
  EXPECT_NE(shell(alone() + " --help").out.find("\n  sweep "), std::string::npos);
  EXPECT_NE(shell(alone() + " doctor").out.find("not installed: no sweep, time, screen"), std::string::npos);
  EXPECT_EQ(shell(alone() + " completions bash").code, kAllGood);
  script("mmaudit-bench", "echo found on PATH: $*");
  EXPECT_EQ(shell(alone() + " -q sweep x").out, "found on PATH: -q sweep x\n");
  EXPECT_NE(shell(alone() + " doctor --json").out.find("another version: found on PATH"), std::string::npos);
}

TEST_F(Beside, AnyProgramOnPathIsACommand) {
  script("mmaudit-hello", "echo \"[$*]\"; exit 7");
  script("mmaudit-audit", "echo wrong");
  script("mmaudit-run", "echo wrong");
  write("mmaudit-plain", "no program");
  const Outcome ran = shell(built_ + " hello 'a b' --c");
  EXPECT_EQ(ran.code, 7);
  EXPECT_EQ(ran.out, "[a b --c]\n");
  const std::string help = shell(built_ + " --help").out;
  const std::string foreign = help.substr(help.find(std::string(kForeign) + ":"));
  EXPECT_NE(foreign.find("\n  hello "), std::string::npos) << help;
  for (const char* name : {"\n  audit ", "\n  run ", "\n  plain ", "\n  bench "})
    EXPECT_EQ(foreign.find(name), std::string::npos) << foreign;
  EXPECT_NE(shell(built_ + " helo").out.find("did you mean hello?"), std::string::npos);
  EXPECT_NE(shell(built_ + " audit --help").out.find("Usage:"), std::string::npos);
  EXPECT_EQ(shell(built_ + " man").out.find("hello"), std::string::npos);
  EXPECT_EQ(shell(built_ + " plain").code, kBadInput);
  EXPECT_EQ(shell("cd " + path("") + "; PATH=.:/bin:/usr/bin; " + built_ + " hello").code, kBadInput);
}

TEST_F(Beside, PagesAndCompletionsKnowTheOptionsOfBoth) {
  EXPECT_EQ(shell(built_ + " completions bash").out, run({"completions", "bash"}).out);
  ASSERT_EQ(shell(built_ + " man --out " + path("built")).code, kAllGood);
  ASSERT_EQ(run({"man", "--out", path("own")}).code, kAllGood);
  for (const fs::directory_entry& one : fs::directory_iterator(path("own")))
    EXPECT_EQ(read(path("built/" + one.path().filename().string())), read(one.path().string())) << one.path();
}

}  // namespace
}  // namespace mmaudit::cli::test
