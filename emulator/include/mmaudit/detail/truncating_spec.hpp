#pragma once
// What the fast paths of host and GPU have in common: the datapaths whose steps are integers cut off at one
// place.
#include "mmaudit/detail/stored_bits.hpp"
#include "mmaudit/dot.hpp"

namespace mmaudit::detail {

/// A stored format whose magnitudes are few enough bits that shifts and masks make a float of them.
constexpr bool decodes_by_shifts(const FormatSpec& format) {
  const bool floating = format.encoding == Encoding::floating && !format.signless && !format.no_zero;
  const bool stored = format.storage_bits == 8 || format.storage_bits == 16 || format.storage_bits == 32;
  return floating && stored && format.exponent_bits > 0 && format.exponent_bits <= 8 &&
         format.fraction_bits <= 12;
}

/// The parts of such a format; `min_exponent` is that of the format which the datapath sees.
constexpr StoredBits stored_bits_of(const FormatSpec& format, int min_exponent) {
  StoredBits parts;
  const int value_bits = format.exponent_bits + format.fraction_bits;
  parts.magnitude_mask = (1U << value_bits) - 1;
  parts.special_from = parts.magnitude_mask + 1;
  if (format.specials == Specials::ieee) {
    parts.special_from = parts.infinity = ((1U << format.exponent_bits) - 1) << format.fraction_bits;
  } else if (format.specials == Specials::nan_only) {
    parts.special_from = parts.magnitude_mask;
  }
  parts.ignored_bits = format.ignored_low_bits;
  parts.sign_bit = value_bits + format.ignored_low_bits;
  parts.fraction_bits = format.fraction_bits;
  parts.min_exponent = min_exponent;
  return parts;
}

/// Every finite number of `stored` is one of `wide`.
constexpr bool holds(const FormatSpec& wide, const FormatSpec& stored) {
  return stored.fraction_bits <= wide.fraction_bits && stored.max_exponent() <= wide.max_exponent() &&
         stored.min_exponent() - stored.fraction_bits >= wide.min_exponent() - wide.fraction_bits;
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
constexpr bool sums_in_output_format(const DotSpec& spec) {
  return spec.unpacks() && !spec.block_scaled() && spec.step.output.id == spec.datapath.output.format;
}

/// And C and D are of that format, too.
constexpr bool keeps_one_sum_format(const DotSpec& spec) {
  return sums_in_output_format(spec) && !spec.converts && spec.step.addend.id == spec.step.output.id;
}

/// C is exact in the format of the sums, and D is of that or rounded from it to binary16.
constexpr bool ends_in_binary16_or_sums(const DotSpec& spec) {
  const Format sums = spec.step.output.id, c = spec.step.addend.id, d = spec.d.id;
  if (!spec.converts) return c == sums && d == sums;
  return sums == Format::f32 && (c == sums || c == Format::f16) &&
         (d == sums || (d == Format::f16 && rounds_to_f16(spec.conversion)));
}

/// Every element's scale is a power of two, and a NaN scale is a NaN whatever it scales.
constexpr bool scales_shift_exponents(const DotSpec& spec) {
  return spec.scale.fraction_bits == 0 && spec.scale.no_zero && spec.scale.signless &&
         spec.datapath.scale_use == ScaleUse::applied && spec.datapath.scale_nan == ScaleNan::always;
}

/// Steps of groups as all known hardware has them: exact sums, aligned by their scales, cut off, binary32.
constexpr bool groups_plainly(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  Datapath like;  // what every grouped datapath has that a fast path serves
  like.arithmetic = Arithmetic::grouped_dot_add;
  like.order = datapath.order == KOrder::halves ? KOrder::halves : KOrder::ascending;
  like.products_per_step = datapath.products_per_step;
  like.fraction_bits = datapath.fraction_bits;
  like.min_alignment_exponent = datapath.min_alignment_exponent;
  like.group = datapath.group;
  like.output.nan = datapath.output.nan;
  // Rules that a grouped step does not read.
  like.product = datapath.product;
  like.infinity_times_zero = datapath.infinity_times_zero;
  like.read_ignored_bits = datapath.read_ignored_bits;
  for (int i = 0; i < 3; ++i) like.nan_priority[i] = datapath.nan_priority[i];
  return spec.grouped && datapath == like && spec.sparsity == Sparsity{} &&
         spec.step.addend.id == Format::f32 && spec.d.id == Format::f32;
}

/// Numbers of 4 bits whose codes are small integers in units of the least of them.
constexpr bool has_small_integers(const FormatSpec& format) {
  return format.value_bits() == 4 && format.storage_bits == 8 && format.encoding == Encoding::floating &&
         format.specials == Specials::finite && !format.signless && !format.no_zero &&
         format.exponent_bits <= 2;
}

/// Widening the operands, where the spec does, changes neither value nor kind.
constexpr bool widens_exactly(const DotSpec& spec) {
  return spec.wide.id == Format::none || (holds(spec.wide, spec.a) && holds(spec.wide, spec.b));
}

}  // namespace mmaudit::detail
