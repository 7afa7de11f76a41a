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
  /// Mean and standard deviation of D - exact when every part that is cut off is uniformly distributed.
  std::vector<double> drift, deviation;
  std::vector<double> spacing;  ///< of the values that D can take: the last step's or the total's last place
};

/// Why there is no bound for such a product, as "field: found X, allowed: Y"; empty when there is one.
/// Besides what why_no_matmul() refuses: what error_bound.hpp's why_no_error_bound() refuses, an epilogue,
/// and sparse instructions whose datapath does not read the metadata as PTX says.
std::string why_no_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

/// What: exact values and bounds of `problem`, whose D is not read. Shapes and bits as Matmul. Every element
/// whose |a||b| sums and c stay below the format's largest number / 2 is covered; beyond that D may overflow
/// and the bound is infinite. `threads` 0: one per core. Errors: none while why_no_tolerance() is empty.
GemmTolerance gemm_tolerance(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                             unsigned threads = 1);

/// How a D compares with its tolerance.
struct GemmCheck {
  bool within = true;          ///< no element is off by more than its bound, and no NaN is unexpected
  bool vacuous = false;        ///< a D of zeros would pass too and this one has not the bits of matmul()
  std::uint64_t elements = 0;  ///< number checked
  std::uint64_t beyond = 0;    ///< number off by more than their bound
  std::uint64_t worst_row = 0, worst_column = 0, worst_matrix = 0;  ///< the largest |D - exact| / bound
  double worst_exact = 0, worst_found = 0, worst_bound = 0;
  /// One line: the verdict and the worst element.
  [[nodiscard]] std::string explanation() const;
};

/// `problem.d`, which is read, against gemm_tolerance().
GemmCheck check_gemm(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

struct ClosenessOptions {
  /// Chance that a D of the same arithmetic, whose cut-off parts are independent and uniform, does not pass.
  double false_alarm = 1e-6;
  unsigned threads = 1;  ///< 0: one per core
};

/// How a D compares with matmul()'s, by chance. A kernel that adds in another order inside a chain has other
/// errors than the model, but as large ones.
struct GemmCloseness {
  std::uint64_t elements = 0;   ///< number compared
  std::uint64_t bit_exact = 0;  ///< number with the bits of matmul(); any NaN equals any NaN
  std::uint64_t beyond = 0;     ///< number further from matmul()'s than chance allows, or beyond the bound
  /// So many elements are bit-exact that D follows the model's order; then the others are wrong.
  bool follows = false;
  /// Mean of (D - model) / deviation, away from zero; the most that chance allows.
  double drift = 0, drift_limit = 0;
  /// Mean size of D's errors over that of the model's, in deviations; chance allows 1 / spread_limit to
  /// spread_limit. 1 and infinity where fewer than 100 elements differ from one another: nothing was
  /// compared.
  double spread = 1, spread_limit = 0;
  std::uint64_t worst_row = 0, worst_column = 0, worst_matrix = 0;  ///< the largest share of its limit
  double worst_exact = 0, worst_found = 0, worst_model = 0, worst_limit = 0;

  /// True for every D that is bit-exact; false where nothing was compared.
  [[nodiscard]] bool close() const;
  /// One line: the verdict, its reasons and the worst element.
  [[nodiscard]] std::string explanation() const;
};

/// `problem.d`, which is read, against matmul() and the deviations of gemm_tolerance(). Errors: as matmul().
GemmCloseness check_gemm_close(const Instruction& instruction, const Datapath& datapath,
                               const Matmul& problem, const ClosenessOptions& options = {});

}  // namespace mmaudit
