#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "mmaudit/printable.hpp"

namespace mmaudit::checks {

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal_) hide();
}

void Progress::hide() {
  if (std::exchange(drawn, false)) std::fputs("\r\033[K", stderr);
}

void Progress::begin(std::string what, std::uint64_t total) {
  what_ = std::move(what);
  total_ = total;
  done_ = 0;
  start_ = shown_ = std::chrono::steady_clock::now();
}

void Progress::advance(std::uint64_t steps, const std::string& label) {
  done_ += steps;
  const auto now = std::chrono::steady_clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  const bool last = total_ != 0 && done_ == total_;
  if (quiet_ || (now - shown_ < pause && !(terminal_ && last))) return;
  shown_ = now;
  draw(label, last);
}

void Progress::will_write(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (!name.empty() && name != "-") written_ += (written_.empty() ? "" : ", ") + printable(name);
}

void Progress::draw(const std::string& label, bool last) {
  if (!written_.empty()) {
    std::fputs(fmt::format("{}will write {}\n", terminal_ ? "\r\033[K" : "", written_).c_str(), stderr);
    written_.clear();
  }
  const double share = total_ == 0 ? 0 : static_cast<double>(done_) / static_cast<double>(total_);
  const double elapsed = std::chrono::duration<double>(shown_ - start_).count();
  const double left = share > 0 ? elapsed / share - elapsed : 0;
  const std::string status =
      total_ == 0 ? fmt::format("{} {:.0f} s  {}", what_, elapsed, label)  // no end is known
                  : fmt::format("{} {:3.0f}%  {:.0f} s left  {}", what_, 100 * share, left, label);
  if (!terminal_) {
    std::fputs((status + "\n").c_str(), stderr);
    return;
  }
  const auto filled = static_cast<std::size_t>(24 * std::min(share, 1.0));
  std::fputs(fmt::format("\r\033[K[{}{}] {}", std::string(filled, '#'), std::string(24 - filled, '.'), status)
                 .c_str(),
             stderr);
  drawn = true;
  if (last) std::fflush(stderr);
}

}  // namespace mmaudit::checks
