#include "mmaudit/corpus/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

namespace fs = std::filesystem;
using test::expect_refused;
using test::get;
using test::put;
using test::ScratchFolder;
using Names = std::vector<std::string>;

TEST(AtomicFile, CreatesAndReplaces) {
  const ScratchFolder folder;
  write_file_atomically(folder / "x", "first");
  EXPECT_EQ(get(folder / "x"), "first");
  write_file_atomically(folder / "x", "");
  EXPECT_EQ(get(folder / "x"), "");
  EXPECT_EQ(folder.names(), Names{"x"});
}

TEST(AtomicFile, TakesTheLongestNameAFileSystemAllows) {
  const ScratchFolder folder;
  const std::string name(255, 'n');
  write_file_atomically(folder / name, "x");
  EXPECT_EQ(folder.names(), Names{name});
  expect_refused([&] { write_file_atomically(folder / (name + "n"), "x"); },
                 "cannot write: File name too long");
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const ScratchFolder folder;
  put(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("new");
  }
  EXPECT_EQ(get(folder / "x"), "old");
  EXPECT_EQ(folder.names(), Names{"x"});
}

TEST(AtomicFile, RefusesToGoOnAfterCommit) {
  const ScratchFolder folder;
  AtomicFile file(folder / "x");
  file.commit();
  expect_refused([&] { file.write("more"); }, "already closed");
  expect_refused([&] { file.commit(); }, "already closed");
}

TEST(AtomicFile, KeepsPermissionsAndLinks) {
  const ScratchFolder folder;
  put(folder / "real", "old");
  ASSERT_EQ(::chmod((folder / "real").c_str(), 0600), 0);
  fs::create_symlink("real", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(get(folder / "real"), "new");
  EXPECT_EQ(fs::status(folder / "real").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, KeepsALinkToNothing) {
  const ScratchFolder folder;
  fs::create_symlink("nowhere", folder / "link");
  expect_refused([&] { write_file_atomically(folder / "link", "x"); }, "it is a symbolic link to nothing");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(AtomicFile, WritesAllOrNothing) {
  const ScratchFolder folder;
  put(folder / "a", "old");
  const std::vector<TextFile> bad = {{folder / "a", "new"}, {folder / "none/b", "new"}};
  expect_refused([&] { write_files_atomically(bad); }, "does not exist");
  EXPECT_EQ(get(folder / "a"), "old");
  EXPECT_EQ(folder.names(), Names{"a"});
  const std::vector<TextFile> good = {{folder / "a", "1"}, {folder / "b", "2"}};
  write_files_atomically(good);
  EXPECT_EQ(get(folder / "a") + get(folder / "b"), "12");
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  put(folder / "file", "");
  const auto write = [](const fs::path& path) { return [path] { write_file_atomically(path, "x"); }; };
  expect_refused(write(folder.path()), "cannot write: it is a folder");
  expect_refused(write(folder.path() / ""), "cannot write: it is a folder");
  expect_refused(write(folder / "none/x"), "/none' does not exist");
  expect_refused(write(folder / "none/"), "/none' does not exist");
  expect_refused(write(folder / "file/x"), "is not a folder");
  expect_refused(write(""), "cannot write: the path is empty");
  expect_refused(write("/dev/null"), "cannot write: it is not a regular file");
  EXPECT_EQ(folder.names(), Names{"file"});
}

TEST(AtomicFile, ReportsAFolderThatIsNotWritable) {
  const ScratchFolder folder;
  fs::create_directory(folder / "locked");
  put(folder / "locked/old", "old");
  ASSERT_EQ(::chmod((folder / "locked/old").c_str(), 0444), 0);
  ASSERT_EQ(::chmod((folder / "locked").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  constexpr uid_t kNobody = 65534;
  const uid_t self = ::geteuid();
  // Root may write everywhere.
  if (self == 0 && ::seteuid(kNobody) != 0) GTEST_SKIP() << "cannot stop being root";
  expect_refused([&] { write_file_atomically(folder / "locked/new", "x"); },
                 "is not writable: Permission denied");
  expect_refused([&] { write_file_atomically(folder / "locked/old", "x"); },
                 "cannot write: Permission denied");
  ASSERT_EQ(::seteuid(self), 0);
  ASSERT_EQ(::chmod((folder / "locked").c_str(), 0755), 0);
}

TEST(AtomicFile, LeavesNothingWhenTheDiskEnds) {
  const ScratchFolder folder;
  put(folder / "x", "old");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    write_file_atomically(folder / "x", std::string(1 << 20, 'x'));
  } catch (const EnvironmentError& error) {  // a limit of this machine, not of what the user gave
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  EXPECT_NE(message.find("x: cannot write: File too large"), std::string::npos) << message;
  EXPECT_EQ(get(folder / "x"), "old");
  EXPECT_EQ(folder.names(), Names{"x"});
}

TEST(AtomicFile, KeepsAMessageOnOneLine) {
  expect_refused([] { write_file_atomically("/none/a\nb", "x"); }, "/none/a\\x0ab: cannot write");
}

}  // namespace
}  // namespace mmaudit::corpus
