#pragma once
// Steps of any finite operands and any sums: E of each element is exact, significands are multiplied apart
// from their exponents, and each product is then scaled by the difference of its exponent and E, which stops
// where nothing is left. Every sum of a step is exact; an infinity or a NaN among the running sums stays. A
// part of the level's one source, not a header of declarations; x != x asks for NaN; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "step.hpp"

namespace mmaudit::fast {
namespace {

/// The compilation of the general path that serves a kind of step: sums always fit 32 bits, or are watched.
template <typename StepKind>
using GeneralKind = Compiled<StepKind::kHow, StepKind::kAddendLast,
                             StepKind::kOneGroup && !StepKind::kWatched ? Fits::always : Fits::groups, false,
                             StepKind::kSide>;

/// E of one vector of elements, plus kTop. `products`: the largest exponent plus kTop, 0 where all are zeros;
/// `shift`: of the step's scales.
template <Side What>
inline Words tops(Floats c, Words products, Words shift, const VectorRules& rules) {
  const Words magnitude = bits<Words>(c) & rules.magnitude, field = magnitude >> kFloatFraction;
  if constexpr (What == Side::scaled) products = where_positive(products, products + shift);
  const int least = rules.addend_min_exponent + kFloatBias;
  const Words of_c = where_positive(magnitude, max(field, splat(least)) + (kTop - kFloatBias));
  return max(max(products, of_c), splat(rules.least_top));
}

/// C's significand times 2^kLift, as an operand's.
inline Floats lifted(Floats c, const VectorRules& rules) {
  constexpr std::int32_t kLifted = (kFloatBias + kLift) << kFloatFraction,
                         kFraction = (1 << kFloatFraction) - 1;
  const Words magnitude = bits<Words>(c) & rules.magnitude, field = magnitude >> kFloatFraction;
  const Words sign = bits<Words>(c) & INT32_MIN, subnormal = field == 0;
  // A subnormal has no hidden bit.
  const Floats hidden = bits<Floats>((subnormal & kLifted) | sign);
  return bits<Floats>((bits<Words>(c) & kFraction) | sign | kLifted) - hidden;
}

/// 2^(F - E) times the power of two that C's significand lacks, at least the float of the field `least`.
inline Floats addend_scale(Floats c, Words top, int least, const VectorRules& rules) {
  const Words field = (bits<Words>(c) & rules.magnitude) >> kFloatFraction;
  const Words down = max(field, splat(1)) - top + (kTop + rules.fraction_bits - kLift);
  return bits<Floats>(max(down, splat(least)) << kFloatFraction);
}

/// C in units of 2^(E - F).
inline Counts aligned(Floats c, Words top, const VectorRules& rules) {
  return bits<Counts>(truncate(lifted(c, rules) * addend_scale(c, top, 0, rules)));
}

/// A sum of more than 32 bits in place of its low ones: less its last places, of which an odd last bit stays.
[[gnu::noinline, gnu::cold]] inline void narrow(Counts& total, Words& top, Words wraps) {
  constexpr int kPlaces = 6;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wraps[lane] == 0) continue;
    const std::int64_t sum = static_cast<std::int32_t>(total[lane]) + (std::int64_t{wraps[lane]} << 32);
    const std::int64_t size = sum < 0 ? -sum : sum;
    const std::int64_t cut = size >> kPlaces | ((size & ((1 << kPlaces) - 1)) != 0 ? 1 : 0);
    total[lane] = static_cast<std::uint32_t>(sum < 0 ? -cut : cut);
    top[lane] += kPlaces;
  }
}

/// total * 2^(E - F) rounded to the output; 0 is +0.
template <typename Kind>
inline Floats finished(Counts total, Words top, const VectorRules& rules) {
  const Floats whole = to_float_toward_zero<Kind::kModeTowardZero>(bits<Words>(total));
  if constexpr (to_nearest(Kind::kHow)) {
    // Binary16: beyond these exponents sums are 0 or infinite, and floats hold what is scaled.
    const Words e = min(max(top, splat(kTop - 60)), splat(kTop + 50));
    const Floats scale = bits<Floats>(((rules.fraction_bits + kTop + kFloatBias) - e) << kFloatFraction);
    return kept<Kind::kHow>(round_sum<Kind::kHow>(bits<Words>(total), whole, scale, rules));
  } else {
    const Words magnitude = bits<Words>(whole) & rules.magnitude;
    const Words e = top - (kTop + rules.fraction_bits), field = (magnitude >> kFloatFraction) + e;
    Words x = bits<Words>(bits<Counts>(magnitude) + (bits<Counts>(e) << kFloatFraction));
    x = select(field > kFloatBias + 127, splat(kExponentField), x);
    const Words small = (field < 1) & (magnitude != 0);
    if (any(small)) [[unlikely]] {
      constexpr std::int32_t kHidden = 1 << kFloatFraction;
      const Words digits = (magnitude & (kHidden - 1)) | kHidden;
      x = select(small, digits >> min(max(1 - field, Words{}), splat(31)), x);
    }
    x = where_positive(magnitude, x & rules.keep);
    return bits<Floats>(x | where_positive(x, bits<Words>(whole) & INT32_MIN));
  }
}

