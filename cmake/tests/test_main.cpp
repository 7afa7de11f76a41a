// The main() of every test executable. Exit code: 0 all good, 1 something failed or nothing ran, 77
// everything was skipped.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

constexpr int kSkipped = 77;

// ./run counts cases, not executables: MMAUDIT_TEST_TALLY names a file, and each executable adds one line to
// it.
void write_tally(const char* program, const testing::UnitTest& tests) {
  const char* path = std::getenv("MMAUDIT_TEST_TALLY");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  if (file == nullptr) return;
  const std::string name = std::filesystem::path(program).filename().string();
  std::fprintf(file, "%s %d %d %d\n", name.c_str(), tests.successful_test_count(), tests.failed_test_count(),
               tests.skipped_test_count());
  std::fclose(file);
}

/// RapidCheck reads RC_PARAMS and prints it. The caller's choice wins; CI has a fixed seed, other runs a
/// fresh one.
void choose_seed() {
  const char* chosen = std::getenv("CI") != nullptr ? "seed=20251121 max_success=2000" : "max_success=2000";
  ::setenv("RC_PARAMS", chosen, 0);
}

}  // namespace

int main(int argc, char** argv) {
  choose_seed();
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (GTEST_FLAG_GET(list_tests)) return failed;

  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  write_tally(argv[0], tests);
  if (failed != 0) return failed;
  if (tests.test_to_run_count() == 0) {
    std::fputs("no test ran: an empty run is a failure\n", stderr);
    return 1;
  }
  return tests.skipped_test_count() == tests.test_to_run_count() ? kSkipped : 0;
}
