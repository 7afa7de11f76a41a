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
}

Interruptible::~Interruptible() { std::signal(SIGINT, before_); }

bool Interruptible::stopped() { return asked != 0; }

}  // namespace mmaudit::cli
