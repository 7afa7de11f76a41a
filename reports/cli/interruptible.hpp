#pragma once
// How long a command works: until its time is over, or until Ctrl-C or the SIGTERM of batch systems. Both are
// questions that long work asks between two pieces.
#include <chrono>
#include <string>

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

/// The time that an option grants, from now on.
class Budget {
 public:
  /// `text`: "60s", "10m", "2h". Errors: InputError that names the option.
  Budget(const std::string& option, const std::string& text);

  /// Since the work began.
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] bool over() const { return elapsed() >= seconds_; }
  /// The work begins now; `spent` seconds of it an earlier call had.
  void begin(double spent = 0) {
    start_ =
        std::chrono::steady_clock::now() -
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(spent));
  }

 private:
  double seconds_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace mmaudit::cli
