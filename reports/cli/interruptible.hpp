#pragma once
// Ctrl-C, and the SIGTERM of batch systems, as a question that long work asks between two pieces.

namespace mmaudit::cli {

inline constexpr int kInterrupted = 130;  ///< exit code: 128 plus the signal's number, as shells report it

/// Ctrl-C and SIGTERM are noticed while this lives; a second Ctrl-C ends the program at once.
class Interruptible {
 public:
  Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

  [[nodiscard]] static bool stopped();

 private:
  void (*before_)(int) = nullptr;
  void (*before_term_)(int) = nullptr;
};

}  // namespace mmaudit::cli
