#pragma once
// How far a D may be from the exact sum, from the numbers of its datapath alone. Derivation:
// docs/properties.md, "The bound on the error".
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "mmaudit/dot.hpp"

namespace mmaudit {

namespace detail {

/// floor(log2) of a magnitude; a subnormal or zero counts as the least normal number.
inline std::int64_t exponent_of_magnitude(double magnitude) {
  const auto field = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(magnitude) >> 52 & 0x7FF);
  return (field < 1 ? 1 : field) - 1023;
}

/// 2^exponent, for a bound: the least normal number where it is less, infinite above binary64.
inline double power_for_bound(std::int64_t exponent) {
  const std::int64_t least = exponent < -1022 ? -1022 : exponent;
  return std::bit_cast<double>(static_cast<std::uint64_t>((least > 1024 ? 1024 : least) + 1023) << 52);
}

}  // namespace detail

/// What is known of a dot product before it is computed.
struct SumFacts {
  /// At least the sum of all |a_k b_k| and |c|.
  double magnitude = 0;
  /// At least e(a) + e(b) of every product that is not zero, and the exponent of c; of a grouped datapath the
  /// exponents of the two scales in place of the product's. Anything low when all are zero.
  int largest_exponent = -10000;
};

/// Why the bounds below don't hold for a datapath; empty: they do.
std::string why_no_error_bound(const DotSpec& spec);

/// What: most that |D - exact| of one instruction can be while nothing overflows. `result_exponent` is the
/// exponent that D's field spells, where D is known: the last rounding is then known more closely.
double instruction_error_bound(const DotSpec& spec, const SumFacts& facts,
                               std::optional<int> result_exponent = std::nullopt);

/// What: most that a number of instructions, each with the D of the one before as its C, can add to the
/// error.
class ChainErrorBound {
 public:
  explicit ChainErrorBound(const DotSpec& spec);
  /// True when no rounding makes a sum larger: then the sum of magnitudes bounds the running sum by itself.
  [[nodiscard]] bool only_shrinks() const;

  /// Everything about a chain of one length that no operand changes. A loop over it becomes vector code.
  class OfLength {
   public:
    /// The two of SumFacts. They cover the whole chain up to there: `magnitude` bounds every running sum.
    [[nodiscard]] double operator()(double magnitude, std::int64_t largest_exponent) const {
      const std::int64_t of_sum = detail::exponent_of_magnitude((magnitude + least_) * growth_);
      const auto most = [](std::int64_t x, std::int64_t y) { return x < y ? y : x; };
      const std::int64_t e = most(most(largest_exponent, of_sum), floor_);
      return count_ * (addends_ * detail::power_for_bound(e - fraction_bits_) +
                       roundings_ * detail::power_for_bound(most(of_sum, step_least_) - step_unit_) +
                       final_adds_ * detail::power_for_bound(most(of_sum, final_least_) - final_unit_));
    }

   private:
    friend class ChainErrorBound;
    double count_ = 0, least_ = 0, growth_ = 1;  ///< a running sum is below (magnitude + least) * growth
    double addends_ = 0, roundings_ = 0, final_adds_ = 0;
    std::int64_t floor_ = 0, fraction_bits_ = 0;
    /// Rounding a sum of exponent x loses up to 2^(max(x, least) - unit): by a step, by the addition of c.
    std::int64_t step_least_ = 0, step_unit_ = 0, final_least_ = 0, final_unit_ = 0;
  };
  [[nodiscard]] OfLength of_length(std::uint64_t instructions) const;
  [[nodiscard]] double operator()(std::uint64_t instructions, const SumFacts& facts) const {
    return of_length(instructions)(facts.magnitude, facts.largest_exponent);
  }

 private:
  DotSpec spec_;
  int steps_ = 0, addends_ = 0;
};

/// What: most that an addition in `format` to nearest even loses when the sum's magnitude is at most
/// `magnitude`.
inline double total_error_bound(double magnitude, const FormatSpec& format = spec_of(Format::f32)) {
  const std::int64_t exponent = detail::exponent_of_magnitude(magnitude);
  const std::int64_t least = format.min_exponent();
  return detail::power_for_bound((exponent < least ? least : exponent) - format.fraction_bits - 1);
}

}  // namespace mmaudit
