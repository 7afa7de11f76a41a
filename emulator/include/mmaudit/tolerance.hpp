#pragma once
// What a test may demand of a matrix product: per element the exact value, and the most that the arithmetic
// of the datapath can be off.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/matmul.hpp"

namespace mmaudit {

/// (batch, m, n) each. An element whose exact value is a NaN or infinite has a NaN as its bound.
struct GemmTolerance {
  std::vector<double> exact;  ///< A B + C of the numbers that the bits spell, within 2^-50 of the magnitudes
  std::vector<double> bound;  ///< most that |D - exact| can be
};

/// Why there is no bound for such a product, as "field: found X, allowed: Y"; empty when there is one.
/// Besides what why_no_matmul() refuses: what error_bound.hpp's why_no_error_bound() refuses, and an
/// epilogue.
std::string why_no_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

/// What: exact values and bounds of `problem`, whose D is not read. Shapes and bits as Matmul. Every element
/// whose |a||b| sums and c stay below the format's largest number / 2 is covered; beyond that D may overflow
/// and the bound is infinite. Errors: none while why_no_tolerance() is empty.
GemmTolerance gemm_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

/// How a D compares with its tolerance.
struct GemmCheck {
  bool within = true;          ///< no element is off by more than its bound, and no NaN is unexpected
  bool vacuous = false;        ///< a D of zeros would pass too: the check says nothing
  std::uint64_t elements = 0;  ///< number checked
  std::uint64_t beyond = 0;    ///< number off by more than their bound
  std::uint64_t worst_row = 0, worst_column = 0, worst_matrix = 0;  ///< the largest |D - exact| / bound
  double worst_exact = 0, worst_found = 0, worst_bound = 0;
  /// One line: the verdict and the worst element.
  [[nodiscard]] std::string explanation() const;
};

/// `problem.d`, which is read, against gemm_tolerance().
GemmCheck check_gemm(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

}  // namespace mmaudit
