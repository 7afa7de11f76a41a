#pragma once
// Addends in, sums out, lane by lane: exponents, ranges and the one rounding of a step.
// A part of the level's one source, not a header of declarations; x != x asks for NaN.
// NOLINTBEGIN(misc-definitions-in-headers,misc-redundant-expression)
#include "level.hpp"
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

/// How a step's sum becomes a float: to nearest; to binary16, to nearest; toward zero; toward zero in a
/// thread that rounds all floats so, which makes that one instruction.
enum class Rounds { nearest, binary16, toward_zero_here, toward_zero };

constexpr bool to_nearest(Rounds how) { return how == Rounds::nearest || how == Rounds::binary16; }

constexpr std::int32_t kExponentField = 0x7F800000;

/// The addend as far as its exponent field matters for the maximum; a zero's is below every real one.
template <Rounds How>
inline Floats seen_addend(Floats addend, const Rules& rules) {
  // Of binary32 there are only zeros and normal numbers here, see tiny().
  if constexpr (!to_nearest(How)) return addend;
  const Words magnitude = bits<Words>(addend) & INT32_MAX;
  const Words least = splat((rules.addend_min_exponent + kFloatBias) << kFloatFraction);
  return bits<Floats>(max(magnitude, least & ~(magnitude == 0)));
}

/// Lanes whose addend lies where scaling leaves the normal floats.
inline Words tiny(Floats addend, const Rules& rules) {
  const Words magnitude = bits<Words>(addend) & INT32_MAX;
  return (magnitude != 0) & ((magnitude >> kFloatFraction) < rules.lowest + kFloatBias);
}

/// Lanes whose exponent is above `most`, infinities and NaNs among them.
inline Words above(Floats x, int most) {
  return ((bits<Words>(x) & INT32_MAX) >> kFloatFraction) > most + kFloatBias;
}

/// To `fraction_bits` below the leading bit, or below 2^min_exponent, to nearest even.
inline Floats round_nearest(Floats x, const Rules& rules) {
  const Words magnitude = bits<Words>(x) & 0x7FFFFFFF;
  const Words exponent = max((magnitude >> 23) - 127, splat(rules.addend_min_exponent));
  // 1.5 * 2^n, whose last place is the last place to keep.
  const Floats magic = bits<Floats>(((exponent + (127 + 23 - rules.nearest_bits)) << 23) | 0x400000);
  const Floats rounded = (x + magic) - magic;
  const Floats infinity = bits<Floats>((bits<Words>(x) & INT32_MIN) | 0x7F800000);
  const Words beyond =
      bits<Words>(rounded >= rules.overflow_from) | bits<Words>(rounded <= -rules.overflow_from);
  return select(beyond, infinity, rounded);
}

/// A result as it is kept: what rounded to zero is +0. Between steps the sign of a zero doesn't matter.
template <Rounds How>
inline Floats kept(Floats x) {
  return How == Rounds::binary16 ? x + Floats{} : x;
}

/// sum / scale rounded to the output; `whole` is the float next to sum toward zero.
template <Rounds How>
inline Floats round_sum(Words sum, Floats whole, Floats scale, const Rules& rules) {
  Floats x = whole;
  if constexpr (to_nearest(How)) {
    // An odd last bit stands for what was cut off, so that the second rounding sees it.
    x = bits<Floats>(bits<Words>(x) | (~(truncate(x) == sum) & 1));
  }
  x = x * bits<Floats>((2 * kFloatBias << kFloatFraction) - bits<Words>(scale));
  if constexpr (How == Rounds::binary16) return through_binary16(x);
  if constexpr (How == Rounds::nearest) return round_nearest(x, rules);
  return bits<Floats>(bits<Words>(x) & static_cast<std::int32_t>(rules.keep_mask));
}

/// x + y to nearest even in the output's format; not for NaNs.
template <Rounds How>
inline Floats add_numbers(Floats x, Floats y, const Rules& rules) {
  const Floats sum =
      x + y;  // binary32 holds twice the digits of binary16 and two: rounding again is harmless
  if constexpr (How == Rounds::binary16) return through_binary16(sum);
  if constexpr (How == Rounds::nearest) {
    const Words as_is = bits<Words>(sum == 0.0F) | ((bits<Words>(sum) & 0x7F800000) == 0x7F800000);
    return select(as_is, sum, round_nearest(sum, rules));
  }
  return sum;
}

/// The same, and the rule's NaN.
template <Rounds How>
inline Floats add_nearest(Floats x, Floats y, const Rules& rules) {
  const Floats sum = x + y;
  return select(bits<Words>(sum != sum), splat(__builtin_bit_cast(float, rules.nan)),
                add_numbers<How>(x, y, rules));
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,misc-redundant-expression)
