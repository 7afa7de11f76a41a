#pragma once
// How far a D may be from the exact sum, from the numbers of its datapath alone. Derivation:
// docs/properties.md, "The bound on the error".
#include <cstdint>
#include <optional>
#include <string>

#include "mmaudit/dot.hpp"

namespace mmaudit {

/// What is known of a dot product before it is computed.
struct SumFacts {
  /// At least the sum of all |a_k b_k| and |c|.
  double magnitude = 0;
  /// At least e(a) + e(b) of every product that is not zero, and the exponent of c; of a grouped datapath the
  /// exponents of the two scales in place of the product's. Anything low when all are zero.
  int largest_exponent = -10000;
};

/// Why the bounds below don't hold for a datapath; empty: they do.
std::string why_no_error_bound(const DotPlan& plan);

/// What: most that |D - exact| of one instruction can be while nothing overflows. `result_exponent` is the
/// exponent that D's field spells, where D is known: the last rounding is then known more closely.
double instruction_error_bound(const DotPlan& plan, const SumFacts& facts,
                               std::optional<int> result_exponent = std::nullopt);

/// What: most that `instructions` of them, each with the D of the one before as its C, can add to the error.
/// `facts` cover the whole chain up to there: `magnitude` bounds every running sum.
class ChainErrorBound {
 public:
  explicit ChainErrorBound(const DotPlan& plan);
  [[nodiscard]] double operator()(std::uint64_t instructions, const SumFacts& facts) const;
  /// True when no rounding makes a sum larger: then the sum of magnitudes bounds the running sum by itself.
  [[nodiscard]] bool only_shrinks() const;

 private:
  DotPlan plan_;
  int steps_ = 0, addends_ = 0;
};

/// What: most that an addition in binary32 to nearest even loses when the sum's magnitude is at most
/// `magnitude`.
double total_error_bound(double magnitude);

}  // namespace mmaudit
