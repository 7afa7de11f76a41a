// Completions as a person gets them: bash and zsh on a terminal of their own, with the tab key; fish by its
// own `complete -C`. A machine without one of the shells skips its tests.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

bool is_there(const std::string& shell) {
  return std::system((shell + " -c true >/dev/null 2>&1").c_str()) == 0;
}

/// A shell on a terminal. Control-G prints the line as it stands between << and >>, and empties it.
class Typist {
 public:
  Typist(const std::vector<std::string>& shell, const std::string& folder, const std::string& setup) {
    child_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      std::vector<char*> argv;
      argv.reserve(shell.size() + 1);
      for (const std::string& word : shell) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      setenv("TERM", "vt100", 1);
      if (chdir(folder.c_str()) == 0) execvp(argv[0], argv.data());
      _exit(127);
    }
    write_text("source " + setup + "\n");
    EXPECT_NE(read_until("READY").find("READY"), std::string::npos) << shell[0];
  }
  Typist(const Typist&) = delete;
  Typist& operator=(const Typist&) = delete;
  ~Typist() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(terminal_);
  }

  /// What the line is after the keys.
  std::string line_after(const std::string& keys) {
    write_text(keys + "\a");
    const std::string seen = read_until(">>");
    const std::size_t begin = seen.rfind("<<"), end = seen.rfind(">>");
    if (begin == std::string::npos || end == std::string::npos || end < begin)
      return "nothing; seen: " + seen;
    return seen.substr(begin + 2, end - begin - 2);
  }

 private:
  void write_text(const std::string& text) {
    EXPECT_EQ(::write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string read_until(const std::string& mark) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string seen;
    std::array<char, 4096> buffer{};
    while (seen.find(mark) == std::string::npos && std::chrono::steady_clock::now() < end) {
      fd_set wanted;
      FD_ZERO(&wanted);
      FD_SET(terminal_, &wanted);
      timeval second{1, 0};
      if (select(terminal_ + 1, &wanted, nullptr, nullptr, &second) <= 0) continue;
      const ssize_t got = ::read(terminal_, buffer.data(), buffer.size());
      if (got <= 0) break;
      seen.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return seen;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
};

class Completion : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    std::filesystem::create_directories(path("work/a folder"));
    std::ofstream(path("work/my file.npy")) << "x";
  }
  /// Every shell completes these in the same way; what a shell adds at the end (a blank, a comma) is its own.
  static const std::vector<std::pair<std::string, std::string>>& cases() {
    static const std::vector<std::pair<std::string, std::string>> all = {
        {"mmaudit basel", "mmaudit baseline"},
        {"mmaudit sweep gem", "mmaudit sweep gemm"},
        {"mmaudit audit --b-tr", "mmaudit audit --b-transposed"},
        {"mmaudit audit --dtype bf", "mmaudit audit --dtype bf16"},
        {"mmaudit audit --dtype e4m3,b", "mmaudit audit --dtype e4m3,bf16"},
        {"mmaudit audit --dtype e4m3,bf16,nv", "mmaudit audit --dtype e4m3,bf16,nvf4"},
        {"mmaudit audit --arch hopper,am", "mmaudit audit --arch hopper,ampere"},
        {"mmaudit audit --policy plain,pro", "mmaudit audit --policy plain,promote:128"},
        {"mmaudit audit --dtype-a nv", "mmaudit audit --dtype-a nvf4"},
        {"mmaudit -q --color nev", "mmaudit -q --color never"},
        {"mmaudit baseline record --arch hop", "mmaudit baseline record --arch hopper"},
        {"mmaudit explain --inst wgmma.m64nNk16.f16", "mmaudit explain --inst wgmma.m64nNk16.f16.f16.f16"},
        // The value of an option is no command.
        {"mmaudit sweep --out gemm --resu", "mmaudit sweep --out gemm --resume"},
        {"mmaudit audit --a m", R"(mmaudit audit --a my\ file.npy)"},
        {"mmaudit audit --out a", R"(mmaudit audit --out a\ folder/)"},
    };
    return all;
  }
  /// Lines that the shell made other than it should.
  std::string wrong(Typist& shell) {
    std::ostringstream out;
    for (const auto& [typed, wanted] : cases()) {
      std::string line = shell.line_after(typed + "\t");
      while (!line.empty() && (line.back() == ' ' || line.back() == ',')) line.pop_back();
      if (line != wanted) out << typed << " -> " << line << ", not " << wanted << '\n';
    }
    return out.str();
  }
};

TEST_F(Completion, Bash) {
  if (!is_there("bash")) GTEST_SKIP() << "no bash";
  std::ofstream(path("setup")) << run({"completions", "bash"}).out
                               << "PS1='> '\nbind -x '\"\\C-g\": echo \"<<$READLINE_LINE>>\"; READLINE_LINE= "
                                  "READLINE_POINT=0'\necho READY\n";
  Typist bash({"bash", "--norc", "--noprofile", "-i"}, path("work"), path("setup"));
  EXPECT_EQ(wrong(bash), "");
  EXPECT_EQ(bash.line_after("mmaudit audit --dtype=e4m3,b\t"), "mmaudit audit --dtype=e4m3,bf16 ");
  EXPECT_EQ(bash.line_after("mmaudit audit --a \"my\t"), "mmaudit audit --a \"my file.npy\" ");
}

TEST_F(Completion, Zsh) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  std::filesystem::create_directories(path("functions"));
  std::ofstream(path("functions/_mmaudit")) << run({"completions", "zsh"}).out;
  std::ofstream(path("setup")) << "PS1='> '; fpath=(" << path("functions") << " $fpath)\n"
                               << "autoload -Uz compinit; compinit -u -D\n"
                               << "show() { print -r -- \"<<$BUFFER>>\"; BUFFER= }; zle -N show\n"
                               << "bindkey -e; bindkey '^G' show; echo READY\n";
  Typist zsh({"zsh", "-f", "-i"}, path("work"), path("setup"));
  EXPECT_EQ(wrong(zsh), "");
  EXPECT_EQ(zsh.line_after("mmaudit audit --a 'my\t"), "mmaudit audit --a 'my file.npy' ");
}

TEST_F(Completion, Fish) {
  if (!is_there("fish")) GTEST_SKIP() << "no fish";
  std::ofstream(path("setup")) << run({"completions", "fish"}).out;
  setenv("HOME", path("work").c_str(), 1);
  std::ostringstream problems;
  for (const auto& [typed, wanted] : cases()) {
    const std::string command = "cd '" + path("work") + "' && fish --no-config -c \"source '" +
                                path("setup") + "'; complete -C '" + typed + "'\" 2>&1";
    std::array<char, 4096> buffer{};
    std::string found;
    FILE* pipe = popen(command.c_str(), "r");
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) found += buffer.data();
    EXPECT_EQ(pclose(pipe), 0) << found;
    std::string word = found.substr(0, found.find_first_of("\t\n")), last;
    for (const char c : word) last += c == ' ' ? std::string("\\ ") : std::string(1, c);
    const std::string line = typed.substr(0, typed.rfind(' ') + 1) + last;
    if (line != wanted || lines(found) != 1)
      problems << typed << " -> " << found << ", not " << wanted << '\n';
  }
  EXPECT_EQ(problems.str(), "");
}

}  // namespace
}  // namespace mmaudit::cli::test
