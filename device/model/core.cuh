#pragma once
// The fast model: a block of threads computes kBlockRows x kBlockColumns elements, each thread Rows x
// kColumns of them, through the steps of one instruction after another.
//
// A step reads its products twice. First the exponents, two columns per word, whose maximum is E. Then the
// magnitudes, as binary64 whose low word is zero: fma(|a|, |b|, x) toward zero, where x is 2^(52 + E - F) or
// more but below twice that, adds the product to x's low word, cut off below 2^(E - F). The complement of the
// low word before and after makes that a subtraction; between two products the complements merge, so that
// only changes of sign count. C is the first addend, of the same kind, so that between steps the sums stand
// where x stands.
//
// The low word starts in the middle, at 2^31: a sum of less than 2^31 units in magnitude never leaves it. One
// that does (it may where `may_carry`) carries into the high word, once on the way out and once on the way
// back, since what is added is never negative; an odd count says that it is outside. No sum gets to 2^32
// units, from where the low word would not say on which side. Subtracting the middle makes x the sum.
#include <cstdint>
#include <type_traits>

#include "model/panels.cuh"
#include "model/words.cuh"

namespace mmaudit::device::core {

/// The running sums of a thread, values of the sums' format as binary64; during a step, its intermediate
/// results.
template <int Rows, typename T = double>
struct Sums {
  T of[Rows][kColumns] = {};
  bool special = false;  ///< some sum is infinite or a NaN

