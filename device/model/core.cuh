#pragma once
// The fast model: a block of threads computes kBlockRows x kBlockColumns elements, each thread Rows x
// kColumns of them, through the steps of one instruction after another.
//
// A step reads its products twice. First the exponents, two columns in a word, whose maximum is E. Then the
// magnitudes, as binary64 whose low word is zero: fma(|a|, |b|, x) toward zero, where x is 2^(52 + E - F) or
// more but below twice that, adds the product to x's low word, cut off below 2^(E - F). The complement of the
// low word before and after makes that a subtraction; between two products the complements merge, so that
// only changes of sign count. C is the first addend, of the same kind, so that between steps the sums stand
// where x stands.
//
// The low word starts in the middle, at 2^31: a sum of less than 2^31 units in magnitude never leaves it. One
// that does (it may where `may_carry`) carries into the high word, once on the way out and once on the way
// back, since what is added is never negative; an odd count says that it is outside, and no sum gets so far
// that the low word would not say where. Subtracting the middle makes x the sum.
#include <cstdint>

#include "model/core_rules.hpp"
#include "model/unpacked.hpp"
#include "model/words.cuh"

namespace mmaudit::device::core {

inline constexpr int kBlockRows = 64, kBlockColumns = 64, kColumns = 4;  // the last of a thread
/// How many rows a thread owns. Eight take the fewest instructions an element; four, twice the warps, hide
/// what a block waits for where it has the depth of one instruction only.
inline constexpr int kRowsOfDeep = 8, kRowsOfShallow = 4;
inline constexpr int kBlocksAtOnce = 3;  ///< on a multiprocessor
template <int Rows>
inline constexpr int kThreads = kBlockRows* kBlockColumns / kColumns / Rows;
inline constexpr int kWarpsAcross = 2, kLanesAcross = 8;
static_assert(kWarpsAcross * kLanesAcross * kColumns == kBlockColumns);
inline constexpr int kPitch =
    68;  ///< of a position in shared memory: one word per element, and room between banks
inline constexpr int kLeastStep = 4;
/// In place of infinities and NaNs in shared memory, and beside kUnpackedAbsent: as high words of binary64
/// they are numbers so small that no product with one reaches the last place of a sum.
inline constexpr std::uint32_t kInfinityMark = 4, kNanMark = 8;
static_assert(kBlockRows < kPitch && kBlockColumns < kPitch && kPitch % 4 == 0);
static_assert(kUnpackedPad % kBlockRows == 0 && kUnpackedPad % kBlockColumns == 0);

/// A chunk of positions of A or B in shared memory.
template <int Halves>
struct Panel {
  std::uint32_t* high;      ///< (chunk, kPitch) high words of magnitudes
  std::uint32_t* flip;      ///< (chunk, kPitch) ~0 where the sign is not that of the position before; else 0
  std::uint32_t* last;      ///< (chunk / kLeastStep, kPitch) ~0 where the last operand of a step is negative
  std::uint16_t* exponent;  ///< (chunk, Halves * kPitch) 16 times it, Halves times; A's plus start_bias()

  MMAUDIT_HD static constexpr int words(int chunk) {
    return chunk * kPitch * 2 + chunk / kLeastStep * kPitch + chunk * kPitch * Halves / 2;
  }
  __device__ Panel(std::uint32_t* words, int chunk)
      : high(words),
        flip(high + chunk * kPitch),
        last(flip + chunk * kPitch),
        exponent(reinterpret_cast<std::uint16_t*>(last + chunk / kLeastStep * kPitch)) {}
};

/// What kinds of operands a row or column has, one bit per position. Read for chunks with infinities or NaNs.
/// (masks, chunk / 32, kPitch) words, A's before B's.
enum Mask : std::uint8_t { kMaskNan, kMaskInfinity, kMaskZero, kMaskNegative, kMaskAbsent, kMasks };
inline constexpr int kMaskBits = 32;

struct Panels {
  Panel<2> a;
  Panel<1> b;
  std::uint32_t* masks;
  std::uint32_t* special;  ///< not 0: some operand of the chunk is infinite or NaN

