#pragma once
// Numbers to elements, scales and factors of one operand, as the scalings of GemmCombination say. The rules
// are host and device code, so a GPU gives the same bits.
#include <cmath>
#include <cstdint>
#include <string>

#include "mmaudit/convert.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/gemm_combination.hpp"

namespace mmaudit {

/// Whether magnitudes have codes in their order beside a bit for the sign, or the format is a signed byte:
/// what code without encode_value() rounds to.
constexpr bool has_ordered_codes(const FormatSpec& to) {
  if (to.integer()) return to.encoding == Encoding::signed_integer && to.value_bits() == 8;
  return !to.signless && !to.no_zero && to.specials != Specials::nan_at_minus_zero;
}

/// What the rules need of a GemmDtype and a Scaling: plain data, passed to kernels by value.
struct QuantizeRule {
  FormatSpec element, scale;  ///< scale.id none: the instruction reads no scales
  CastRule cast;
  Granularity covers;    ///< what a scale of the instruction covers, or without scales a factor of software
  bool factors = false;  ///< software applies factors: where there are scales, one of the tensor
  ScaleRounding rounding = ScaleRounding::nearest_even;
  Division division = Division::exact;
  Counted counted = Counted::finite;
  float least = 0;  ///< as Scaling
  double most = 0;  ///< what a largest magnitude becomes
  PowerRule power;
  float zero_scale = 0;
  bool plain_zero = false, power_factor = false, bare = false;

  [[nodiscard]] MMAUDIT_HD constexpr bool scaled() const { return scale.id != Format::none; }
  [[nodiscard]] MMAUDIT_HD constexpr bool factor_per_lane() const {
    return factors && !scaled() && covers.lanes != 0;
  }
  /// A factor of the whole tensor comes from its largest magnitude.
  [[nodiscard]] MMAUDIT_HD constexpr bool one_factor() const { return factors && !factor_per_lane(); }
  /// Whether a number of this magnitude counts for a largest magnitude.
  [[nodiscard]] MMAUDIT_HD constexpr bool counts(double size) const {
    return size != size ? counted == Counted::all : counted != Counted::finite || size < INFINITY;
  }
  /// Whether the factor as products take it is the reciprocal of the one that elements are made with.
  [[nodiscard]] MMAUDIT_HD constexpr bool finishes() const {
    return division == Division::inverse || division == Division::of_inverse;
  }
  /// Whether multiplier() divides.
  [[nodiscard]] MMAUDIT_HD constexpr bool divides() const {
    return division == Division::quotient || division == Division::of_inverse;
  }
  /// Elements of k per scale; 0: there are none.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t scale_block() const { return scaled() ? covers.k : 0; }
  /// Elements of k per factor; 0: all of them.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t factor_block() const { return scaled() ? 0 : covers.k; }
};

inline constexpr float kLargestFloat = 0x1.fffffep127F;

/// The factor that brings `largest` to `to`: a normal binary32 number, 1 where `largest` is zero; the other
/// divisions as their frameworks do. Where the rule finishes(): its reciprocal, which is rounded first.
MMAUDIT_HD inline float factor_for(const QuantizeRule& rule, double largest, double to) {
  const float size = static_cast<float>(largest), most = static_cast<float>(to);
  if (rule.division == Division::reciprocal || rule.division == Division::quotient) {
    if (size != size) return __builtin_bit_cast(float, 0x7FFFFFFFU);  // the NaN of a GPU
    return (!rule.scaled() && size < rule.least ? rule.least : size) / most;
  }
  if (rule.division == Division::of_inverse) {
    const float times = 1.0F / (size < 0x1p-126F ? 0x1p-126F : size) * most;
    return times <= kLargestFloat ? times : 1.0F;
  }
  if (rule.bare) return size > 0 ? 1.0F / size * most : 1.0F;
  if (largest == 0) return 1;
  if (rule.division == Division::inverse) {
    const float times = size < INFINITY ? fminf(most / size, kLargestFloat) : 1.0F;
    return rule.power_factor
               ? __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, times) & 0x7F800000U)
               : times;
  }
  constexpr double kLeast = 0x1p-126, kMost = kLargestFloat;
  const double factor = largest / to;
  return static_cast<float>(factor < kLeast ? kLeast : factor > kMost ? kMost : factor);
}