  __device__ void look_for_specials() {
    if constexpr (sizeof(T) == sizeof(double)) {
      std::uint32_t largest = 0;
#pragma unroll
      for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          largest = max(largest, static_cast<std::uint32_t>(__double2hiint(of[r][c])) & 0x7FFFFFFFU);
      special = largest >= kDoubleInfinity;
    }
  }
};
/// Sums between instructions: where C is added last they are its addends, binary32.
template <bool AddendLast, int Rows>
using Held = Sums<Rows, std::conditional_t<AddendLast, float, double>>;

/// Sums before a step that may meet infinities or NaNs: rarely needed, so not in registers.
template <int Rows>
using Before = double[Rows * kColumns];

__device__ inline double to_half_and_back(double x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return static_cast<double>(float_of_half(bits));
}

/// A sum that is far below the largest binary16, to nearest even in it; every zero is +0. The sum of it
/// and 1.5 times 2^(42 + its exponent) ends where binary16 does.
__device__ inline double round_tame_half(double sum) {
  constexpr std::int32_t kField = 0x7FF00000, kHalf = 0x80000, kAbove = 52 - 10, kLeast = -14;
  const std::int32_t high = __viaddmax_s32(__double2hiint(sum) & kField, (kAbove << 20) + kHalf,
                                           ((kLeast + kAbove + 1023) << 20) + kHalf);
  const double large = __hiloint2double(high, 0);
  return __dadd_rn(__dadd_rn(sum, large), -large);
}

/// An exact sum as a value of the sums' format; every zero is +0.
template <bool Half>
__device__ inline double round_sum(double sum, const CoreRules& rules) {
  if constexpr (Half) return to_half_and_back(sum) + 0.0;
  const float cut = __uint_as_float(__float_as_uint(__double2float_rz(sum)) & rules.keep_mask);
  return fabs(sum) >= 0x1p128 ? copysign(__longlong_as_double(0x7FF0000000000000), sum)
                              : static_cast<double>(cut) + 0.0;
}

/// x + y to nearest even in the sums' format.
template <bool Half>
__device__ inline float add_nearest(float x, float y, std::uint32_t nan) {
  float sum = __fadd_rn(x, y);
  // binary32 holds twice the digits of binary16 and two: rounding again is harmless.
  if constexpr (Half) sum = static_cast<float>(to_half_and_back(static_cast<double>(sum)));
  return sum != sum ? __uint_as_float(Half ? 0x7FFFFFFFU : nan) : sum;
}

/// `masked`: some operand of the chunk is infinite or a NaN, so that there are masks. An infinity or a NaN
/// among the operands of a step or in the sum before it decides the element; without one the element is
/// `sum`.
__device__ inline double special_element(const CoreRules& rules, const Panels& panels, bool masked, int row,
                                         int column, int first, double before, double sum) {
  std::uint32_t nan = 0, plus = 0, minus = 0;
  const int end = masked ? first + rules.step : 0;
  for (int word = first & ~(kMaskBits - 1); word < end; word += kMaskBits) {
    const auto a = [&](Mask which) { return panels.mask(false, which, word, row); };
    const auto b = [&](Mask which) { return panels.mask(true, which, word, column); };
    std::uint32_t of_step = ~a(kMaskAbsent);
    if (rules.step < kMaskBits) of_step &= ((1U << rules.step) - 1) << (first - word);
    const std::uint32_t infinite = (a(kMaskInfinity) | b(kMaskInfinity)) & of_step;
    const std::uint32_t negative = a(kMaskNegative) ^ b(kMaskNegative);
    nan |= (a(kMaskNan) | b(kMaskNan) | (infinite & (a(kMaskZero) | b(kMaskZero)))) & of_step;
    plus |= infinite & ~negative;
    minus |= infinite & negative;
  }
  const double infinity = __longlong_as_double(0x7FF0000000000000);
  if (before == infinity) plus |= 1;
  if (before == -infinity) minus |= 1;
  if (before != before || nan != 0 || (plus != 0 && minus != 0))
    return __longlong_as_double(0x7FF8000000000000);
  if (plus != 0) return infinity;
  return minus != 0 ? -infinity : sum;
}

/// All elements of a step for which operands or sums have infinities or NaNs.
template <int Rows>
__device__ inline void special_elements(const CoreRules& rules, const Panels& panels, bool masked, int first,
                                        const Before<Rows>& before, Sums<Rows>& sums) {
  Before<Rows> now;
#pragma unroll
  for (int i = 0; i < Rows * kColumns; ++i) now[i] = sums.of[i / kColumns][i % kColumns];
#pragma unroll 1
  for (int i = 0; i < Rows * kColumns; ++i)
    now[i] = special_element(rules, panels, masked, thread_row<Rows>() + i / kColumns,
                             thread_column() + i % kColumns, first, before[i], now[i]);
#pragma unroll
  for (int i = 0; i < Rows * kColumns; ++i) sums.of[i / kColumns][i % kColumns] = now[i];
  sums.look_for_specials();
}

inline constexpr std::int32_t kField = 0x7FF00000, kMiddle = static_cast<std::int32_t>(0x80000000U);

template <int Rows>
using Maxima =
    std::uint32_t[Rows][kColumns / 2];  ///< 16 (E + start_bias()) of products, two columns per word

/// The start of a step: x of every element has C in it. Returns the largest field of E + start_bias(), in its
/// place. Tame: no C below its format's least exponent, zero included, can matter.
template <bool Tame, int Rows>
__device__ inline std::int32_t start_of_step(const CoreRules& rules, const Maxima<Rows>& maxima,
                                             Sums<Rows>& sums) {
  const std::int32_t to_start = (start_bias(rules) - 1023) << 20;
  std::int32_t above = 0;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const double addend = sums.of[r][c];
      const std::uint32_t both = maxima[r][c / 2];
      // Below the field of an odd column stand bits of the even one. They come back off with x; the last four
      // are 0.
      const auto products = static_cast<std::int32_t>(c % 2 == 0 ? both << 16 : both);
      std::int32_t own = __double2hiint(addend) & kField;
      if constexpr (!Tame) own = own == 0 ? 0 : max(own, (rules.addend_min_exponent + 1023) << 20);
      const std::int32_t high = __viaddmax_s32(own, to_start, products);
      const std::int32_t flip = __double2hiint(addend) >> 31;
      const double x = __dadd_rz(fabs(addend), __hiloint2double(high, kMiddle ^ flip));
      sums.of[r][c] = __hiloint2double(__double2hiint(x), __double2loint(x) ^ flip);
      above = max(above, high);
    }
  }
  return above;
}

