#include "interruptible.hpp"

#include <csignal>

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

}  // namespace mmaudit::cli
