#pragma once
// Block scaling: scale bytes, what they do to an element, and the grouped dot-add of the 4-bit kinds. Exact
// integers, host and device. Source of every rule: docs/numerics.md, "Block-scaled kinds".
#include <cstdint>

#include "mmaudit/arithmetic/accumulate.hpp"

namespace mmaudit {

/// The byte that spells 1, what an absent scale reads as.
MMAUDIT_HD constexpr std::uint64_t one_bits(const FormatSpec& format) {
  return static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
}

/// One scale byte under the datapath's rules. A zero keeps the exponent that its field spells.
MMAUDIT_HD constexpr Operand unpack_scale(const FormatSpec& format, const Datapath& datapath,
                                          std::uint64_t bits) {
  Operand x = unpack(format, {datapath.subnormal_scale, ZeroRule::operand_exponent, false}, bits);
  if (datapath.scale_sign == ScaleSign::negates && format.value_bits() < format.storage_bits) {
    x.negative = (bits >> format.value_bits() & 1) != 0;
    if (x.negative) x.significand = -x.significand;
  }
  return x;
}

/// element * scale, exactly: the significands multiply, the exponents add.
MMAUDIT_HD constexpr Operand scaled(Operand element, const Operand& scale, const Datapath& datapath) {
  const bool zero = element.kind == Kind::finite && element.significand == 0;
  if (scale.kind == Kind::nan && (datapath.scale_nan == ScaleNan::always || !zero)) element.kind = Kind::nan;
  element.negative = element.negative != scale.negative;
  if (element.kind != Kind::finite) return element;
  element.significand *= scale.significand;
  if (element.significand == 0 && datapath.zero == ZeroRule::no_part) {
    element.exponent = kZeroExponent;
  } else {
    element.exponent = static_cast<std::int16_t>(element.exponent + scale.exponent);
  }
  return element;
}

/// What a step of groups needs besides its operands.
struct GroupSpec {
  std::int16_t product_fraction_bits = 0;  ///< of a product of two elements
  std::int16_t scale_fraction_bits = 0;    ///< of a product of two scales
  std::int16_t least_product = 0;          ///< no non-zero product of elements has a lower exponent
};

/// One group of products and its scales.
struct Group {
  std::int64_t sum = 0;    ///< of the products, in units of 2^(least_product - product_fraction_bits)
  std::int64_t scale = 0;  ///< product of the significands of the two scales
  int scale_exponent = 0;
  int exponent = kZeroExponent;         ///< what it brings to the maximum
  bool nan = false, minus_zero = true;  ///< minus_zero: every scaled product is -0

  /// sum * scale * 2^unit is the group's value.
  [[nodiscard]] MMAUDIT_HD constexpr int unit(const GroupSpec& spec) const {
    return scale_exponent - spec.scale_fraction_bits + spec.least_product - spec.product_fraction_bits;
  }
};

/// What: the sum of `count` products of elements without an infinity, and the two scales of the first of
/// them. Range: exact while the products fit 62 bits beside each other, as products of 4-bit elements do.
MMAUDIT_HD constexpr Group sum_group(const Operand* a, const Operand* b, const Operand* scale_a,
                                     const Operand* scale_b, int count, const GroupSpec& spec,
                                     const Datapath& datapath) {
  Group group;
  group.scale = std::int64_t{scale_a->significand} * scale_b->significand;
  group.scale_exponent = scale_a->exponent + scale_b->exponent;
  const bool minus = scale_a->negative != scale_b->negative;
  bool nonzero = false, nonzero_a = false, nonzero_b = false;
  int largest = 0;
  for (int k = 0; k < count; ++k) {
    group.nan = group.nan || a[k].kind != Kind::finite || b[k].kind != Kind::finite;
    nonzero_a = nonzero_a || a[k].significand != 0;
    nonzero_b = nonzero_b || b[k].significand != 0;
    const std::int64_t product = std::int64_t{a[k].significand} * b[k].significand;
    const bool negative = (a[k].negative != b[k].negative) != minus;
    group.minus_zero = group.minus_zero && (product == 0 || group.scale == 0) && negative;
    if (product == 0) continue;
    const int exponent = a[k].exponent + b[k].exponent;
    group.sum += product * (std::int64_t{1} << (exponent - spec.least_product));
    largest = nonzero && largest > exponent ? largest : exponent;
    nonzero = true;
  }
  const bool always = datapath.scale_nan == ScaleNan::always;
  group.nan = group.nan || (scale_a->kind == Kind::nan && (always || nonzero_a)) ||
              (scale_b->kind == Kind::nan && (always || nonzero_b));

  const bool zero = !nonzero || group.scale == 0;
  const bool cancelled = !zero && group.sum == 0;
  if (zero ? datapath.zero == ZeroRule::no_part
           : cancelled && datapath.cancelled_group == CancelledGroup::no_part)
    return group;
  group.exponent = group.scale_exponent;
  if (datapath.group_exponent == GroupExponent::of_products) group.exponent += largest;
  if (datapath.group_exponent == GroupExponent::of_sum && group.sum != 0 && group.scale != 0)
    group.exponent = floor_log2(magnitude(group.sum * group.scale)) + group.unit(spec);
  return group;
}

/// What: one step of a block-scaled datapath of groups, d = sum over groups of (sum a*b) * scales + c.
/// Shapes: all four arrays hold `count` operands in evaluation order; a group reads the scales at its first.
/// Range and rounding: every group's exact value, and c, are truncated to multiples of 2^(E-F), the sum is
/// exact, and it is rounded once by datapath.output. With elements of 4 bits, scales of 4 and count <= 64, F
/// <= 45 fits int64. Returns raw bits of `spec.output`.
MMAUDIT_HD constexpr std::uint64_t grouped_dot_add(const Operand* a, const Operand* b, const Operand* scale_a,
                                                   const Operand* scale_b, int count, const Operand& c,
                                                   const StepSpec& spec, const GroupSpec& groups,
                                                   const Datapath& datapath) {
  bool nan = c.kind == Kind::nan, minus_zero = c.significand == 0 && c.negative;
  int maximum = datapath.min_alignment_exponent > c.exponent ? datapath.min_alignment_exponent : c.exponent;
  for (int k = 0; k < count; k += datapath.group) {
    const int size = count - k < datapath.group ? count - k : datapath.group;
    const Group group = sum_group(a + k, b + k, scale_a + k, scale_b + k, size, groups, datapath);
    nan = nan || group.nan;
    minus_zero = minus_zero && group.minus_zero;
    maximum = group.exponent > maximum ? group.exponent : maximum;
  }
  if (nan) return nan_bits(datapath.output, spec.output);
  if (c.kind == Kind::infinite) return infinity_bits(spec.output, c.negative);
  std::int64_t sum =
      align(c.significand, datapath.fraction_bits - spec.addend.fraction_bits + c.exponent - maximum,
            datapath.alignment);
  for (int k = 0; k < count; k += datapath.group) {
    const int size = count - k < datapath.group ? count - k : datapath.group;
    const Group group = sum_group(a + k, b + k, scale_a + k, scale_b + k, size, groups, datapath);
    // A zero takes no part in the maximum, so its unit may lie any way above it.
    const std::int64_t value = group.sum * group.scale;
    if (value != 0)
      sum += align(value, group.unit(groups) + datapath.fraction_bits - maximum, datapath.alignment);
  }
  return round_to_output(magnitude(sum), sum < 0, maximum - datapath.fraction_bits, datapath.output,
                         spec.output, minus_zero);
}

}  // namespace mmaudit
