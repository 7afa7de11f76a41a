#pragma once
// A GPU that hangs must not keep a screen waiting: what the thread of a GPU waits for, and for how long it
// may.
#include <algorithm>
#include <functional>
#include <mutex>
#include <string>

namespace mmaudit::screen {

/// What: seconds after which a step that should take `expected` seconds counts as hung.
constexpr double patience(double expected) { return std::max(30.0, 100 * expected); }

/// The time that a screen goes by.
struct Watch {
  std::function<double()> now;  ///< seconds
  std::function<void()> pause;  ///< between two looks at the GPUs
};
/// The clock of the host; 20 ms.
Watch host_watch();

/// The steps of one GPU's thread. Each call into the driver belongs to one; what others read of the GPU's
/// result is written between two of them.
class Steps {
 public:
  explicit Steps(std::function<double()> now) : now_(std::move(now)) {}

  /// The GPU's thread: begins a step after the one before it. `what`: "a launch of 500 ms".
  void begin(std::string what, double expected);
  /// The GPU's thread: the step has ended. begin() and end() never return once overdue() has given the GPU
  /// up.
  void end();
  /// What: "does not answer: a launch of 500 ms has not ended after 50 s" once the step has taken longer than
  /// its patience(), which gives the GPU up; else empty. Called again and again. Range: of the time between
  /// two calls at most a second counts, so that a program which was stopped meanwhile does not blame the GPU.
  std::string overdue();

 private:
  void stay_if_given_up(std::unique_lock<std::mutex>& lock);

  std::function<double()> now_;
  std::mutex mutex_;
  std::string what_;  ///< empty: between steps
  double expected_ = 0, looked_ = 0, waited_ = 0;
  bool given_up_ = false;
};

}  // namespace mmaudit::screen