/// Exponent of a product plus kTop, as words of half a lane.
template <Side What>
[[gnu::always_inline]] inline HalfWords product_exponents(const Operands& in, int r, int i) {
  const std::size_t at = static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(i);
  const auto b =
      load<HalfWords>(in.b_exponent + (What == Side::sparse ? in.selection.value[at] : i * kPanel));
  return subtract_to_zero(bits<HalfWords>(splat(in.a_exponent[at])), b);
}

/// Even columns, then odd ones, of the exponents above.
inline Words even_exponents(HalfWords x) { return bits<Words>((bits<Counts>(x) << 16) >> kFloatFraction); }
inline Words odd_exponents(HalfWords x) { return bits<Words>(bits<Counts>(x) >> kFloatFraction); }

/// One step in place.
template <int Rows, typename Kind>
[[gnu::always_inline]] inline void general_step(const Operands& in, const Block& sums,
                                                const VectorRules& rules) {
  constexpr Side kSide = Kind::kSide;
  HalfWords most[Rows] = {};
  for (int i = 0; i < in.count; ++i) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) most[r] = max(most[r], product_exponents<kSide>(in, r, i));
  }
  HalfWords cut[Rows];
  Words top[Rows][2];
  Counts total[Rows][2];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    Words shift[2] = {}, below[2];
    if constexpr (kSide == Side::scaled) {
      const Words a = splat(in.a_scales.exponent[static_cast<std::size_t>(r) * in.a_scales.stride]);
      const auto both = static_cast<Shorts>(bits<Shorts>(a) + load<Shorts>(in.b_scales.exponent));
      shift[0] = bits<Words>(bits<Counts>(both) << 16) >> 16;
      shift[1] = bits<Words>(both) >> 16;
    }
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const auto c = load<Floats>(sums.at(r, h));
      const Words products = h == 0 ? even_exponents(most[r]) : odd_exponents(most[r]);
      top[r][h] = tops<kSide>(c, products, shift[h], rules);
      total[r][h] = aligned(c, top[r][h], rules);
      below[h] = top[r][h] - (rules.fraction_bits + kFloatBias - kLift);
      if constexpr (kSide == Side::scaled) below[h] = min(max(below[h] - shift[h], Words{}), splat(511));
    }
    cut[r] = bits<HalfWords>(below[0] << 7 | below[1] << kFloatFraction);
  }
  Words wraps[Rows][2] = {};
  bool wide = false;
  for (int k = 0; k < in.count;) {
    const int end = Kind::kOneGroup || in.count - k < rules.group ? in.count : k + rules.group;
    Counts sum[Rows][2] = {};
    for (; k < end; ++k) {
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const std::size_t at = static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(k);
        const float* b = in.b_value + (kSide == Side::sparse ? in.selection.value[at] : k * kPanel);
        const Words scale = bits<Words>(subtract_to_zero(product_exponents<kSide>(in, r, k), cut[r]));
        const float a = in.a_value[at];
        sum[r][0] += bits<Counts>(truncate((a * load<Floats>(b)) * bits<Floats>(scale << 16)));
        sum[r][1] += bits<Counts>(
            truncate((a * load<Floats>(b + kLanes)) * bits<Floats>(scale & rules.exponent_field)));
      }
    }
    Words left = {};
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) {
        const Counts x = total[r][h];
        total[r][h] += sum[r][h];
        left |= bits<Words>((x ^ total[r][h]) & (sum[r][h] ^ total[r][h]));
      }
    if (Kind::kOneGroup || !any(left & INT32_MIN)) [[likely]]
      continue;
    wide = true;
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) {
        const Counts x = total[r][h] - sum[r][h];
        const Words wrapped = bits<Words>((x ^ total[r][h]) & (sum[r][h] ^ total[r][h])) >> 31;
        wraps[r][h] += wrapped & (bits<Words>(x) >> 31 | 1);
      }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      if (!Kind::kOneGroup && wide) [[unlikely]]
        narrow(total[r][h], top[r][h], wraps[r][h]);
      const auto c = load<Floats>(sums.at(r, h));
      const Words special = (bits<Words>(c) & rules.magnitude) >= kExponentField;
      store(sums.at(r, h), select(special, c, finished<Kind>(total[r][h], top[r][h], rules)));
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
