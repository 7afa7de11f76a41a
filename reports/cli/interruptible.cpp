#include "interruptible.hpp"

#include <csignal>

#include "mmaudit/error.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::cli {
namespace {

volatile std::sig_atomic_t asked = 0;

}  // namespace

Interruptible::Interruptible() {
  asked = 0;
  before_ = std::signal(SIGINT, [](int) {
    asked = 1;
    std::signal(SIGINT, SIG_DFL);
  });
  // No second one ends the program: SIGKILL is what those who send it have for that.
  before_term_ = std::signal(SIGTERM, [](int) { asked = 1; });
}

Interruptible::~Interruptible() {
  std::signal(SIGINT, before_);
  std::signal(SIGTERM, before_term_);
}

bool Interruptible::stopped() { return asked != 0; }

Budget::Budget(const std::string& option, const std::string& text) {
  const std::string_view units = "smh";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const auto number =
      whole_number<std::uint64_t>(text.substr(0, text.size() - (unit == std::string_view::npos ? 0 : 1)));
  if (!number || *number == 0) refuse("{}: found {}, allowed: a time, 60s, 10m, 2h", option, text);
  constexpr double kUnits[] = {1, 60, 3600};
  seconds_ = static_cast<double>(*number) * (unit == std::string_view::npos ? 1 : kUnits[unit]);
}

}  // namespace mmaudit::cli
