#pragma once
// A library's product of operands whose D is known in any order, made and judged on the GPU.
#include <memory>

#include "mmaudit/device/library.hpp"
#include "mmaudit/exact_product.hpp"

namespace mmaudit::device {

struct ExactAnswer {
  exact::Verdict verdict;
  exact::Run run;  ///< with_d
  LibraryCall call;
  double product_seconds = 0;  ///< of the product alone
  double seconds = 0;          ///< the mean of `timed` more; 0: not timed
};

struct ExactAsk {
  bool with_d = false;
  int timed = 0;  ///< so many runs more
  LaunchKind launch = LaunchKind::plain;
};

/// Keeps what it made for a problem: the same words by another of its algorithms make nothing anew. Not for
/// several threads.
class ExactSession {
 public:
  /// EnvironmentError where the library is absent or fails.
  explicit ExactSession(const DeviceInfo& device);
  ~ExactSession();
  ExactSession(const ExactSession&) = delete;
  ExactSession& operator=(const ExactSession&) = delete;

  /// What: the product of `problem` with these words; what lies between and round the elements of A and B is
  /// NaN where the words say so (of s8 -1), and must stay as it was round D. `product`: the problem's
  /// numbers. Errors: as LibrarySession::run().
  ExactAnswer run(const GemmProblem& problem, const exact::Product& product, const exact::Words& words,
                  const ExactAsk& ask = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mmaudit::device