/// Some sum is outside its low word.
template <int Rows>
__device__ inline bool has_carried(const Sums<Rows>& sums) {
  std::int32_t all = 0;
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) all |= __double2hiint(sums.of[r][c]);
  return (all & 1) != 0;
}

/// The end of a step: x becomes the sum, rounded. Tame: to a number that is not below the format's least
/// exponent and far from its largest, and nothing has carried. Whole: no place of the format is cut off.
template <bool Half, bool Tame, bool Whole, int Rows>
__device__ inline void finish(const CoreRules& rules, const Panels& panels, int first, Sums<Rows>& sums) {
  std::uint32_t a_last[Rows], b_last[kColumns];
  const int last = (first >> (31 - __clz(rules.step))) * kPanelElements;
  load_words(a_last, panels.a.last + last + thread_row<Rows>());
  load_words(b_last, panels.b.last + last + thread_column());
  const auto keep_high = static_cast<std::int32_t>(rules.keep_mask >> 3 | 0xE0000000U),
             keep_low = static_cast<std::int32_t>(rules.keep_mask << 29);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const double x = sums.of[r][c];
      const auto low =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(__double2loint(x)) ^ a_last[r] ^ b_last[c]);
      std::int32_t high = __double2hiint(x);
      if constexpr (!Tame) high &= kField;
      double sum = __hiloint2double(high, low) - __hiloint2double(high, kMiddle);
      if constexpr (!Tame) {
        const double range = __hiloint2double(high - ((52 - 32) << 20), 0);
        if ((__double2hiint(x) & 1) != 0) sum -= copysign(range, sum);
      }
      if constexpr (Half && Tame) {
        sums.of[r][c] = round_tame_half(sum);
      } else if constexpr (!Tame) {
        sums.of[r][c] = round_sum<Half>(sum, rules);
      } else {
        const std::int32_t kept = __double2hiint(sum);
        sums.of[r][c] = __hiloint2double(Whole ? kept : kept & keep_high, __double2loint(sum) & keep_low);
      }
    }
  }
}

/// One step: positions [first, first + step) of the chunk. Step: its products, or 0 where they are not known
/// before; where they are 4, 8 or 16, the format is whole.
template <bool Half, int Step, int Rows>
__device__ inline void one_step(const CoreRules& rules, const Panels& panels, bool masked, int first,
                                Sums<Rows>& sums) {
  constexpr bool kWhole = Step == 4 || Step == 8 || Step == 16;
  const int end = first + (Step != 0 ? Step : rules.step);
  const int row = thread_row<Rows>(), column = thread_column();
  const bool special = masked || sums.special;
  Before<Rows> before;
  if (special) {
#pragma unroll
    for (int i = 0; i < Rows * kColumns; ++i) before[i] = sums.of[i / kColumns][i % kColumns];
  }
  Maxima<Rows> maxima;
  const std::uint32_t floor = static_cast<std::uint32_t>(rules.floor + start_bias(rules)) * 0x100010U;
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int h = 0; h < kColumns / 2; ++h) maxima[r][h] = floor;
#pragma unroll 4
  for (int p = first; p < end; ++p) {
    std::uint32_t a[Rows];
    load_words(a, panels.a.exponent + 2 * (p * kPanelElements + row));
    const uint2 b = *reinterpret_cast<const uint2*>(panels.b.exponent + p * kPanelElements + column);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      maxima[r][0] = __viaddmax_s16x2(a[r], b.x, maxima[r][0]);
      maxima[r][1] = __viaddmax_s16x2(a[r], b.y, maxima[r][1]);
    }
  }
  std::uint32_t least = 0x7FFF7FFFU;
#pragma unroll
  for (int r = 0; r < Rows; ++r) least = __vimin3_s16x2(least, maxima[r][0], maxima[r][1]);
  const int lowest =
      min(static_cast<std::int32_t>(least << 16) >> 16, static_cast<std::int32_t>(least) >> 16);
  bool tame = lowest >= (rules.least_tame + start_bias(rules)) * 16 && !sums.special;
  const std::int32_t above =
      tame ? start_of_step<true>(rules, maxima, sums) : start_of_step<false>(rules, maxima, sums);
  const double *a_numbers = panels.a.number + first * kBlockRows,
               *b_numbers = panels.b.number + first * kBlockColumns;
  const std::uint32_t *a_flips = panels.a.flip + first * kPanelElements + row,
                      *b_flips = panels.b.flip + first * kPanelElements + column;
