#include "model/core_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/detail/truncating_spec.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/refusal.hpp"
#include "model/groups.hpp"
#include "model/trees.hpp"
#include "model/unpacked.hpp"

namespace mmaudit::device {
namespace {

constexpr int kDoubleBias = 1023;

CoreDecode core_decode(const FormatSpec& format, int min_exponent) {
  CoreDecode rule{detail::stored_bits_of(format, min_exponent)};
  rule.rebias = kDoubleBias - format.bias;
  rule.least = format.min_exponent() - format.fraction_bits;
  rule.nan_at_minus_zero = format.specials == Specials::nan_at_minus_zero;
  return rule;
}

bool serves(const Datapath& datapath) {
  return detail::truncates_plainly(datapath) && datapath.infinity_times_zero == InfinityTimesZero::nan &&
         datapath.metadata == MetadataRule::selected &&
         (datapath.addend == AddendPlace::in_first_step ||
          datapath.addend == AddendPlace::after_last_nearest);
}

/// Two stages: 4 or 8 products in one sum, 16 in two.
bool serves_two_stages(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  const FormatSpec sums = spec_of(Format::f32);
  Datapath like;
  like.arithmetic = Arithmetic::two_stage_dot_add;
  like.products_per_step = datapath.products_per_step;
  like.partial_sums = datapath.partial_sums;
  like.far_addend = datapath.far_addend;
  like.fraction_bits = kStagedFraction;
  like.sum_fraction_bits = kStagedSumFraction;
  like.product_overflow = ProductOverflow::infinity;
  like.output.rounding = Rounding::nearest_even;
  like.output.zero_sign = ZeroSign::of_sum;
  like.output.nan = datapath.output.nan;
  like.min_alignment_exponent = datapath.min_alignment_exponent;  // not read
  const int step = datapath.products_per_step;
  const bool known = datapath.partial_sums == 1 ? step == kStagedStep / 2 || step == kStagedStep
                                                : step == datapath.partial_sums * kStagedStep;
  return datapath == like && known && spec.step.addend.id == sums.id && spec.d.id == sums.id &&
         !spec.block_scaled() && spec.sparsity == Sparsity{} && spec.k % step == 0 &&
         spec.a.min_exponent() + spec.b.min_exponent() > kStagedFloor;
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

std::optional<CoreRules> core_rules(const DotSpec& given) {
  DotSpec spec = given;
  const bool sparse = spec.sparsity.kept != spec.sparsity.group;
  if (spec.block_scaled() && (sparse || !detail::scales_shift_exponents(spec))) return std::nullopt;
  spec.scale_block = 0;  // scales change operands, not rules
  const Datapath& datapath = spec.datapath;
  const bool widened = spec.wide.id != Format::none;
  const bool staged = serves_two_stages(spec);
  if ((!staged && (!serves(datapath) || !detail::sums_in_output_format(spec))) ||
      !detail::ends_in_binary16_or_sums(spec) || !detail::widens_exactly(spec) ||
      !detail::decodes_by_shifts(spec.a) || !detail::decodes_by_shifts(spec.b)) {
    return std::nullopt;
  }
  const FormatSpec& seen_a = widened ? spec.wide : spec.a;
  const FormatSpec& seen_b = widened ? spec.wide : spec.b;
  CoreRules rules;
  rules.a = core_decode(spec.a, seen_a.min_exponent());
  rules.b = core_decode(spec.b, seen_b.min_exponent());
  rules.fraction_bits = datapath.fraction_bits;
  rules.two_stages = staged;
  if (staged) rules.sums = datapath.partial_sums;
  rules.drops_far = staged && datapath.far_addend == FarAddend::dropped;
  // Where no product takes part, C's exponent counts.
  rules.floor = staged ? kStagedFloor : datapath.min_alignment_exponent;
  rules.addend_min_exponent = spec.step.output.min_exponent();
  rules.half = datapath.output.format == Format::f16;
  rules.c_half = spec.step.addend.id == Format::f16;
  rules.d_half = spec.d.id == Format::f16;
  rules.addend_last = datapath.addend == AddendPlace::after_last_nearest;
  rules.keep_mask = ~((1U << (spec_of(Format::f32).fraction_bits - datapath.output.fraction_bits)) - 1);
  if (rules.half) rules.keep_mask = ~0U;
  rules.nan = static_cast<std::uint32_t>(nan_bits(datapath.output, spec.step.output));
  rules.d_nan = static_cast<std::uint32_t>(nan_bits(spec.conversion, spec.d));
  const int kept = spec.sparsity.kept, group = spec.sparsity.group;
  const int segment = spec.k / spec.segments;
  rules.products = datapath.products_per_step < segment ? datapath.products_per_step : segment;
  rules.step = rules.products / kept * group;
  rules.depth = spec.k / kept * group;
  const std::int64_t units = most_units(rules, seen_a, seen_b);
  const std::int64_t with_c = units + (std::int64_t{2} << datapath.fraction_bits);
  rules.may_carry = with_c >= std::int64_t{1} << 31;
  // C is below 2^(E + 1) and every product below 2^(E + 2), so sums stay below about half of 2^(E + `width`).
  const int width = std::bit_width(static_cast<unsigned>(4 * rules.products + 2));
  rules.limit = std::ldexp(1.0F, spec.step.output.max_exponent());
  rules.most_tame = spec.step.output.max_exponent() + 2 - width;
  rules.least_tame = rules.addend_min_exponent;
  if (!rules.half)
    rules.least_tame = std::max(rules.least_tame, datapath.fraction_bits - datapath.output.fraction_bits +
                                                      spec.step.output.min_exponent());
  // The accumulator's unit, 2^(E - F) for any E from the floor up, has to be a binary64; no hardware has a
  // floor above binary32's largest exponent, a user's datapath may.
  constexpr int kLeastDepth = 4, kLeastFloor = -200, kMostFloor = 127;
  if (rules.depth < kLeastDepth || rules.depth > kCoreDepth ||
      !std::has_single_bit(static_cast<unsigned>(rules.depth)) || rules.step < kLeastDepth ||
      !std::has_single_bit(static_cast<unsigned>(rules.step)) || rules.products % kept != 0 ||
      segment % rules.products != 0 || datapath.fraction_bits < 1 || datapath.fraction_bits > 26 ||
      (rules.floor < kLeastFloor && !staged) || rules.floor > kMostFloor || with_c > std::int64_t{1} << 32) {
    return std::nullopt;
  }
  for (int i = 0; i < rules.depth; ++i) {
    // Groups stay together, in the order of their first stored elements. The products of partial sums are
    // taken in turn.
    const int of_step = i % rules.step, each = rules.step / rules.sums;
    const int place = i - of_step + of_step % each * rules.sums + of_step / each;
    const int stored = evaluation_k(datapath.order, spec.k, place / group * kept);
    if (stored % kept != 0) return std::nullopt;
    rules.order[i] = static_cast<std::int8_t>(stored / kept * group + i % group);
  }
  return rules;
}

std::optional<GroupCore> group_core(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  constexpr int kLeastFraction = 10, kMostFraction = 38;  // beyond, sums are no exact binary64
  constexpr int kMostSpread = 16;                         // beyond, sums times scales are no 32-bit integers
  constexpr int kLeastUnit = -149;                        // of C and of two sides and two elements
  constexpr int kLeastFloor = -250;                       // above a group that takes no part
  if (!detail::groups_plainly(spec) || !detail::has_small_integers(spec.a) ||
      !detail::has_small_integers(spec.b) || spec.sparsity != Sparsity{} || spec.k != kGroupDepth ||
      spec.segments != 1 || datapath.products_per_step < spec.k || datapath.group != 16 ||
      (spec.scale_block != 16 && spec.scale_block != 32) || spec.scale.fraction_bits > 3 ||
      datapath.fraction_bits < kLeastFraction || datapath.fraction_bits > kMostFraction ||
      datapath.min_alignment_exponent < kLeastFloor ||
      datapath.min_alignment_exponent - datapath.fraction_bits > kLeastUnit)
    return std::nullopt;
  GroupCore core;
  core.spec = spec;
  core.scales = kGroupDepth / spec.scale_block;
  core.element = spec.a.min_exponent() - spec.a.fraction_bits + spec.b.min_exponent() - spec.b.fraction_bits;
  core.spread = std::min(kMostSpread, (datapath.fraction_bits + core.element) / 2);
  core.quantum = -datapath.fraction_bits;
  return core;
}

std::optional<TreeRules> tree_rules(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  Datapath like;
  like.arithmetic = Arithmetic::rounded_tree;
  like.products_per_step = datapath.products_per_step;
  like.subnormal_operand = like.subnormal_addend = SubnormalRule::flushed_to_plus;
  like.output.rounding = Rounding::nearest_even;
  like.output.zero_sign = ZeroSign::ieee;
  like.output.flush_subnormals = true;
  like.output.nan = datapath.output.nan;
  // Rules that a tree does not read.
  like.fraction_bits = datapath.fraction_bits;
  like.min_alignment_exponent = datapath.min_alignment_exponent;
  const bool half = spec.a.id == Format::f16, brain = spec.a.id == Format::bf16;
  const int step = datapath.products_per_step;
  if (!(datapath == like) || !(half || brain) || spec.b.id != spec.a.id ||
      spec.step.addend.id != Format::f32 || spec.d.id != Format::f32 || spec.sparsity != Sparsity{} ||
      spec.block_scaled() || (step != 2 && step != 4) || spec.k % step != 0)
    return std::nullopt;
  return TreeRules{half, step, spec.k, static_cast<std::uint32_t>(nan_bits(datapath.output, spec.d))};
}

std::string why_no_matmul_on_device(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem, DeviceModel model) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  const auto rules = core_rules(spec);
  const bool one_format = rules && rules->c_half == rules->half && rules->d_half == rules->half;
  if (model == DeviceModel::fast && !one_format && !group_core(spec) && !tree_rules(spec))
    return refusal(
        "instruction: found {} on a GPU, allowed: floating-point operands of at most 19 bits on datapaths "
        "that truncate, of 16 bits on trees of binary32",
        name_of(instruction));
  // The limits of a grid: blocks of 64 rows, and of 32 positions.
  constexpr std::uint64_t kMostBlocks = 65535, kMostRows = kMostBlocks * 64,
                          kMostPositions = kMostBlocks * 32;
  if (problem.m > kMostRows || problem.n > kMostPositions || problem.k > kMostPositions)
    return refusal("sizes: found M {}, N {}, K {} on a GPU, allowed: M up to {}, N and K up to {}", problem.m,
                   problem.n, problem.k, kMostRows, kMostPositions);
  return {};
}

}  // namespace mmaudit::device
