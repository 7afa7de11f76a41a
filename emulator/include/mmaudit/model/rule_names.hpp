#pragma once
// The rules of a row by name: what listings print and what a row in a file is read from.
#include <string_view>

#include "mmaudit/model/datapath.hpp"

namespace mmaudit {
namespace names {

/// Every list has one name per enumerator, in their order.
inline constexpr std::string_view kArithmetic[] = {"fused_dot_add",    "integer",       "grouped_dot_add",
                                                   "fma_chain",        "exact_dot_add", "rounded_tree",
                                                   "two_stage_dot_add"};
inline constexpr std::string_view kRounding[] = {"RZ", "RNE", "RD", "RU"};
inline constexpr std::string_view kOrder[] = {"ascending", "pairs_of_four", "descending", "halves",
                                              "even_then_odd"};
inline constexpr std::string_view kAddend[] = {"in_first_step", "after_last_nearest", "after_last_truncated",
                                               "before_each_nearest"};
inline constexpr std::string_view kAlignment[] = {"truncate_magnitude", "floor_toward_minus_infinity",
                                                  "nearest_even"};
inline constexpr std::string_view kZero[] = {"no_part", "operand_exponent"};
inline constexpr std::string_view kProduct[] = {"unnormalised", "normalised"};
inline constexpr std::string_view kSubnormal[] = {"kept", "normalised", "flushed", "flushed_to_plus"};
inline constexpr std::string_view kProductOverflow[] = {"wide", "infinity"};
inline constexpr std::string_view kFarAddend[] = {"floored", "dropped"};
inline constexpr std::string_view kZeroSign[] = {"plus", "of_sum", "ieee"};
inline constexpr std::string_view kOverflow[] = {"infinity", "max_finite"};
inline constexpr std::string_view kInfinityTimesZero[] = {"nan", "zero"};
inline constexpr std::string_view kSaturation[] = {"once_at_end", "every_step", "never", "always"};
inline constexpr std::string_view kIntegerSign[] = {"of_format", "both_signed", "both_unsigned", "exchanged"};
inline constexpr std::string_view kBitOperation[] = {"of_instruction", "exchanged"};
inline constexpr std::string_view kScaleUse[] = {"applied", "ignored", "reversed"};
inline constexpr std::string_view kScaleSign[] = {"ignored", "negates"};
inline constexpr std::string_view kScaleNan[] = {"always", "beside_nonzero"};
inline constexpr std::string_view kGroupExponent[] = {"of_scales", "of_products", "of_sum"};
inline constexpr std::string_view kCancelledGroup[] = {"counts", "no_part"};
inline constexpr std::string_view kNan[] = {"canonical", "ieee_quiet"};

}  // namespace names

/// Shows `visit` every rule of a row under its name in files: choice(name, names, value), format(name,
/// value), integer(name, value, least, most), boolean(name, value), letters(name, value of "abc" in some
/// order). The format of D belongs to the row around the model and is left out.
template <typename Model, typename Visit>
constexpr void for_each_rule(Model& model, Visit&& visit) {
  visit.choice("arithmetic", names::kArithmetic, model.arithmetic);
  visit.format("widen_to", model.widen_to);
  visit.format("sum_format", model.sum_format);
  visit.choice("order", names::kOrder, model.order);
  visit.integer("block", model.products_per_step, 1, 64);
  // 66 addends below 2^(F + 2) each have to fit 63 bits.
  visit.integer("F", model.fraction_bits, 0, 50);
  visit.integer("floor", model.min_alignment_exponent, -2000, 200);
  visit.choice("addend", names::kAddend, model.addend);
  visit.choice("alignment", names::kAlignment, model.alignment);
  visit.choice("zero", names::kZero, model.zero);
  visit.choice("product", names::kProduct, model.product);
  visit.choice("subnormal_operand", names::kSubnormal, model.subnormal_operand);
  visit.choice("subnormal_addend", names::kSubnormal, model.subnormal_addend);
  visit.choice("infinity_times_zero", names::kInfinityTimesZero, model.infinity_times_zero);
  visit.boolean("read_ignored_bits", model.read_ignored_bits);
  visit.letters("nan_priority", model.nan_priority);
  visit.choice("saturation", names::kSaturation, model.saturation);
  visit.choice("integer_sign", names::kIntegerSign, model.integer_sign);
  visit.choice("bit_operation", names::kBitOperation, model.bit_operation);
  visit.choice("scale_use", names::kScaleUse, model.scale_use);
  visit.choice("scale_sign", names::kScaleSign, model.scale_sign);
  visit.choice("scale_nan", names::kScaleNan, model.scale_nan);
  visit.choice("subnormal_scale", names::kSubnormal, model.subnormal_scale);
  visit.choice("product_overflow", names::kProductOverflow, model.product_overflow);
  visit.integer("partial_sums", model.partial_sums, 1, 2);
  visit.integer("sum_fraction_bits", model.sum_fraction_bits, 24, 40);
  visit.choice("far_addend", names::kFarAddend, model.far_addend);
  visit.integer("group", model.group, 1, 64);
  visit.choice("group_exponent", names::kGroupExponent, model.group_exponent);
  visit.choice("cancelled_group", names::kCancelledGroup, model.cancelled_group);
  visit.integer("output_fraction_bits", model.output.fraction_bits, 0, 52);
  visit.choice("rounding", names::kRounding, model.output.rounding);
  visit.choice("overflow", names::kOverflow, model.output.overflow);
  visit.boolean("flush_subnormals", model.output.flush_subnormals);
  visit.choice("zero_sign", names::kZeroSign, model.output.zero_sign);
  visit.choice("nan", names::kNan, model.output.nan);
}

}  // namespace mmaudit
