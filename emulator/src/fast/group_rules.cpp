// A grouped datapath as its vector kernel needs it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "mmaudit/detail/truncating_spec.hpp"
#include "rules.hpp"

namespace mmaudit::fast {
namespace {

/// Every code of a format of 4 bits in units of its least number; false where there is none.
bool elements_of(const FormatSpec& format, std::int8_t (&elements)[16], int& most) {
  if (!detail::has_small_integers(format)) return false;
  for (unsigned code = 0; code < 16; ++code) {
    const Operand x = unpack(format, {}, code);
    if (x.significand == 0) continue;
    elements[code] = static_cast<std::int8_t>(x.significand * (1 << (x.exponent - format.min_exponent())));
    most = std::max<int>(most, elements[code]);
  }
  return true;
}

}  // namespace

std::optional<GroupRules> group_rules(const DotSpec& spec) {
  if (!detail::groups_plainly(spec) || spec.sparsity != Sparsity{}) return std::nullopt;
  GroupRules rules;
  const Datapath& datapath = spec.datapath;
  constexpr int kMostGroup = 16, kMostExact = 38;
  rules.group = datapath.group;
  int most_step = 0;
  bool whole = rules.group >= 4 && rules.group <= kMostGroup && rules.group % 4 == 0 && spec.k <= kMaxK;
  for_each_step(spec, [&](int, int count) {
    whole = whole && count % rules.group == 0;
    most_step = std::max(most_step, count);
  });
  int most_a = 0, most_b = 0;
  if (!whole || !elements_of(spec.a, rules.element_a, most_a) ||
      !elements_of(spec.b, rules.element_b, most_b))
    return std::nullopt;
  rules.offset = static_cast<std::int8_t>(most_a);
  if (2 * most_a * most_b * rules.group > INT16_MAX) return std::nullopt;
  int most_scale = 0, most_exponent = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const Operand x = unpack_scale(spec.scale, datapath, byte);
    rules.scale[byte] = {x.exponent, static_cast<std::int16_t>(x.significand)};
    if (x.kind == Kind::nan)
      rules.scale[byte].significand = kNanScale;
    else
      most_exponent = std::max(most_exponent, x.significand == 0 ? 0 : std::abs(x.exponent));
    most_scale = std::max(most_scale, x.significand);
  }
  rules.unit = spec.a.min_exponent() - spec.a.fraction_bits + spec.b.min_exponent() - spec.b.fraction_bits -
               2 * spec.scale.fraction_bits;
  // The product of two scales fits 16 bits, and C times 2^-quantum stays exact beside the groups: below 2^51
  // quanta it is below 2^(E + 1), and a multiple of the quantum is one of 2^(E - F).
  const int fraction = datapath.fraction_bits;
  while ((most_scale * most_scale) << (rules.spread + 1) <= INT16_MAX) ++rules.spread;
  rules.spread = std::min(rules.spread, 2 * fraction - 50 + rules.unit);
  if (fraction < 1 || fraction > kMostExact || rules.spread < 0) return std::nullopt;
  rules.quantum = rules.spread - fraction - rules.unit;
  // No sum is below the least binary32 or above 2^127, and the minimum exponent cuts nothing off.
  const FormatSpec f32 = spec_of(Format::f32);
  constexpr int kHighest = 96;
  if (datapath.min_alignment_exponent > kHighest) return std::nullopt;
  rules.lowest =
      std::max(f32.min_exponent() - f32.fraction_bits, datapath.min_alignment_exponent - fraction) -
      rules.unit;
  rules.highest = kHighest;
  rules.fraction_bits = fraction;
  rules.floor = datapath.min_alignment_exponent;
  rules.nan = static_cast<std::uint32_t>(nan_bits(datapath.output, f32));
  // The general kernel: a scaled sum of a group is a binary32, the sum of a step a binary64, and C stays as
  // it is where no group takes part.
  constexpr int kNearExponent = 16, kMostExponent = 127, kFloatBits = 24, kDoubleBits = 53;
  const std::int64_t most = std::int64_t{most_a} * most_b * rules.group * most_scale * most_scale;
  const auto in_units = static_cast<std::uint64_t>(most * (most_step / rules.group));
  const int bits = static_cast<int>(std::bit_width(in_units)) + fraction + std::max(rules.unit, -fraction);
  if (most >> kFloatBits != 0 || std::max(bits, fraction + 1) >= kDoubleBits ||
      fraction < f32.fraction_bits || rules.floor < -kFieldBias ||
      rules.floor - fraction > f32.min_exponent() - f32.fraction_bits)
    return rules;
  if (most_exponent <= kNearExponent && rules.floor <= -2 * kNearExponent && rules.unit >= -kNearExponent)
    rules.scales = GroupScales::near;
  else if (most_scale == 1 && most_exponent <= kMostExponent && fraction + rules.unit >= 0)
    rules.scales = GroupScales::powers;
  for (ScaleByte& x : rules.scale)
    if (rules.scales == GroupScales::near && x.significand > 0)
      x.factor = std::ldexp(static_cast<float>(x.significand), x.exponent);
  return rules;
}

}  // namespace mmaudit::fast
