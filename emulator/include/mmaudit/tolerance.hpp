#pragma once
// What a test may demand of a matrix product: per element the exact value, the most that the arithmetic of
// the datapath can be off, and how far it usually is. Derivation: docs/audit.md, "In your own tests".
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/matmul.hpp"

namespace mmaudit {

/// (batch, m, n) each. An element whose exact value is a NaN or infinite has a NaN as its bound.
struct GemmTolerance {
  std::vector<double> exact;  ///< A B + C of the numbers that the bits spell, within 2^-50 of the magnitudes
  std::vector<double> bound;  ///< most that |D - exact| can be
  /// Most that another order of the products inside the instructions can move D away from matmul()'s, as the
  /// sum of a part per instruction and rounding outside of them; and the sum of the squares of these parts.
  std::vector<double> reach, reach_square;
};

/// Why there is no bound for such a product, as "field: found X, allowed: Y"; empty when there is one.
/// Besides what why_no_matmul() refuses: what error_bound.hpp's why_no_error_bound() refuses, and sparse
/// instructions whose datapath does not read the metadata as PTX says.
std::string why_no_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

/// The format of D: the epilogue's, else the instruction's.
constexpr FormatSpec output_of(const Instruction& instruction, const Matmul& problem) {
  return spec_of(problem.epilogue ? problem.epilogue->output : instruction.d);
}

/// What: exact values and bounds of `problem`, whose D is not read. Shapes and bits as Matmul. Every element
/// whose |a||b| sums and c stay below the format's largest number / 2 is covered; beyond that D may overflow
/// and the bound is infinite. `threads` 0: one per core. Errors: none while why_no_tolerance() is empty.
GemmTolerance gemm_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                             unsigned threads = 1);

/// How a D compares with its tolerance.
struct GemmCheck {
  /// An element was checked, none is off by more than its bound, and no NaN is unexpected.
  bool within = false;
  bool vacuous = false;        ///< a D of zeros would pass too and this one has not the bits of matmul()
  std::uint64_t elements = 0;  ///< number checked: whose bound is finite
  std::uint64_t beyond = 0;    ///< number off by more than their bound
  std::uint64_t worst_row = 0, worst_column = 0, worst_matrix = 0;  ///< the largest |D - exact| / bound
  double worst_exact = 0, worst_found = 0, worst_bound = 0;
  /// One line: the verdict and the worst element.
  [[nodiscard]] std::string explanation() const;
};

/// `problem.d`, which is read, against gemm_tolerance().
GemmCheck check_gemm(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

struct ClosenessOptions {
  /// Chance that a correct D does not pass whose products inside every instruction are in a random order,
  /// each instruction's as likely as any other. docs/audit.md says what of it is proven.
  double false_alarm = 1e-6;
  unsigned threads = 1;  ///< 0: one per core
};

/// How a D compares with matmul()'s. A kernel that adds the products inside the instructions in another order
/// has other errors than the model; that they are no larger than this allows is checked per element, and that
/// they are as large on average by D in orders drawn at random.
struct GemmCloseness {
  std::uint64_t elements = 0;   ///< number compared: all but where D or the model is infinite and may be
  std::uint64_t bit_exact = 0;  ///< number with the bits of matmul(); any NaN equals any NaN
  std::uint64_t beyond = 0;     ///< number further from matmul()'s than an order allows, or beyond the bound
  /// So many elements are bit-exact that D follows the model's order; then the others are wrong.
  bool follows = false;
  /// Mean of (D - model) / sqrt(reach_square), away from zero, less its mean over the drawn orders; the most
  /// that is allowed.
  double drift = 0, drift_limit = 0;
  /// Mean size of D's errors, in the same unit, over that of the drawn orders; 1 / spread_limit to
  /// spread_limit is allowed. Both limits are infinite where nothing was drawn: D is bit-exact, an element is
  /// beyond its limit, or fewer than 100 different elements depend on the order.
  double spread = 1, spread_limit = 0;
  std::uint64_t worst_row = 0, worst_column = 0, worst_matrix = 0;  ///< the largest share of its limit
  double worst_exact = 0, worst_found = 0, worst_model = 0, worst_limit = 0;

  /// True for every D that is bit-exact; false where nothing was compared.
  [[nodiscard]] bool close() const;
  /// One line: the verdict, its reasons and the worst element.
  [[nodiscard]] std::string explanation() const;
};

/// `problem.d`, which is read, against matmul(), gemm_tolerance()'s reach and 16 drawn orders. Errors: as
/// matmul().
GemmCloseness check_gemm_close(const Instruction& instruction, const Datapath& datapath,
                               const Matmul& problem, const ClosenessOptions& options = {});

}  // namespace mmaudit
