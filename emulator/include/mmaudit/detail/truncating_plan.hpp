#pragma once
// What the fast paths of host and GPU have in common: the datapaths whose steps are integers cut off at one
// place.
#include "mmaudit/dot.hpp"

namespace mmaudit::detail {

/// A stored format whose magnitudes are few enough bits that shifts and masks make a float of them.
constexpr bool decodes_by_shifts(const FormatSpec& format) {
  const bool floating = format.encoding == Encoding::floating && !format.signless && !format.no_zero;
  const bool stored = format.storage_bits == 8 || format.storage_bits == 16 || format.storage_bits == 32;
  return floating && stored && format.exponent_bits > 0 && format.exponent_bits <= 8 &&
         format.fraction_bits <= 12;
}

/// A whole binary16, to nearest even, with its infinities and subnormals.
constexpr bool rounds_to_f16(const OutputRule& rule) {
  return rule.format == Format::f16 && rule.rounding == Rounding::nearest_even &&
         rule.fraction_bits == spec_of(Format::f16).fraction_bits && rule.overflow == Overflow::infinity &&
         !rule.flush_subnormals;
}

/// Fused dot-adds that cut off every addend and give binary32 cut off or binary16 to nearest even, without a
/// rule that no hardware follows. Where C is added and what infinities do is left to the caller.
constexpr bool truncates_plainly(const Datapath& datapath) {
  const bool to_f32 = datapath.output.format == Format::f32 &&
                      datapath.output.fraction_bits <= spec_of(Format::f32).fraction_bits &&
                      datapath.output.rounding == Rounding::toward_zero;
  return datapath.arithmetic == Arithmetic::fused_dot_add && (to_f32 || rounds_to_f16(datapath.output)) &&
         datapath.alignment == Alignment::truncate_magnitude && datapath.zero == ZeroRule::no_part &&
         datapath.product == ProductRule::unnormalised && datapath.subnormal_operand == SubnormalRule::kept &&
         datapath.subnormal_addend == SubnormalRule::kept && !datapath.read_ignored_bits &&
         datapath.output.overflow == Overflow::infinity && !datapath.output.flush_subnormals &&
         datapath.output.zero_sign == ZeroSign::plus;
}

/// The running sum has the datapath's output format, and operands come one by one without scales.
constexpr bool sums_in_output_format(const DotPlan& plan) {
  return plan.unpacks() && !plan.block_scaled() && plan.step.output.id == plan.datapath.output.format;
}

/// And C and D are of that format, too.
constexpr bool keeps_one_sum_format(const DotPlan& plan) {
  return sums_in_output_format(plan) && !plan.converts && plan.step.addend.id == plan.step.output.id;
}

/// C is exact in the format of the sums, and D is of that or rounded from it to binary16.
constexpr bool ends_in_binary16_or_sums(const DotPlan& plan) {
  const Format sums = plan.step.output.id, c = plan.step.addend.id, d = plan.d.id;
  if (!plan.converts) return c == sums && d == sums;
  return sums == Format::f32 && (c == sums || c == Format::f16) &&
         (d == sums || (d == Format::f16 && rounds_to_f16(plan.conversion)));
}

/// Widening the operands, where the plan does, changes neither value nor kind.
constexpr bool widens_exactly(const DotPlan& plan) {
  const FormatSpec& wide = plan.wide;
  const auto holds = [&](const FormatSpec& stored) {
    return stored.fraction_bits <= wide.fraction_bits && stored.max_exponent() <= wide.max_exponent() &&
           stored.min_exponent() - stored.fraction_bits >= wide.min_exponent() - wide.fraction_bits;
  };
  return wide.id == Format::none || (holds(plan.a) && holds(plan.b));
}

}  // namespace mmaudit::detail
