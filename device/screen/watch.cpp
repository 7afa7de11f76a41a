#include "mmaudit/screen/watch.hpp"

#include <chrono>
#include <cmath>
#include <thread>

namespace mmaudit::screen {

Watch host_watch() {
  using Clock = std::chrono::steady_clock;
  return {.now = [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); },
          .pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }};
}

void Steps::begin(std::string what, double expected) {
  std::unique_lock lock(mutex_);
  stay_if_given_up(lock);
  what_ = std::move(what);
  expected_ = expected;
  looked_ = now_();
  waited_ = 0;
}

void Steps::end() {
  std::unique_lock lock(mutex_);
  stay_if_given_up(lock);
  what_.clear();
}

std::string Steps::overdue() {
  constexpr double kLongestLook = 1;
  const std::unique_lock lock(mutex_);
  if (what_.empty()) return {};
  const double now = now_();
  waited_ += std::min(now - looked_, kLongestLook);
  looked_ = now;
  if (waited_ <= patience(expected_)) return {};
  given_up_ = true;
  return "does not answer: " + what_ + " has not ended after " +
         std::to_string(std::lround(patience(expected_))) + " s";
}

/// Others have the result by now, and what the thread would use may be gone.
void Steps::stay_if_given_up(std::unique_lock<std::mutex>& lock) {
  if (!given_up_) return;
  lock.unlock();
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace mmaudit::screen