  MMAUDIT_HD static constexpr int mask_words(int chunk) { return chunk / kMaskBits * kPitch; }
  MMAUDIT_HD static constexpr int words(int chunk) {
    return Panel<2>::words(chunk) + Panel<1>::words(chunk) + 2 * kMasks * mask_words(chunk) + 4;
  }
  __device__ Panels(std::uint32_t* memory, int chunk)
      : a(memory, chunk),
        b(memory + Panel<2>::words(chunk), chunk),
        masks(memory + Panel<2>::words(chunk) + Panel<1>::words(chunk)),
        special(memory + words(chunk) - 4),
        mask_words_(mask_words(chunk)) {}

  /// Of row (column) `element` of A (of B), positions from `position` on, which `kMaskBits` divides.
  [[nodiscard]] __device__ std::uint32_t& mask(bool of_b, Mask which, int position, int element) const {
    return masks[((of_b ? kMasks : 0) + which) * mask_words_ + position / kMaskBits * kPitch + element];
  }

 private:
  int mask_words_;
};

/// What a thread owns: rows thread_row() .. + Rows, columns thread_column() .. + kColumns of the block.
template <int Rows>
__device__ inline int thread_row() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return (warp / kWarpsAcross * (32 / kLanesAcross) + lane / kLanesAcross) * Rows;
}
__device__ inline int thread_column() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return (warp % kWarpsAcross * kLanesAcross + lane % kLanesAcross) * kColumns;
}

/// E + start_bias() is the exponent field of 2^(52 + E - F) as binary64. A's exponents have it in them. Times
/// 16 it is the high half of the high word.
__device__ inline int start_bias(const CoreRules& rules) { return 52 + 1023 - rules.fraction_bits; }

/// Four neighbours of one position.
template <int Halves>
__device__ inline bool unfold(const Panel<Halves>& panel, uint4 words, int position, int first, int log_step,
                              int min_exponent, int bias) {
  const std::uint32_t x[4] = {words.x, words.y, words.z, words.w};
  std::uint32_t high[4], flip[4], exponent[4];
  bool special = false;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = x[i] & (kUnpackedHigh | kUnpackedAbsent);
    flip[i] = 0U - (x[i] & kUnpackedFlip);
    if (high[i] >= kDoubleInfinity) {
      special = true;
      high[i] = high[i] == kDoubleInfinity ? kInfinityMark : kNanMark;
    }
    const int field = static_cast<int>(high[i] >> 20);
    exponent[i] = static_cast<std::uint32_t>(
                      ((field == 0 ? kZeroExponent : max(field - 1023, min_exponent)) + bias) * 16) &
                  0xFFFFU;
  }
  const int at = position * kPitch + first;
  *reinterpret_cast<uint4*>(panel.high + at) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(panel.flip + at) = make_uint4(flip[0], flip[1], flip[2], flip[3]);
  if constexpr (Halves == 2) {
    *reinterpret_cast<uint4*>(panel.exponent + 2 * at) = make_uint4(
        exponent[0] * 0x10001U, exponent[1] * 0x10001U, exponent[2] * 0x10001U, exponent[3] * 0x10001U);
  } else {
    *reinterpret_cast<uint2*>(panel.exponent + at) =
        make_uint2(exponent[0] | exponent[1] << 16, exponent[2] | exponent[3] << 16);
  }
  if (((position + 1) & ((1 << log_step) - 1)) == 0) {
    const auto sign = [](std::uint32_t word) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(word) >> 31);
    };
    *reinterpret_cast<uint4*>(panel.last + (position >> log_step) * kPitch + first) =
        make_uint4(sign(x[0]), sign(x[1]), sign(x[2]), sign(x[3]));
  }
  return special;
}