/// The one factor of a tensor of this largest magnitude: with scales it leaves room for the largest scale.
MMAUDIT_HD inline float factor_of_tensor(const QuantizeRule& rule, double largest) {
  const double most = rule.scaled() ? decode_value(rule.scale.max_finite_bits(), rule.scale) : 1.0;
  return factor_for(rule, largest, rule.most * most);
}

/// The factor as the product takes it, of what factor_for() gave.
MMAUDIT_HD inline float finished_factor(const QuantizeRule& rule, float factor) {
  return rule.finishes() ? 1.0F / factor : factor;
}

/// The byte of a power of two that is not of exact arithmetic: see PowerRule.
MMAUDIT_HD inline std::uint8_t power_byte(const QuantizeRule& rule, double largest) {
  const PowerRule& power = rule.power;
  const float size = static_cast<float>(largest), most = static_cast<float>(rule.most);
  if (size != size) return power.nan;
  const auto bits =
      __builtin_bit_cast(std::uint32_t, power.of == PowerRule::Of::size       ? size
                                        : power.of == PowerRule::Of::quotient ? size / most
                                                                              : size * (1.0F / most));
  if (bits + power.added >= 0x7F800000U && power.infinite >= 0)
    return static_cast<std::uint8_t>(power.infinite);
  if (bits <= power.nothing) return 0;
  int byte = static_cast<int>((bits + power.added) >> 23);
  if (power.of == PowerRule::Of::size) byte -= rule.element.max_exponent();
  return static_cast<std::uint8_t>(byte < 0 ? 0 : byte > 254 ? 254 : byte);
}

/// A scale that is a number, of a block of this largest magnitude, under a factor as factor_for() gave it.
MMAUDIT_HD inline std::uint8_t number_byte(const QuantizeRule& rule, double largest, float factor) {
  const float size = static_cast<float>(largest), most = static_cast<float>(rule.most);
  const float wanted = rule.division == Division::inverse      ? size * (factor * (1.0F / most))
                       : rule.division == Division::reciprocal ? size / most / factor
                       : rule.division == Division::quotient   ? size / (most * factor)
                                                               : factor * (size / most);
  const auto byte_of = [&](float x) {
    return static_cast<std::uint8_t>(encode_nearest_even(static_cast<double>(x), rule.scale, true));
  };
  const std::uint8_t byte = byte_of(wanted < rule.least ? rule.least : wanted);
  return rule.zero_scale != 0 && (wanted == 0 || byte == 0) ? byte_of(rule.zero_scale) : byte;
}

/// The scale that the instruction applies to a block of this largest magnitude: a power of two, or where
/// there is a factor, as factor_for() gave it, a number. Source: docs/audit.md.
MMAUDIT_HD inline std::uint8_t scale_byte(const QuantizeRule& rule, double largest, float factor) {
  const FormatSpec& scale = rule.scale;
  if (rule.power.of != PowerRule::Of::exact) return power_byte(rule, largest);
  if (rule.division != Division::exact) return number_byte(rule, largest, factor);
  if (largest == 0) return static_cast<std::uint8_t>(encode_nearest_even(1, scale));
  if (!(largest < INFINITY)) return 255;  // NaN: an element may have none
  int exponent = ilogb(largest) - rule.element.max_exponent();
  if (rule.rounding == ScaleRounding::up && ldexp(largest, -exponent) > rule.most) ++exponent;
  if (exponent < scale.min_exponent()) exponent = scale.min_exponent();
  if (exponent > scale.max_exponent()) exponent = scale.max_exponent();
  return static_cast<std::uint8_t>(encode_nearest_even(ldexp(1.0, exponent), scale));
}

/// x as it is rounded to an element: over its scale `by` and its factor. A scale that became zero leaves
/// nothing of its block.
MMAUDIT_HD inline double scaled_down(double x, double by, double factor) {
  const double whole = by * factor;
  return by == 0 ? copysign(0.0, x) : whole == 1 ? x : x / whole;
}

