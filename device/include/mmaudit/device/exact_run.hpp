#pragma once
// A library's product of operands whose D is known in any order, made and judged on the GPU.
#include "mmaudit/device/library.hpp"
#include "mmaudit/exact_product.hpp"

namespace mmaudit::device {

struct ExactAnswer {
  exact::Verdict verdict;
  exact::Run run;  ///< with_d
  LibraryCall call;
  double seconds = 0;  ///< where it was timed
};

/// What: the product of `problem` with these words; what lies between and round the elements of A and B is
/// NaN where the words say so (of s8 -1), and must stay as it was round D. `product`: the problem's numbers.
/// `timed`: runs of which `seconds` is the mean. Errors: as LibrarySession::run().
ExactAnswer run_exact(LibrarySession& session, const GemmProblem& problem, const exact::Product& product,
                      const exact::Words& words, bool with_d, int timed = 0);

}  // namespace mmaudit::device