/// A thread a word of each kind. Signs are not in the panels: they are the changes since the step's start.
template <int Rows>
__device__ inline void make_masks(const CoreRules& rules, const Panels& panels, int count) {
  constexpr int kElements = kBlockRows + kBlockColumns;
  for (int i = static_cast<int>(threadIdx.x); i < kElements * ((count + kMaskBits - 1) / kMaskBits);
       i += kThreads<Rows>) {
    const int first = i / kElements * kMaskBits, element = i % kElements;
    const bool of_b = element >= kBlockRows;
    const std::uint32_t* const high = of_b ? panels.b.high + element - kBlockRows : panels.a.high + element;
    const std::uint32_t* const flip = of_b ? panels.b.flip + element - kBlockRows : panels.a.flip + element;
    std::uint32_t masks[kMasks] = {}, sign = 0;
    for (int p = first & ~(rules.step - 1); p < min(first + kMaskBits, count); ++p) {
      if ((p & (rules.step - 1)) == 0) sign = 0;
      sign ^= flip[p * kPitch];
      if (p < first) continue;
      const std::uint32_t x = high[p * kPitch], bit = 1U << (p - first);
      if (x == kNanMark) masks[kMaskNan] |= bit;
      if (x == kInfinityMark) masks[kMaskInfinity] |= bit;
      if (x == 0) masks[kMaskZero] |= bit;
      if (x == kUnpackedAbsent) masks[kMaskAbsent] |= bit;
      masks[kMaskNegative] |= sign & bit;
    }
#pragma unroll
    for (int m = 0; m < kMasks; ++m)
      panels.mask(of_b, static_cast<Mask>(m), first, of_b ? element - kBlockRows : element) = masks[m];
  }
}

/// Reads `count` positions, at most a chunk: `a` and `b` point to the first position and the block's first
/// row or column, `a_pitch` and `b_pitch` words from one position to the next. Between two barriers of its
/// own.
template <int Rows>
__device__ inline void stage(const CoreRules& rules, const Panels& panels, const std::uint32_t* a,
                             std::uint64_t a_pitch, const std::uint32_t* b, std::uint64_t b_pitch,
                             int count) {
  constexpr int kVectors = kBlockRows / 4;
  constexpr int kEach = kChunk * kVectors / kThreads<Rows>;  // at a time: loads that are under way together
  static_assert(kBlockRows == kBlockColumns && kChunk * kVectors % kThreads<Rows> == 0);
  const int vector = static_cast<int>(threadIdx.x) % kVectors,
            first = static_cast<int>(threadIdx.x) / kVectors;
  bool special = false;
  const int log_step = 31 - __clz(rules.step);
  for (int from = 0; from < count; from += kChunk) {
    uint4 x[kEach], y[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int position = from + first + i * (kThreads<Rows> / kVectors);
      if (position >= count) continue;
      x[i] = __ldg(reinterpret_cast<const uint4*>(a + static_cast<unsigned>(position) * a_pitch) + vector);
      y[i] = __ldg(reinterpret_cast<const uint4*>(b + static_cast<unsigned>(position) * b_pitch) + vector);
    }
    if (from == 0) {
      __syncthreads();
      if (threadIdx.x == 0) *panels.special = 0;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int position = from + first + i * (kThreads<Rows> / kVectors);
      if (position >= count) continue;
      special |=
          unfold(panels.a, x[i], position, 4 * vector, log_step, rules.a.min_exponent, start_bias(rules));
      special |= unfold(panels.b, y[i], position, 4 * vector, log_step, rules.b.min_exponent, 0);
    }
  }
  if (__syncthreads_or(special ? 1 : 0) != 0) {
    if (threadIdx.x == 0) *panels.special = 1;
    make_masks<Rows>(rules, panels, count);
  }
  __syncthreads();
}

/// The running sums of a thread, values of the sums' format as binary64; during a step what the step has so
/// far.
template <int Rows>
struct Sums {
  double of[Rows][kColumns] = {};
  bool special = false;  ///< some sum is infinite or a NaN

