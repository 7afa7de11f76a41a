#include "model/core_rules.hpp"

#include <bit>

#include "mmaudit/device/matmul.hpp"
#include "model/unpacked.hpp"

namespace mmaudit::device {
namespace {

constexpr int kDoubleBias = 1023;

/// Formats whose magnitudes fit the high word of a binary64.
bool decodes(const FormatSpec& format) {
  const bool stored = format.storage_bits == 8 || format.storage_bits == 16 || format.storage_bits == 32;
  return format.encoding == Encoding::floating && !format.signless && !format.no_zero && stored &&
         format.exponent_bits > 0 && format.exponent_bits <= 8 && format.fraction_bits <= 12;
}

CoreDecode decode_of(const FormatSpec& format, int min_exponent) {
  CoreDecode rule;
  const int value_bits = format.exponent_bits + format.fraction_bits;
  rule.magnitude_mask = (1U << value_bits) - 1;
  rule.special_from = rule.magnitude_mask + 1;
  if (format.specials == Specials::ieee) {
    rule.special_from = rule.infinity = ((1U << format.exponent_bits) - 1) << format.fraction_bits;
  } else if (format.specials == Specials::nan_only) {
    rule.special_from = rule.magnitude_mask;
  }
  rule.ignored_bits = format.ignored_low_bits;
  rule.sign_bit = value_bits + format.ignored_low_bits;
  rule.fraction_bits = format.fraction_bits;
  rule.rebias = kDoubleBias - format.bias;
  rule.least = format.min_exponent() - format.fraction_bits;
  rule.min_exponent = min_exponent;
  return rule;
}

bool rounds_to_f16(const OutputRule& rule) {
  return rule.format == Format::f16 && rule.rounding == Rounding::nearest_even &&
         rule.fraction_bits == spec_of(Format::f16).fraction_bits && rule.overflow == Overflow::infinity &&
         !rule.flush_subnormals;
}

/// C is exact in the format of the sums, and D is that or rounded from it to binary16.
bool ends_serve(const DotPlan& plan) {
  const Format sums = plan.step.output.id, c = plan.step.addend.id, d = plan.d.id;
  if (!plan.converts) return c == sums && d == sums;
  return sums == Format::f32 && (c == sums || c == Format::f16) &&
         (d == sums || (d == Format::f16 && rounds_to_f16(plan.conversion)));
}

bool serves(const AccumulatorModel& row) {
  const bool to_f32 = row.output.format == Format::f32 && row.output.rounding == Rounding::toward_zero;
  const bool to_f16 = rounds_to_f16(row.output);
  return row.arithmetic == Arithmetic::fused_dot_add && (to_f32 || to_f16) &&
         row.alignment == Alignment::truncate_magnitude && row.zero == ZeroRule::no_part &&
         row.product == ProductRule::unnormalised && row.subnormal_operand == SubnormalRule::kept &&
         row.subnormal_addend == SubnormalRule::kept && !row.read_ignored_bits &&
         row.infinity_times_zero == InfinityTimesZero::nan && row.output.overflow == Overflow::infinity &&
         !row.output.flush_subnormals && row.output.zero_sign == ZeroSign::plus &&
         row.metadata == MetadataRule::selected &&
         (row.addend == AddendPlace::in_first_step || row.addend == AddendPlace::after_last_nearest);
}

/// Widening changes neither value nor kind.
bool holds(const FormatSpec& wide, const FormatSpec& stored) {
  return stored.fraction_bits <= wide.fraction_bits && stored.max_exponent() <= wide.max_exponent() &&
         stored.min_exponent() - stored.fraction_bits >= wide.min_exponent() - wide.fraction_bits;
}

/// The sum of a step's products fits a 32-bit integer.
bool sums_fit(const CoreRules& rules, const FormatSpec& a, const FormatSpec& b) {
  const int product_bits = a.fraction_bits + b.fraction_bits;
  const std::int64_t largest =
      ((std::int64_t{2} << a.fraction_bits) - 1) * ((std::int64_t{2} << b.fraction_bits) - 1);
  const int lift = rules.fraction_bits - product_bits;
  const std::int64_t product = lift >= 0 ? largest << lift : largest >> -lift;
  return rules.products * product < std::int64_t{1} << 31;
}

}  // namespace

std::optional<CoreRules> core_rules(const DotPlan& plan) {
  const AccumulatorModel& row = plan.row;
  const bool widened = plan.wide.id != Format::none;
  if (!serves(row) || !plan.unpacks() || plan.block_scaled() || !ends_serve(plan) ||
      plan.step.output.id != row.output.format || !decodes(plan.a) || !decodes(plan.b) ||
      (widened && (!holds(plan.wide, plan.a) || !holds(plan.wide, plan.b)))) {
    return std::nullopt;
  }
  const FormatSpec& seen_a = widened ? plan.wide : plan.a;
  const FormatSpec& seen_b = widened ? plan.wide : plan.b;
  CoreRules rules;
  rules.a = decode_of(plan.a, seen_a.min_exponent());
  rules.b = decode_of(plan.b, seen_b.min_exponent());
  rules.fraction_bits = row.fraction_bits;
  rules.floor = row.floor;
  rules.addend_min_exponent = plan.step.output.min_exponent();
  rules.half = row.output.format == Format::f16;
  rules.c_half = plan.step.addend.id == Format::f16;
  rules.d_half = plan.d.id == Format::f16;
  rules.addend_last = row.addend == AddendPlace::after_last_nearest;
  rules.keep_mask = ~((1U << (spec_of(Format::f32).fraction_bits - row.output.fraction_bits)) - 1);
  if (rules.half) rules.keep_mask = ~0U;
  rules.nan = static_cast<std::uint32_t>(nan_bits(row.output, plan.step.output));
  rules.d_nan = static_cast<std::uint32_t>(nan_bits(plan.conversion, plan.d));
  const int kept = plan.sparsity.kept, group = plan.sparsity.group;
  const int segment = plan.k / plan.segments;
  rules.products = row.block < segment ? row.block : segment;
  rules.step = rules.products / kept * group;
  rules.depth = plan.k / kept * group;
  constexpr int kLeastDepth = 4, kLeastFloor = -200;
  if (rules.depth < kLeastDepth || rules.depth > kCoreDepth ||
      !std::has_single_bit(static_cast<unsigned>(rules.depth)) || rules.step < kLeastDepth ||
      !std::has_single_bit(static_cast<unsigned>(rules.step)) || rules.products % kept != 0 ||
      segment % rules.products != 0 || row.fraction_bits < 1 || row.fraction_bits > 26 ||
      row.floor < kLeastFloor || !sums_fit(rules, seen_a, seen_b)) {
    return std::nullopt;
  }
  for (int i = 0; i < rules.depth; ++i) {
    // Groups stay together, in the order of their first stored elements.
    const int stored = evaluation_k(row.order, plan.k, i / group * kept);
    if (stored % kept != 0) return std::nullopt;
    rules.order[i] = static_cast<std::int8_t>(stored / kept * group + i % group);
  }
  return rules;
}

std::string why_no_matmul_on_device(const Instruction& instruction, const AccumulatorModel& row,
                                    const Matmul& problem) {
  const auto rules = core_rules(make_plan(instruction, row));
  if (!rules || rules->depth > kChunk || rules->c_half != rules->half || rules->d_half != rules->half)
    return "instruction: found " + name_of(instruction) +
           ", allowed on a GPU: those of f16, bf16, tf32, e4m3 and e5m2 operands with rows that truncate";
  if (problem.epilogue) return "epilogue: found alpha, beta or an output type, allowed on a GPU: none";
  return {};
}

}  // namespace mmaudit::device
