#include "reference_parts.hpp"

#include <algorithm>
#include <optional>

namespace mmaudit::oracle {
namespace {

struct Term {
  Exact value;
  std::optional<int> exponent;  // what it brings to the maximum; nothing: it takes no part
  bool nan = false;
};

Term term_of(std::span<const ScaledPair> group, const Datapath& datapath) {
  const Number &scale_a = group.front().scale_a, &scale_b = group.front().scale_b;
  Term term;
  Exact sum;
  std::optional<int> largest;
  bool some_a = false, some_b = false;
  for (const ScaledPair& pair : group) {
    some_a = some_a || !pair.a.zero();
    some_b = some_b || !pair.b.zero();
    if (pair.a.zero() || pair.b.zero()) continue;
    sum = plus(sum, product_of(pair.a.value, pair.b.value));
    largest = std::max(largest.value_or(pair.a.spelled + pair.b.spelled), pair.a.spelled + pair.b.spelled);
  }
  const bool all = datapath.scale_nan == ScaleNan::always;
  term.nan = (scale_a.nan && (all || some_a)) || (scale_b.nan && (all || some_b));
  if (term.nan || scale_a.nan || scale_b.nan) {  // a NaN scale that does not count scales zeros
    if (datapath.zero == ZeroRule::operand_exponent) term.exponent = scale_a.spelled + scale_b.spelled;
    return term;
  }
  term.value = product_of(sum, product_of(scale_a.value, scale_b.value));
  const int of_scales = scale_a.spelled + scale_b.spelled;
  const bool zero = !largest || scale_a.zero() || scale_b.zero();
  if (zero && datapath.zero == ZeroRule::no_part) return term;
  if (!zero && sum.significand == 0 && datapath.cancelled_group == CancelledGroup::no_part) return term;
  term.exponent = of_scales;
  if (datapath.group_exponent == GroupExponent::of_products && largest) term.exponent = of_scales + *largest;
  if (datapath.group_exponent == GroupExponent::of_sum && term.value.significand != 0)
    term.exponent = leading_exponent(term.value);
  return term;
}

}  // namespace

Number scale_of(const Instruction& instruction, const Datapath& datapath, std::span<const std::uint8_t> bytes,
                std::size_t k) {
  const FormatSpec format = spec_of(instruction.scale);
  const auto block = static_cast<std::size_t>(products_per_scale(instruction));
  const std::size_t last = static_cast<std::size_t>(instruction.stored_k()) / block - 1;
  std::uint64_t bits = static_cast<std::uint64_t>(format.bias) << format.fraction_bits;
  if (!bytes.empty() && datapath.scale_use == ScaleUse::applied) bits = bytes[k / block];
  if (!bytes.empty() && datapath.scale_use == ScaleUse::reversed) bits = bytes[last - k / block];
  Number scale = decode(format, bits);
  const bool spare = format.exponent_bits + format.fraction_bits < 8;
  if (spare && datapath.scale_sign == ScaleSign::negates && bits >= 0x80) {
    scale.negative = true;
    scale.value.significand = -scale.value.significand;
  }
  const bool subnormal =
      !scale.nan && !scale.zero() && leading_exponent(scale.value) < format.min_exponent() && !format.no_zero;
  if (subnormal && datapath.subnormal_scale == SubnormalRule::normalised)
    scale.spelled = leading_exponent(scale.value);
  if (subnormal && datapath.subnormal_scale == SubnormalRule::flushed) scale.value = {};
  return scale;
}

Number times_scale(const Number& element, const Number& scale, const Datapath& datapath) {
  Number x = element;
  x.negative = element.negative != scale.negative;
  if (scale.nan && (datapath.scale_nan == ScaleNan::always || !element.zero())) x.nan = true;
  if (scale.nan && !x.nan) return x;  // a zero
  if (x.nan || x.infinite) return x;
  x.value = product_of(element.value, scale.value);
  x.spelled = element.spelled + scale.spelled;
  return x;
}

std::uint64_t grouped_step(std::span<const ScaledPair> pairs, const Number& c, const Datapath& datapath,
                           const FormatSpec& output) {
  std::vector<Term> terms;
  const auto size = static_cast<std::size_t>(datapath.group);
  for (std::size_t first = 0; first < pairs.size(); first += size)
    terms.push_back(term_of(pairs.subspan(first, std::min(size, pairs.size() - first)), datapath));
  bool nan = c.nan;
  for (const Term& term : terms) nan = nan || term.nan;
  if (nan) return nan_of(datapath.output, output);
  if (c.infinite) return infinity_of(output, c.negative);

  int maximum = datapath.min_alignment_exponent;
  if (!c.zero() || datapath.zero == ZeroRule::operand_exponent) maximum = std::max(maximum, c.spelled);
  for (const Term& term : terms) maximum = std::max(maximum, term.exponent.value_or(maximum));
  const int unit = maximum - datapath.fraction_bits;
  const Rounding rounding = rounding_of(datapath.alignment);
  Exact total{in_units(c.value, unit, rounding), unit};
  for (const Term& term : terms) total.significand += in_units(term.value, unit, rounding);
  if (total.significand != 0)
    return encode(total, datapath.output, output, datapath.output.overflow == Overflow::infinity);
  bool all_minus_zero = c.zero() && c.negative;
  const auto minus_zero = [](const ScaledPair& x, const Number& scale_a, const Number& scale_b) {
    const bool zero = x.a.zero() || x.b.zero() || scale_a.zero() || scale_b.zero();
    const bool even = (x.a.negative != x.b.negative) == (scale_a.negative != scale_b.negative);
    return zero && !even;
  };
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const ScaledPair& first = pairs[k / size * size];
    all_minus_zero = all_minus_zero && minus_zero(pairs[k], first.scale_a, first.scale_b);
  }
  return signed_bits(output, all_minus_zero && datapath.output.zero_sign == ZeroSign::ieee, 0);
}

}  // namespace mmaudit::oracle