  __device__ void look_for_specials() {
    std::uint32_t largest = 0;
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        largest = max(largest, static_cast<std::uint32_t>(__double2hiint(of[r][c])) & 0x7FFFFFFFU);
    special = largest >= kDoubleInfinity;
  }
};

/// Sums before a step, where infinities or NaNs may come into it: rarely needed, so not in registers.
template <int Rows>
using Before = double[Rows * kColumns];

__device__ inline double to_half_and_back(double x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return static_cast<double>(float_of_half(bits));
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
__device__ inline float add_nearest(float x, float y, const CoreRules& rules) {
  float sum = __fadd_rn(x, y);
  // binary32 holds twice the digits of binary16 and two: rounding again is harmless.
  if constexpr (Half) sum = static_cast<float>(to_half_and_back(static_cast<double>(sum)));
  return sum != sum ? __uint_as_float(Half ? 0x7FFFFFFFU : rules.nan) : sum;
}

/// An element with an infinity or a NaN among the operands of a step or in the sum before it: only these
/// count. `sum` where there is none.
__device__ inline double special_element(const CoreRules& rules, const Panels& panels, int row, int column,
                                         int first, double before, double sum) {
  std::uint32_t nan = 0, plus = 0, minus = 0;
  // Masks are there only where some operand is special.
  const int end = *panels.special != 0 ? first + rules.step : 0;
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
__device__ inline void special_elements(const CoreRules& rules, const Panels& panels, int first,
                                        const Before<Rows>& before, Sums<Rows>& sums) {
  Before<Rows> now;
#pragma unroll
  for (int i = 0; i < Rows * kColumns; ++i) now[i] = sums.of[i / kColumns][i % kColumns];
#pragma unroll 1
  for (int i = 0; i < Rows * kColumns; ++i)
    now[i] = special_element(rules, panels, thread_row<Rows>() + i / kColumns, thread_column() + i % kColumns,
                             first, before[i], now[i]);
#pragma unroll
  for (int i = 0; i < Rows * kColumns; ++i) sums.of[i / kColumns][i % kColumns] = now[i];
  sums.look_for_specials();
}

inline constexpr std::int32_t kField = 0x7FF00000, kMiddle = static_cast<std::int32_t>(0x80000000U);

template <int Rows>
using Maxima = std::uint32_t[Rows][kColumns / 2];  ///< 16 (E + start_bias()) of products, two columns a word

/// The start of a step: x of every element has C in it. Returns the largest field of E + start_bias(), in its
/// place. Tame: no C below its format's least exponent, a zero among them, can be of matter.
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
      const auto products = static_cast<std::int32_t>(c % 2 == 0 ? both << 16 : both & 0xFFFF0000U);
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

/// Some sum has left its low word.
template <int Rows>
__device__ inline bool has_carried(const Sums<Rows>& sums) {
  std::int32_t all = 0;
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) all |= __double2hiint(sums.of[r][c]);
  return (all & ~kField) != 0;
}

/// The end of a step: x becomes the sum, rounded. Tame: to a number that is not below the format's least
/// exponent and far from its largest, and nothing has carried. Whole: no place of the format is cut off.
template <bool Half, bool Tame, bool Whole, int Rows>
__device__ inline void finish(const CoreRules& rules, const Panels& panels, int first, Sums<Rows>& sums) {
  std::uint32_t a_last[Rows], b_last[kColumns];
  const int last = (first >> (31 - __clz(rules.step))) * kPitch;
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
      if constexpr (Half || !Tame) {
        sums.of[r][c] = round_sum<Half>(sum, rules);
      } else {
        const std::int32_t kept = __double2hiint(sum);
        sums.of[r][c] = __hiloint2double(Whole ? kept : kept & keep_high, __double2loint(sum) & keep_low);
      }
    }
  }
}

