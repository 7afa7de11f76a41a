#pragma once
// How far long work has come, on standard error.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mmaudit::checks {

/// One line on a terminal that is redrawn; on anything else a line now and then; nothing when quiet.
class Progress {
 public:
  explicit Progress(bool quiet);
  Progress(bool quiet, std::string what, std::uint64_t total) : Progress(quiet) {
    begin(std::move(what), total);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Whoever knows the total says it, also for a second time.
  void begin(std::string what, std::uint64_t total);
  void advance(std::uint64_t steps, const std::string& label = {});
  /// Files and folders that the work ends in; said once, with the first line. Empty names are left out.
  void will_write(const std::vector<std::string>& names);
  /// Takes the line of whatever work is shown off the terminal, before text is printed there.
  static void hide();

 private:
  void draw(const std::string& label, bool last);

  inline static bool drawn = false;  ///< a line stands on the terminal
  std::string what_, written_;
  std::uint64_t total_ = 0, done_ = 0;
  bool quiet_, terminal_;
  std::chrono::steady_clock::time_point start_, shown_;
};

}  // namespace mmaudit::checks
