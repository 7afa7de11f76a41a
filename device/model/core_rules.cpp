#include "model/core_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/detail/truncating_plan.hpp"
#include "mmaudit/device/matmul.hpp"
#include "model/groups.hpp"
#include "model/unpacked.hpp"

namespace mmaudit::device {
namespace {

constexpr int kDoubleBias = 1023;

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

bool serves(const Datapath& datapath) {
  return detail::truncates_plainly(datapath) && datapath.infinity_times_zero == InfinityTimesZero::nan &&
         datapath.metadata == MetadataRule::selected &&
         (datapath.addend == AddendPlace::in_first_step ||
          datapath.addend == AddendPlace::after_last_nearest);
}

/// The most units of 2^(E - F) that a step's products have.
std::int64_t most_units(const CoreRules& rules, const FormatSpec& a, const FormatSpec& b) {
  const int product_bits = a.fraction_bits + b.fraction_bits;
  const std::int64_t largest =
      ((std::int64_t{2} << a.fraction_bits) - 1) * ((std::int64_t{2} << b.fraction_bits) - 1);
  const int lift = rules.fraction_bits - product_bits;
  const std::int64_t product = lift >= 0 ? largest << lift : largest >> -lift;
  return rules.products * product;
}

}  // namespace

std::optional<CoreRules> core_rules(const DotPlan& given) {
  DotPlan plan = given;
  const bool sparse = plan.sparsity.kept != plan.sparsity.group;
  if (plan.block_scaled() && (sparse || !detail::scales_shift_exponents(plan))) return std::nullopt;
  plan.scale_block = 0;  // scales change operands, not rules
  const Datapath& datapath = plan.datapath;
  const bool widened = plan.wide.id != Format::none;
  if (!serves(datapath) || !detail::sums_in_output_format(plan) || !detail::ends_in_binary16_or_sums(plan) ||
      !detail::widens_exactly(plan) || !detail::decodes_by_shifts(plan.a) ||
      !detail::decodes_by_shifts(plan.b)) {
    return std::nullopt;
  }
  const FormatSpec& seen_a = widened ? plan.wide : plan.a;
  const FormatSpec& seen_b = widened ? plan.wide : plan.b;
  CoreRules rules;
  rules.a = decode_of(plan.a, seen_a.min_exponent());
  rules.b = decode_of(plan.b, seen_b.min_exponent());
  rules.fraction_bits = datapath.fraction_bits;
  rules.floor = datapath.min_alignment_exponent;
  rules.addend_min_exponent = plan.step.output.min_exponent();
  rules.half = datapath.output.format == Format::f16;
  rules.c_half = plan.step.addend.id == Format::f16;
  rules.d_half = plan.d.id == Format::f16;
  rules.addend_last = datapath.addend == AddendPlace::after_last_nearest;
  rules.keep_mask = ~((1U << (spec_of(Format::f32).fraction_bits - datapath.output.fraction_bits)) - 1);
  if (rules.half) rules.keep_mask = ~0U;
  rules.nan = static_cast<std::uint32_t>(nan_bits(datapath.output, plan.step.output));
  rules.d_nan = static_cast<std::uint32_t>(nan_bits(plan.conversion, plan.d));
  const int kept = plan.sparsity.kept, group = plan.sparsity.group;
  const int segment = plan.k / plan.segments;
  rules.products = datapath.products_per_step < segment ? datapath.products_per_step : segment;
  rules.step = rules.products / kept * group;
  rules.depth = plan.k / kept * group;
  const std::int64_t units = most_units(rules, seen_a, seen_b);
  const std::int64_t with_c = units + (std::int64_t{2} << datapath.fraction_bits);
  rules.may_carry = with_c >= std::int64_t{1} << 31;
  // C is below 2^(E + 1) and every product below 2^(E + 2), so sums stay below about half of 2^(E + `width`).
  const int width = std::bit_width(static_cast<unsigned>(4 * rules.products + 2));
  rules.limit = std::ldexp(1.0F, plan.step.output.max_exponent());
  rules.most_tame = plan.step.output.max_exponent() + 2 - width;
  rules.least_tame = rules.addend_min_exponent;
  if (!rules.half)
    rules.least_tame = std::max(rules.least_tame, datapath.fraction_bits - datapath.output.fraction_bits +
                                                      plan.step.output.min_exponent());
  // The accumulator's unit, 2^(E - F) for any E from the floor up, has to be a binary64; no hardware has a
  // floor above binary32's largest exponent, a user's datapath may.
  constexpr int kLeastDepth = 4, kLeastFloor = -200, kMostFloor = 127;
  if (rules.depth < kLeastDepth || rules.depth > kCoreDepth ||
      !std::has_single_bit(static_cast<unsigned>(rules.depth)) || rules.step < kLeastDepth ||
      !std::has_single_bit(static_cast<unsigned>(rules.step)) || rules.products % kept != 0 ||
      segment % rules.products != 0 || datapath.fraction_bits < 1 || datapath.fraction_bits > 26 ||
      datapath.min_alignment_exponent < kLeastFloor || datapath.min_alignment_exponent > kMostFloor ||
      with_c > std::int64_t{1} << 32) {
    return std::nullopt;
  }
  for (int i = 0; i < rules.depth; ++i) {
    // Groups stay together, in the order of their first stored elements.
    const int stored = evaluation_k(datapath.order, plan.k, i / group * kept);
    if (stored % kept != 0) return std::nullopt;
    rules.order[i] = static_cast<std::int8_t>(stored / kept * group + i % group);
  }
  return rules;
}

std::optional<GroupCore> group_core(const DotPlan& plan) {
  const Datapath& datapath = plan.datapath;
  constexpr int kLeastFraction = 10, kMostFraction = 38;  // beyond, sums are no exact binary64
  constexpr int kMostSpread = 16;                         // beyond, sums times scales are no 32-bit integers
  constexpr int kLeastUnit = -149;                        // of C and of two sides and two elements
  if (!detail::groups_plainly(plan) || !detail::has_small_integers(plan.a) ||
      !detail::has_small_integers(plan.b) || plan.sparsity != Sparsity{} || plan.k != kGroupDepth ||
      plan.segments != 1 || datapath.products_per_step < plan.k || datapath.group != 16 ||
      (plan.scale_block != 16 && plan.scale_block != 32) || plan.scale.fraction_bits > 3 ||
      datapath.fraction_bits < kLeastFraction || datapath.fraction_bits > kMostFraction ||
      datapath.min_alignment_exponent - datapath.fraction_bits > kLeastUnit)
    return std::nullopt;
  GroupCore core;
  core.plan = plan;
  core.scales = kGroupDepth / plan.scale_block;
  core.element = plan.a.min_exponent() - plan.a.fraction_bits + plan.b.min_exponent() - plan.b.fraction_bits;
  core.spread = std::min(kMostSpread, (datapath.fraction_bits + core.element) / 2);
  core.quantum = -datapath.fraction_bits;
  return core;
}

std::string why_no_matmul_on_device(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem, DeviceModel model) {
  const DotPlan plan = make_plan(instruction, datapath);
  const auto rules = core_rules(plan);
  const bool one_format = rules && rules->c_half == rules->half && rules->d_half == rules->half;
  if (model == DeviceModel::fast && !one_format && !group_core(plan))
    return "instruction: found " + name_of(instruction) +
           ", allowed on a GPU: floating-point operands of at most 19 bits on datapaths that truncate";
  // The limits of a grid: blocks of 64 rows, and of 32 positions.
  constexpr std::uint64_t kMostBlocks = 65535, kMostRows = kMostBlocks * 64,
                          kMostPositions = kMostBlocks * 32;
  if (problem.m > kMostRows || problem.n > kMostPositions || problem.k > kMostPositions)
    return "sizes: found M " + std::to_string(problem.m) + ", N " + std::to_string(problem.n) + ", K " +
           std::to_string(problem.k) + ", allowed on a GPU: M up to " + std::to_string(kMostRows) +
           ", N and K up to " + std::to_string(kMostPositions);
  return {};
}

}  // namespace mmaudit::device