/// One step: positions [first, first + step) of the chunk. Step: its products, or 0 where they are not known
/// before; where they are 8 or 16, the format is whole.
template <bool Half, int Step, int Rows>
__device__ inline void one_step(const CoreRules& rules, const Panels& panels, int first, Sums<Rows>& sums) {
  constexpr bool kWhole = Step == 8 || Step == 16;
  const int end = first + (Step != 0 ? Step : rules.step);
  const int row = thread_row<Rows>(), column = thread_column();
  const bool special = *panels.special != 0 || sums.special;
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
    load_words(a, panels.a.exponent + 2 * (p * kPitch + row));
    const uint2 b = *reinterpret_cast<const uint2*>(panels.b.exponent + p * kPitch + column);
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
#pragma unroll 1
  for (int p = first; p < end; ++p) {
    std::uint32_t a[Rows], a_flip[Rows], b[kColumns], b_flip[kColumns];
    load_words(a, panels.a.high + p * kPitch + row);
    load_words(a_flip, panels.a.flip + p * kPitch + row);
    load_words(b, panels.b.high + p * kPitch + column);
    load_words(b_flip, panels.b.flip + p * kPitch + column);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const double x = sums.of[r][c];
        const auto low = static_cast<std::uint32_t>(__double2loint(x)) ^ a_flip[r] ^ b_flip[c];
        sums.of[r][c] =
            __fma_rz(__hiloint2double(static_cast<int>(a[r]), 0), __hiloint2double(static_cast<int>(b[c]), 0),
                     __hiloint2double(__double2hiint(x), static_cast<int>(low)));
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
  if (special) special_elements(rules, panels, first, before, sums);
}

/// Positions [0, count) of the chunk, whole instructions.
template <bool Half, bool AddendLast, int Step, int Rows>
__device__ inline void run(const CoreRules& rules, const Panels& panels, int count, Sums<Rows>& sums) {
  Sums<Rows> fresh;
  for (int first = 0; first < count; first += Step != 0 ? Step : rules.step) {
    one_step<Half, Step>(rules, panels, first, AddendLast ? fresh : sums);
    if constexpr (AddendLast) {
      if ((first + rules.step) % rules.depth != 0) continue;
#pragma unroll
      for (int r = 0; r < Rows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          sums.of[r][c] = static_cast<double>(add_nearest<Half>(static_cast<float>(sums.of[r][c]),
                                                                static_cast<float>(fresh.of[r][c]), rules));
      fresh = {};
    }
  }
}

/// Between raw bits of C or D and the number that stands for them. Of a NaN only that it is one survives:
/// what comes out is the rule's.
__device__ inline double to_sum(bool half, std::uint32_t bits) {
  return static_cast<double>(half ? float_of_half(static_cast<std::uint16_t>(bits)) : __uint_as_float(bits));
}
/// A value of the sums' format as raw bits of D: where D is narrower, rounded to nearest even.
__device__ inline std::uint32_t from_sum(bool half, double sum, const CoreRules& rules) {
  if (sum != sum) return half ? rules.d_nan : rules.nan;
  const auto number = static_cast<float>(sum);
  return half ? half_of_float(number) : __float_as_uint(number);
}

/// Calls call.template operator()<Half, AddendLast, Step>() for the kernel that serves the rules.
template <typename Call>
void for_rules(const CoreRules& rules, const Call& call) {
  if (rules.half)
    return rules.addend_last ? call.template operator()<true, true, 0>()
                             : call.template operator()<true, false, 0>();
  if (rules.addend_last) return call.template operator()<false, true, 0>();
  const bool whole = rules.keep_mask == ~std::uint32_t{0};
  if (whole && rules.step == 8) return call.template operator()<false, false, 8>();
  if (whole && rules.step == 16) return call.template operator()<false, false, 16>();
  if (rules.step == 32) return call.template operator()<false, false, 32>();
  return call.template operator()<false, false, 0>();
}

}  // namespace mmaudit::device::core
