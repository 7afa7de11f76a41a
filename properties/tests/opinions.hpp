#pragma once
// A second opinion on the exact sum and its rounding, by integers of any width.
#include "mmaudit/oracles/exact.hpp"

namespace mmaudit::oracle {

/// What: the a . b + c of exact_dot() as one integer in units of the last bit that any addend has, rounded to
/// nearest even in the floating `format`. Errors: none.
std::uint64_t rounded_by_integers(const Instruction& instruction, const DotCase& dot, Format format);

/// What: `exact` rounded to nearest even by MPFR itself (mpfr_sum, mpfr_subnormalize), an oracle that shares
/// nothing with the others but the tables of formats. MPFR is told precision and exponent range of the
/// floating `format`. Range: as correctly_rounded(), whose bits it has to give. Errors: none.
std::uint64_t rounded_by_mpfr(const ExactDot& exact, Format format);

/// The same dot product rounded by every oracle.
struct Opinions {
  std::uint64_t exact = 0;     ///< correctly_rounded()
  std::uint64_t mpfr = 0;      ///< rounded_by_mpfr()
  std::uint64_t integers = 0;  ///< rounded_by_integers()
  [[nodiscard]] bool agree() const { return exact == mpfr && mpfr == integers; }
};
Opinions opinions_of(const Instruction& instruction, const DotCase& dot);

}  // namespace mmaudit::oracle
