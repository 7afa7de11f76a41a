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

/// The rules, and the constants of a step as vectors.
struct VectorRules : Rules {
  Words magnitude = splat(INT32_MAX), exponent_field = splat(kExponentField);
  Words top = splat((fraction_bits + 2 * kFloatBias) << kFloatFraction);  ///< 2^F over a power of two
  Words twice_bias = splat(2 * kFloatBias << kFloatFraction);             ///< one over a power of two
  Words least_addend = splat((addend_min_exponent + kFloatBias) << kFloatFraction);
  Words keep = splat(static_cast<std::int32_t>(keep_mask));

  explicit VectorRules(const Rules& rules) : Rules(rules) {}

  /// With 16 registers constants stay in memory: products need all registers, which compilers do not see.
  [[gnu::always_inline]] void leave_registers() {
#if !defined(__AVX512F__) && !defined(__aarch64__)
    asm volatile("" : "+m"(*this));
#endif
  }
};

/// The exponent field of the addend that the maximum sees; a zero's is below every real one.
template <Rounds How>
inline Words seen_exponent(Floats addend, const VectorRules& rules) {
  const Words exponent = bits<Words>(addend) & rules.exponent_field;
  // Of binary32 there are only zeros and normal numbers here, see tiny().
  if constexpr (!to_nearest(How)) return exponent;
  return max(exponent, where_positive(bits<Words>(addend) & rules.magnitude, rules.least_addend));
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
inline Floats round_sum(Words sum, Floats whole, Floats scale, const VectorRules& rules) {
  Floats x = whole;
  if constexpr (to_nearest(How)) {
    // An odd last bit stands for what was cut off, so that the second rounding sees it.
    x = bits<Floats>(bits<Words>(x) | (~(truncate(x) == sum) & 1));
  }
  x = x * bits<Floats>(rules.twice_bias - bits<Words>(scale));
  if constexpr (How == Rounds::binary16) return through_binary16(x);
  if constexpr (How == Rounds::nearest) return round_nearest(x, rules);
  return bits<Floats>(bits<Words>(x) & rules.keep);
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