#pragma unroll 1
  for (int p = first; p < end; ++p) {
    double a[Rows], b[kColumns];
    std::uint32_t a_flip[Rows], b_flip[kColumns];
    load_numbers(a, a_numbers, row);
    load_words(a_flip, a_flips);
    load_numbers(b, b_numbers, column);
    load_words(b_flip, b_flips);
    a_numbers += kBlockRows, b_numbers += kBlockColumns;
    a_flips += kPanelElements, b_flips += kPanelElements;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const double x = sums.of[r][c];
        const auto low = static_cast<std::uint32_t>(__double2loint(x)) ^ a_flip[r] ^ b_flip[c];
        sums.of[r][c] = __fma_rz(a[r], b[c], __hiloint2double(__double2hiint(x), static_cast<int>(low)));
      }
    }
  }
  tame =
      tame && above < (rules.most_tame + start_bias(rules)) << 20 && !(rules.may_carry && has_carried(sums));
  if (tame) {
    finish<Half, true, kWhole>(rules, panels, first, sums);
  } else {
    finish<Half, false, kWhole>(rules, panels, first, sums);
    sums.look_for_specials();
  }
  if (special) special_elements(rules, panels, masked, first, before, sums);
}

/// Positions [from, end) of the chunk, whole instructions.
template <bool Half, bool AddendLast, int Step, int Rows>
__device__ inline void run(const CoreRules& rules, const Panels& panels, bool masked, int from, int end,
                           Held<AddendLast, Rows>& sums) {
  if constexpr (!AddendLast) {
    for (int first = from; first < end; first += Step != 0 ? Step : rules.step)
      one_step<Half, Step>(rules, panels, masked, first, sums);
  } else {
    Sums<Rows> fresh;
    for (int first = from; first < end; first += Step != 0 ? Step : rules.step) {
      one_step<Half, Step>(rules, panels, masked, first, fresh);
      if ((first + rules.step) % rules.depth != 0) continue;
#pragma unroll
      for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          sums.of[r][c] = add_nearest<Half>(sums.of[r][c], static_cast<float>(fresh.of[r][c]), rules.nan);
      fresh = {};
    }
  }
}

/// Raw bits of C as a number. A NaN loses its bits: the rule decides which come out.
__device__ inline double to_sum(bool half, std::uint32_t bits) {
  return static_cast<double>(half ? float_of_half(static_cast<std::uint16_t>(bits)) : __uint_as_float(bits));
}
/// A value of the sums' format as raw bits of D, rounded to nearest even where D is narrower.
__device__ inline std::uint32_t from_sum(bool half, double sum, const CoreRules& rules) {
  if (sum != sum) return half ? rules.d_nan : rules.nan;
  const auto number = static_cast<float>(sum);
  return half ? half_of_float(number) : __float_as_uint(number);
}

/// Calls call.template operator()<Half, AddendLast, Step>() for the kernel that serves the rules.
template <typename Call>
void for_rules(const CoreRules& rules, const Call& call) {
  if (rules.half && rules.addend_last) return call.template operator()<true, true, 0>();
  if (rules.half)
    return rules.step == 16 ? call.template operator()<true, false, 16>()
                            : call.template operator()<true, false, 0>();
  const bool whole = rules.keep_mask == ~std::uint32_t{0};
  if (rules.addend_last)
    return whole && rules.step == 16 && rules.depth <= kChunk ? call.template operator()<false, true, 16>()
                                                              : call.template operator()<false, true, 0>();
  if (whole && rules.step == 4) return call.template operator()<false, false, 4>();
  if (whole && rules.step == 8) return call.template operator()<false, false, 8>();
  if (whole && rules.step == 16) return call.template operator()<false, false, 16>();
  if (rules.step == 32) return call.template operator()<false, false, 32>();
  return call.template operator()<false, false, 0>();
}

}  // namespace mmaudit::device::core
