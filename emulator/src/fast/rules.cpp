#include "rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/arithmetic/round.hpp"
#include "mmaudit/detail/truncating_spec.hpp"
#include "model/datapath_parts.hpp"

namespace mmaudit::fast {
namespace {

/// Formats whose values are exact normal or subnormal floats, and whose subnormals decode() can make.
bool decodes(const FormatSpec& format) {
  return detail::decodes_by_shifts(format) && format.bias <= kFloatBias;
}

Decode float_decode(const FormatSpec& format, int min_exponent) {
  Decode rule{detail::stored_bits_of(format, min_exponent)};
  rule.sign_shift = 31 - rule.sign_bit;
  rule.to_float_shift = kFloatFraction - format.fraction_bits;
  rule.rebias = static_cast<std::uint32_t>(kFloatBias - format.bias) << kFloatFraction;
  rule.is_f16 = format.id == Format::f16;
  rule.nan_at_minus_zero = format.specials == Specials::nan_at_minus_zero;
  return rule;
}

/// Makes sums of two exponents, plus 127, and both factors' exponents bytes in the form that Decode::byte_top
/// describes, where no other number has a zero's byte and every step has whole pairs of positions. Sums below
/// -126 can't come: product_low is above. Of formats with too many exponents the largest are left out. False
/// when that can't be.
bool make_pairs(const DotSpec& spec, int a_low, int b_low, FastSpec& fast) {
  constexpr int kMostByte = 255, kMiddle = (kMostByte - kFloatBias) / 2;
  bool whole = spec.k % 2 == 0;
  for_each_step(spec, [&](int start, int count) { whole = whole && start % 2 == 0 && count % 2 == 0; });
  const bool all = spec.a.max_exponent() + spec.b.max_exponent() + kFloatBias <= kMostByte;
  const int top = all ? spec.b.max_exponent() : kMiddle;
  if (!whole || a_low + top + kFloatBias <= 0 || top - b_low >= kMostByte) return false;
  fast.a.byte_top = fast.b.byte_top = top;
  fast.a.limited = fast.b.limited = !all;
  fast.a.most_exponent = kMostByte - kFloatBias - top;
  fast.b.most_exponent = top;
  return true;
}

bool serves_rules(const Datapath& datapath) {
  return detail::truncates_plainly(datapath) && datapath.addend != AddendPlace::after_last_truncated &&
         datapath.addend != AddendPlace::before_each_nearest;
}

/// Scales that are powers of two, one for all products of a step.
bool serves_scales(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  bool one_per_step = spec.k % spec.scale_block == 0;
  for_each_step(spec, [&](int start, int count) {
    const auto block = [&](int p) { return evaluation_k(datapath.order, spec.k, p) / spec.scale_block; };
    for (int p = start; p < start + count; ++p) one_per_step = one_per_step && block(p) == block(start);
  });
  return one_per_step && detail::scales_shift_exponents(spec) &&
         datapath.addend == AddendPlace::in_first_step && datapath.output.rounding == Rounding::toward_zero;
}

/// Metadata as the hardware reads it, and pairs of positions that one group of them holds.
bool serves_metadata(const DotSpec& spec) { return spec.datapath.metadata == MetadataRule::selected; }

bool pairs_are_groups(const DotSpec& spec) {
  bool are = spec.sparsity.kept == 2;
  for (int p = 0; p < spec.k; p += 2) {
    const int first = evaluation_k(spec.datapath.order, spec.k, p);
    are = are && first % 2 == 0 && evaluation_k(spec.datapath.order, spec.k, p + 1) == first + 1;
  }
  return are;
}

/// Trees and sums of two stages, by the rules of known hardware alone.
bool serves_stages(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  const bool tree = datapath.arithmetic == Arithmetic::rounded_tree;
  Datapath like = tree ? generations::flushed_tree(datapath.products_per_step)
                       : generations::two_stages(datapath.products_per_step, datapath.partial_sums);
  like.output.nan = datapath.output.nan;
  if (!tree) like.far_addend = datapath.far_addend;
  // Steps that the kernel is compiled for; an instruction may be shorter than a step.
  const int sums = datapath.partial_sums, count = std::min<int>(datapath.products_per_step, spec.k);
  const bool counts = tree        ? count == 2 || count == 4
                      : sums == 1 ? count == 4 || count == 8
                                  : sums == 2 && count == 16;
  return counts && datapath == like && spec.k % count == 0 && !spec.converts && spec.sparsity == Sparsity{} &&
         spec.step.addend.id == Format::f32 && spec.d.id == Format::f32;
}

std::optional<FastSpec> staged_spec(const DotSpec& spec) {
  if (!serves_stages(spec) || !decodes(spec.a) || !decodes(spec.b) ||
      spec.step.product_fraction_bits + 2 > kFloatFraction + 1)
    return std::nullopt;
  FastSpec fast;
  Rules& rules = fast.rules;
  const Datapath& datapath = spec.datapath;
  rules.fraction_bits = datapath.fraction_bits;
  rules.floor = -kFloatBias;
  rules.block = std::min<int>(datapath.products_per_step, spec.k);
  rules.nan = static_cast<std::uint32_t>(nan_bits(datapath.output, spec_of(Format::f32)));
  fast.a = float_decode(spec.a, spec.a.min_exponent());
  fast.b = float_decode(spec.b, spec.b.min_exponent());
  if (datapath.arithmetic == Arithmetic::rounded_tree) {
    rules.staged = Staged::trees;
    for (Decode* decode : {&fast.a, &fast.b}) {
      decode->zero_below = 1U << decode->fraction_bits;
      decode->is_f16 = false;  // it keeps subnormals
    }
    return fast;
  }
  rules.staged = datapath.partial_sums == 2 ? Staged::two_sums : Staged::one_sum;
  rules.drops_far = datapath.far_addend == FarAddend::dropped;
  // Products are exact floats below infinity, and so are the powers of two that scale them, C and the sum.
  rules.product_low = -90;
  rules.product_high = kFloatBias - 1;
  rules.pairs = make_pairs(spec, spec.a.min_exponent(), spec.b.min_exponent(), fast);
  const bool always = !fast.a.limited && spec.a.min_exponent() + spec.b.min_exponent() >= rules.product_low;
  if (!rules.pairs || (rules.staged == Staged::two_sums && !always)) return std::nullopt;
  return fast;
}

}  // namespace

std::optional<FastSpec> fast_spec(const DotSpec& given) {
  if (given.staged) return staged_spec(given);
  DotSpec spec = given;
  const bool sparse = spec.sparsity.kept != spec.sparsity.group;
  if (spec.block_scaled() && (sparse || !serves_scales(spec))) return std::nullopt;
  if (sparse && !serves_metadata(spec)) return std::nullopt;
  spec.scale_block = 0;  // scales come on top of everything below
  const Datapath& datapath = spec.datapath;
  const bool widened = spec.wide.id != Format::none;
  if (!serves_rules(datapath) || !detail::keeps_one_sum_format(spec) || !detail::widens_exactly(spec) ||
      !decodes(spec.a) || !decodes(spec.b)) {
    return std::nullopt;
  }
  // No product may have more digits than a float.
  const FormatSpec& seen_a = widened ? spec.wide : spec.a;
  const FormatSpec& seen_b = widened ? spec.wide : spec.b;
  const int product_bits = seen_a.fraction_bits + seen_b.fraction_bits;
  if (product_bits + 2 > kFloatFraction + 1) return std::nullopt;

  FastSpec fast;
  Rules& rules = fast.rules;
  rules.fraction_bits = datapath.fraction_bits;
  // 2^(F - E) and 2^(E - F) are normal floats from `lowest` up; a sum of 32 bits is finite up to `highest`,
  // so that overflow is the plain core's.
  rules.lowest = datapath.fraction_bits - (kFloatBias - 1);
  rules.highest = kFloatBias - (31 - datapath.fraction_bits);
  if (datapath.min_alignment_exponent > rules.highest)
    return std::nullopt;  // no hardware's; a user's row may say so
  rules.floor = std::max<int>(datapath.min_alignment_exponent, rules.lowest);
  rules.least_top = std::max<int>(datapath.min_alignment_exponent, kLeastE) + kTop;
  // The last bit of every product is a normal float, the product is below 2^(127 + 1), and E is neither too
  // low nor too high.
  rules.product_low = std::max(1 - kFloatBias + product_bits, rules.lowest);
  rules.product_high = std::min(kFloatBias - 2, rules.highest);
  rules.addend_min_exponent = spec.step.output.min_exponent();
  const std::int64_t largest_product =
      (((std::int64_t{2} << spec.a.fraction_bits) - 1) * ((std::int64_t{2} << spec.b.fraction_bits) - 1));
  const int largest_bits = spec.a.fraction_bits + spec.b.fraction_bits;  // widening adds zeros
  constexpr int kMostFraction = 28;                                      // one product and c fit 32 bits
  if (datapath.fraction_bits < 1 || datapath.fraction_bits > kMostFraction || datapath.products_per_step < 1)
    return std::nullopt;
  // In units of 2^(E - F), rounded up.
  const std::int64_t unit_product = datapath.fraction_bits >= largest_bits
                                        ? largest_product << (datapath.fraction_bits - largest_bits)
                                        : (largest_product >> (largest_bits - datapath.fraction_bits)) + 1;
  rules.block = datapath.products_per_step;
  rules.group =
      static_cast<int>(std::min<std::int64_t>(INT32_MAX / unit_product, datapath.products_per_step));
  if (rules.group < 1) return std::nullopt;
  rules.roomy =
      datapath.products_per_step * unit_product + (std::int64_t{2} << datapath.fraction_bits) <= INT32_MAX;
  // An addend is below 2^(F + 1) units, and a float below 2^31 ends seven places up.
  rules.most_sum = std::ldexp(1.0F, 31) - std::ldexp(1.0F, std::max<int>(datapath.fraction_bits + 1, 7));
  rules.keep_mask =
      ~((1U << (kFloatFraction - std::min<int>(datapath.output.fraction_bits, kFloatFraction))) - 1);
  if (datapath.output.rounding == Rounding::nearest_even) {
    rules.nearest_bits = datapath.output.fraction_bits;
    rules.binary16 =
        spec.step.output.id == Format::f16 && rules.nearest_bits == spec.step.output.fraction_bits;
    rules.overflow_from = std::bit_cast<float>(
        static_cast<std::uint32_t>(spec.step.output.max_exponent() + 1 + kFloatBias) << kFloatFraction);
  }
  rules.nan = static_cast<std::uint32_t>(nan_bits(datapath.output, spec_of(Format::f32)));
  rules.addend_last = datapath.addend == AddendPlace::after_last_nearest;
  fast.a = float_decode(spec.a, seen_a.min_exponent());
  fast.b = float_decode(spec.b, seen_b.min_exponent());
  rules.pairs = rules.group >= rules.block && (rules.nearest_bits == 0 || rules.binary16) &&
                make_pairs(spec, seen_a.min_exponent(), seen_b.min_exponent(), fast);
  rules.scaled = given.block_scaled();
  rules.sparse = sparse;
  if (sparse) rules.pairs = rules.pairs && pairs_are_groups(spec);
  fast.a.limited = fast.b.limited = rules.pairs && fast.a.limited;
  return fast;
}

float to_sum(std::uint64_t bits, const FormatSpec& format) {
  const FormatSpec f32 = spec_of(Format::f32);
  if (format.id == Format::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const Operand x = unpack(format, {}, bits);
  if (x.kind == Kind::nan) return std::bit_cast<float>(0x7FFFFFFFU);
  if (x.kind == Kind::infinite)
    return std::bit_cast<float>(static_cast<std::uint32_t>(infinity_bits(f32, x.negative)));
  OutputRule exact;
  exact.zero_sign = ZeroSign::ieee;
  return std::bit_cast<float>(static_cast<std::uint32_t>(round_to_output(
      magnitude(x.significand), x.negative, x.exponent - format.fraction_bits, exact, f32, x.negative)));
}

std::uint64_t from_sum(float sum, const FormatSpec& format, const OutputRule& rule) {
  const auto bits = std::bit_cast<std::uint32_t>(sum);
  if (format.id == Format::f32) return bits;
  const std::uint32_t size = bits & INT32_MAX;
  constexpr std::uint32_t kLeastNormal = std::uint32_t{kFloatBias - 14} << kFloatFraction;
  constexpr std::uint32_t kBeyond = std::uint32_t{kFloatBias + 16} << kFloatFraction;
  if (format.id == Format::f16 && size >= kLeastNormal && size < kBeyond)  // most, at once
    return (bits >> 16 & 0x8000) | (size - (kLeastNormal - (1U << kFloatFraction))) >> (kFloatFraction - 10);
  const Operand x = unpack(spec_of(Format::f32), {}, bits);
  OutputRule exact;
  exact.format = format.id;
  exact.fraction_bits = format.fraction_bits;
  exact.zero_sign = ZeroSign::ieee;
  if (x.kind == Kind::nan) return nan_bits(rule, format);
  if (x.kind == Kind::infinite) return infinity_bits(format, x.negative);
  return round_to_output(magnitude(x.significand), x.negative, x.exponent - kFloatFraction, exact, format,
                         x.negative);
}

}  // namespace mmaudit::fast
