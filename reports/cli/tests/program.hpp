#pragma once
// The program as a test calls it: arguments in, exit code and both streams out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common.hpp"
#include "programs.hpp"

namespace mmaudit::cli::test {

struct Outcome {
  int code = 0;
  std::string out, err;
};

/// The commands of both programs in one, so that a test need not start the second.
inline Program every_command() {
  Program out = main_program();
  for (Purpose& purpose : out.purposes)
    for (Entry& entry : purpose.commands)
      for (const Purpose& theirs : bench_program().purposes)
        for (const Entry& one : theirs.commands)
          if (one.name == entry.name) entry = one;
  return out;
}

inline Outcome run(std::vector<std::string> arguments) {
  std::vector<const char*> argv = {"mmaudit"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_program(static_cast<int>(argv.size()), argv.data(), every_command());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

inline std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// A folder of its own for every test, gone afterwards.
class Folder : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("mmaudit_cli_" + std::to_string(getpid()) + "_" + info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// The path of the file that it writes.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace mmaudit::cli::test