/// What numbers under this scale and factor are multiplied by or, by quotient and of_inverse, divided by, in
/// binary32, unless the division is exact; `factor` as factor_for() gave it.
MMAUDIT_HD inline float multiplier(const QuantizeRule& rule, double scale, float factor) {
  const float by = static_cast<float>(scale);
  if (rule.power.of != PowerRule::Of::exact)
    return by != by ? rule.power.times_nan : by <= 0x1p-127F ? rule.power.times_least : 1.0F / by;
  if (rule.division == Division::quotient) return by * factor;
  if (rule.division == Division::of_inverse) return by / factor;
  if (rule.division == Division::reciprocal) return rule.scaled() ? 1.0F / factor / by : 1.0F / factor;
  return rule.scaled() ? fminf(1.0F / (by * (1.0F / factor)), kLargestFloat) : factor;
}

/// x as it is rounded to an element, by what multiplier() gave.
MMAUDIT_HD inline double multiplied(const QuantizeRule& rule, double x, float by) {
  const auto number = static_cast<float>(x);
  const float scaled = rule.divides() ? number / by : number * by;
  return rule.plain_zero && scaled == 0 ? 0.0 : static_cast<double>(scaled);
}

/// `of_b`: of a pair of dtypes B has the other.
QuantizeRule quantize_rule(const GemmDtype& dtype, const Scaling& scaling, bool of_b);

/// One operand of `batch` products. A lane is a row of A or a column of B.
struct Quantization {
  QuantizeRule rule;
  std::uint64_t batch = 1, lanes = 0, k = 0;
  const void* x = nullptr;
  FormatSpec from;                                                ///< of x, floating
  std::uint64_t batch_stride = 0, lane_stride = 0, k_stride = 0;  ///< of x, in elements
  /// Largest finite magnitudes: of the tensor, where one_factor(); and of what a scale or a factor covers,
  /// (batch, lanes, blocks) with scales, (batch, lanes, factor blocks) with factors per lane. Null: found in
  /// x, and rounded to binary32; on the host not with `exact_largest`, and with what is known of the tensor
  /// that x is a part of.
  const float* tensor_largest = nullptr;
  const float* largest = nullptr;
  bool exact_largest = false;
  double whole_largest = 0;        ///< of the whole tensor, where x is a part of it
  bool k_outside = false;          ///< elements and scales are written as B takes them: k before lanes
  void* elements = nullptr;        ///< (batch, lanes, k), or (batch, k, lanes)
  std::uint8_t* scales = nullptr;  ///< (batch, lanes, blocks), or (batch, blocks, lanes)
  float* factors = nullptr;        ///< one, or (batch, lanes, factor blocks); unless the scaling has none

  [[nodiscard]] MMAUDIT_HD std::uint64_t scale_blocks() const {
    return rule.scaled() ? detail::quotient_up(k, rule.scale_block()) : 0;
  }
  [[nodiscard]] MMAUDIT_HD std::uint64_t factor_blocks() const {
    return rule.factor_block() == 0 ? 1 : detail::quotient_up(k, rule.factor_block());
  }
  /// Where the scale of block i of row `row` of (batch, lanes) lies.
  [[nodiscard]] MMAUDIT_HD std::uint64_t scale_at(std::uint64_t row, std::uint64_t i) const {
    const std::uint64_t blocks = scale_blocks();
    return k_outside ? (row / lanes * blocks + i) * lanes + row % lanes : row * blocks + i;
  }
  /// Of `factors`; 0: the scaling has none.
  [[nodiscard]] MMAUDIT_HD std::uint64_t factor_count() const {
    return rule.factor_per_lane() ? batch * lanes * factor_blocks() : rule.one_factor() ? 1 : 0;
  }
  /// Of scales, or of factors per lane.
  [[nodiscard]] MMAUDIT_HD std::uint64_t largest_count() const {
    return rule.scaled() ? batch * lanes * scale_blocks() : rule.factor_per_lane() ? factor_count() : 0;
  }
};

/// What: elements, scales and factors. Range and rounding: docs/audit.md, "What is computed". Errors: none;
/// the pointers are as Quantization says.
void quantize(const Quantization& work, unsigned threads = 0);

}  // namespace mmaudit
