#pragma once
// A process of this program that does one part of a campaign, as another process sees it: by its journal and
// its end. Whatever ends it, its journal is what it did.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mmaudit::cli {

class WatchedProcess {
 public:
  /// This program again, with the arguments that it was called with, and `more`. EnvironmentError when it
  /// can't be started.
  explicit WatchedProcess(const std::vector<std::string>& more);
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;
  ~WatchedProcess();  ///< kills it where it runs

  /// True once it has ended.
  [[nodiscard]] bool ended();
  /// "ended by signal 9"; how, once it has ended.
  [[nodiscard]] std::string how() const;
  /// The exit code, -1 for a signal.
  [[nodiscard]] int code() const;
  void stop();  ///< it ends after the stretch it is at
  void kill();  ///< and waits for its end

 private:
  pid_t process_ = 0;
  bool ended_ = false;
  int status_ = 0;
};

/// In the process itself: it ends with `watcher`, which started it.
void end_with(int watcher);

/// Whole lines that a growing file has gained.
class GrowingFile {
 public:
  explicit GrowingFile(std::filesystem::path file) : file_(std::move(file)) {}
  /// Up to about a MiB of them; empty when there is none.
  std::string read();

 private:
  std::filesystem::path file_;
  std::uint64_t read_ = 0;
};

}  // namespace mmaudit::cli
