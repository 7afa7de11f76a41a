#pragma once
// The fast model: a block of threads computes kBlockRows x kBlockColumns elements, each thread kRows x
// kColumns of them, through the steps of one instruction after another.
//
// A step reads its products twice. First the exponents, two columns in a word, whose maximum is E. Then the
// magnitudes, as binary64 whose low word is zero: fma(|a|, |b|, x) toward zero, where x is 2^(52 + E - F) or
// more but below twice that, adds the product to x's low word, cut off below 2^(E - F). The complement of the
// low word before and after makes that a subtraction; between two products the complements merge, so that
// only changes of sign count. Low words wrap as 32-bit integers do; what they carry into the high word is of
// no use and does no harm.
#include <cstdint>

#include "model/core_rules.hpp"
#include "model/unpacked.hpp"

namespace mmaudit::device::core {

inline constexpr int kThreads = 256;
inline constexpr int kBlocksAtOnce = 3;        ///< on a multiprocessor
inline constexpr int kRows = 4, kColumns = 4;  // of a thread
inline constexpr int kWarpsAcross = 2, kLanesAcross = 8;
inline constexpr int kWarpRows = 32 / kLanesAcross * kRows, kWarpColumns = kLanesAcross * kColumns;
inline constexpr int kBlockRows = kThreads / 32 / kWarpsAcross * kWarpRows;
inline constexpr int kBlockColumns = kWarpsAcross * kWarpColumns;
inline constexpr int kPitch =
    68;  ///< of a position in shared memory: a word an element, and room between banks
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
  std::uint16_t* exponent;  ///< (chunk, Halves * kPitch) Halves times each; A's plus start_bias()

  MMAUDIT_HD static constexpr int words(int chunk) {
    return chunk * kPitch * 2 + chunk / kLeastStep * kPitch + chunk * kPitch * Halves / 2;
  }
  __device__ Panel(std::uint32_t* words, int chunk)
      : high(words),
        flip(high + chunk * kPitch),
        last(flip + chunk * kPitch),
        exponent(reinterpret_cast<std::uint16_t*>(last + chunk / kLeastStep * kPitch)) {}
};

/// What kinds of operands a row or column has, a bit a position: read where a chunk has infinities or NaNs.
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

/// What a thread owns: rows thread_row() .. + kRows, columns thread_column() .. + kColumns of the block.
__device__ inline int thread_row() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return warp / kWarpsAcross * kWarpRows + lane / kLanesAcross * kRows;
}
__device__ inline int thread_column() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return warp % kWarpsAcross * kWarpColumns + lane % kLanesAcross * kColumns;
}

/// E + start_bias() is the exponent field of 2^(52 + E - F) as binary64. A's exponents have it in them.
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
    exponent[i] =
        static_cast<std::uint32_t>((field == 0 ? kZeroExponent : max(field - 1023, min_exponent)) + bias) &
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
__device__ inline void make_masks(const CoreRules& rules, const Panels& panels, int count) {
  constexpr int kElements = kBlockRows + kBlockColumns;
  for (int i = static_cast<int>(threadIdx.x); i < kElements * ((count + kMaskBits - 1) / kMaskBits);
       i += kThreads) {
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
__device__ inline void stage(const CoreRules& rules, const Panels& panels, const std::uint32_t* a,
                             std::uint64_t a_pitch, const std::uint32_t* b, std::uint64_t b_pitch,
                             int count) {
  constexpr int kVectors = kBlockRows / 4;
  constexpr int kEach = kChunk * kVectors / kThreads;  // at a time: loads that are under way together
  static_assert(kBlockRows == kBlockColumns && kChunk * kVectors % kThreads == 0);
  const int vector = static_cast<int>(threadIdx.x) % kVectors,
            first = static_cast<int>(threadIdx.x) / kVectors;
  bool special = false;
  const int log_step = 31 - __clz(rules.step);
  for (int from = 0; from < count; from += kChunk) {
    uint4 x[kEach], y[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int position = from + first + i * (kThreads / kVectors);
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
      const int position = from + first + i * (kThreads / kVectors);
      if (position >= count) continue;
      special |=
          unfold(panels.a, x[i], position, 4 * vector, log_step, rules.a.min_exponent, start_bias(rules));
      special |= unfold(panels.b, y[i], position, 4 * vector, log_step, rules.b.min_exponent, 0);
    }
  }
  if (__syncthreads_or(special ? 1 : 0) != 0) {
    if (threadIdx.x == 0) *panels.special = 1;
    make_masks(rules, panels, count);
  }
  __syncthreads();
}

__device__ inline void load_words(std::uint32_t (&to)[4], const void* from) {
  const uint4 x = *static_cast<const uint4*>(from);
  to[0] = x.x;
  to[1] = x.y;
  to[2] = x.z;
  to[3] = x.w;
}

__device__ inline float to_half_and_back(double x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  float result = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
  return result;
}

template <bool Half>
__device__ inline float not_a_number(const CoreRules& rules) {
  return __uint_as_float(Half ? 0x7FFFFFFFU : rules.nan);
}

/// An exact sum as a value of the output; every zero is +0. Tame: a number below 2^127.
template <bool Half, bool Tame>
__device__ inline float round_sum(double sum, const CoreRules& rules) {
  float result = 0;
  if constexpr (Half) {
    result = to_half_and_back(sum);
  } else {
    constexpr std::uint32_t kBeyond = (1023U + 128U) << 20;  // 2^128
    const auto high = static_cast<std::uint32_t>(__double2hiint(sum));
    const std::uint32_t bits = __float_as_uint(__double2float_rz(sum)) & rules.keep_mask;
    if constexpr (Tame) return __uint_as_float(bits) + 0.0F;
    result = __uint_as_float((high & 0x7FFFFFFFU) >= kBeyond ? (high & 0x80000000U) | 0x7F800000U : bits);
  }
  return sum != sum ? not_a_number<Half>(rules) : result + 0.0F;
}

/// x + y to nearest even in the output's format.
template <bool Half>
__device__ inline float add_nearest(float x, float y, const CoreRules& rules) {
  float sum = __fadd_rn(x, y);
  // binary32 holds twice the digits of binary16 and two: rounding again is harmless.
  if constexpr (Half) sum = to_half_and_back(static_cast<double>(sum));
  return sum != sum ? not_a_number<Half>(rules) : sum;
}

using Sums = float[kRows][kColumns];

/// An element with an infinity or a NaN among the operands of a step: only these count. `sum` where there is
/// none.
template <bool Half>
__device__ inline float special_element(const CoreRules& rules, const Panels& panels, int row, int column,
                                        int first, float before, float sum) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t nan = 0, plus = 0, minus = 0;
  for (int word = first & ~(kMaskBits - 1); word < first + rules.step; word += kMaskBits) {
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
  if ((nan | plus | minus) == 0) return sum;
  const std::uint32_t start = __float_as_uint(before), magnitude = start & 0x7FFFFFFFU;
  if (magnitude == kExponent) ((start >> 31) != 0 ? minus : plus) |= 1;
  if (nan != 0 || magnitude > kExponent || (plus != 0 && minus != 0)) return not_a_number<Half>(rules);
  return __uint_as_float(plus != 0 ? kExponent : kExponent | 0x80000000U);
}

__device__ inline void copy_sums(const Sums& sums, float* to) {
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) to[r * kColumns + c] = sums[r][c];
}

template <bool Half>
__device__ inline void special_elements(const CoreRules& rules, const Panels& panels, int first,
                                        const float* before, Sums& sums) {
  float now[kRows * kColumns];
  copy_sums(sums, now);
#pragma unroll 1
  for (int i = 0; i < kRows * kColumns; ++i)
    now[i] = special_element<Half>(rules, panels, thread_row() + i / kColumns, thread_column() + i % kColumns,
                                   first, before[i], now[i]);
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[r][c] = now[r * kColumns + c];
}

/// The end of a step: C is cut off like a product, added, and the sum rounded.
template <bool Half, bool Tame>
__device__ inline void finish(const CoreRules& rules, const Panels& panels, int first,
                              const double (&x)[kRows][kColumns], Sums& sums) {
  std::uint32_t a_last[kRows], b_last[kColumns];
  const int last = (first >> (31 - __clz(rules.step))) * kPitch;
  load_words(a_last, panels.a.last + last + thread_row());
  load_words(b_last, panels.b.last + last + thread_column());
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const auto products = static_cast<std::int32_t>(static_cast<std::uint32_t>(__double2loint(x[r][c])) ^
                                                      a_last[r] ^ b_last[c]);
      const std::int32_t unit_high = __double2hiint(x[r][c]) & static_cast<std::int32_t>(0xFFF00000U);
      const double unit52 = __hiloint2double(unit_high, 0),
                   unit = __hiloint2double(unit_high - (52 << 20), 0);
      const auto addend = static_cast<double>(sums[r][c]);
      const double cut = __dadd_rz(fabs(addend), unit52) - unit52;
      const double sum = __fma_rn(static_cast<double>(products), unit, copysign(cut, addend));
      sums[r][c] = round_sum<Half, Tame>(sum, rules);
    }
  }
}

/// The start of a step: 2^(52 + E - F) of every element, E of products and C. `maxima` has E + start_bias()
/// of the products, two columns a word. Returns the largest E + start_bias().
template <bool Half>
__device__ inline int start_of_step(const CoreRules& rules,
                                    const std::uint32_t (&maxima)[kRows][kColumns / 2], const Sums& sums,
                                    double (&x)[kRows][kColumns]) {
  constexpr std::int32_t kField = 0x7FF00000;
  const int bias = start_bias(rules);
  std::int32_t above = 0;
  std::uint32_t least = 0x7FFF7FFFU;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int h = 0; h < kColumns / 2; ++h) {
      least = __vmins2(least, maxima[r][h]);
      std::int32_t high[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        // Exponents in their places; what lies below them decides nothing and is masked off.
        const std::uint32_t both = maxima[r][h];
        const auto products = static_cast<std::int32_t>(c == 0 ? both << 20 : both << 4);
        const auto sum = static_cast<std::int32_t>(__float_as_uint(sums[r][2 * h + c]) << 1 >> 4);
        high[c] = __viaddmax_s32(sum, (bias - 127) << 20, products) & kField;
        x[r][2 * h + c] = __hiloint2double(high[c], 0);
      }
      above = __vimax3_s32(above, high[0], high[1]);
    }
  }
  // C's exponent is not below its format's least, and a zero has none: of no matter where the products' E is
  // not below that either.
  const int lowest =
      min(static_cast<std::int32_t>(least << 16) >> 16, static_cast<std::int32_t>(least) >> 16);
  if (lowest < rules.addend_min_exponent + bias) {
    above = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::uint32_t magnitude = __float_as_uint(sums[r][c]) & 0x7FFFFFFFU;
        const std::uint32_t both = maxima[r][c / 2];
        const auto products = static_cast<std::int32_t>(c % 2 == 0 ? both & 0xFFFFU : both >> 16);
        const std::int32_t own =
            max(static_cast<std::int32_t>(magnitude >> 23) - 127, rules.addend_min_exponent) + bias;
        const std::int32_t largest = magnitude != 0 ? max(products, own) : products;
        above = max(above, largest << 20);
        x[r][c] = __hiloint2double(largest << 20, 0);
      }
    }
  }
  return above >> 20;
}

/// One step: positions [first, first + step) of the chunk. Step: its products, or 0 where they are not known
/// before.
template <bool Half, int Step>
__device__ inline void one_step(const CoreRules& rules, const Panels& panels, int first, Sums& sums) {
  const int end = first + (Step != 0 ? Step : rules.step);
  const int row = thread_row(), column = thread_column();
  const bool special = *panels.special != 0;
  float before[kRows * kColumns];  // rarely needed, so not in registers
  if (special) copy_sums(sums, before);
  std::uint32_t maxima[kRows][kColumns / 2];
  const std::uint32_t floor = static_cast<std::uint32_t>(rules.floor + start_bias(rules)) * 0x10001U;
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int h = 0; h < kColumns / 2; ++h) maxima[r][h] = floor;
#pragma unroll 4
  for (int p = first; p < end; ++p) {
    std::uint32_t a[kRows];
    load_words(a, panels.a.exponent + 2 * (p * kPitch + row));
    const uint2 b = *reinterpret_cast<const uint2*>(panels.b.exponent + p * kPitch + column);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      maxima[r][0] = __viaddmax_s16x2(a[r], b.x, maxima[r][0]);
      maxima[r][1] = __viaddmax_s16x2(a[r], b.y, maxima[r][1]);
    }
  }
  double x[kRows][kColumns];
  const int above = start_of_step<Half>(rules, maxima, sums, x);
#pragma unroll 1
  for (int p = first; p < end; ++p) {
    std::uint32_t a[kRows], a_flip[kRows], b[kColumns], b_flip[kColumns];
    load_words(a, panels.a.high + p * kPitch + row);
    load_words(a_flip, panels.a.flip + p * kPitch + row);
    load_words(b, panels.b.high + p * kPitch + column);
    load_words(b_flip, panels.b.flip + p * kPitch + column);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const auto low = static_cast<std::uint32_t>(__double2loint(x[r][c])) ^ a_flip[r] ^ b_flip[c];
        x[r][c] =
            __fma_rz(__hiloint2double(static_cast<int>(a[r]), 0), __hiloint2double(static_cast<int>(b[c]), 0),
                     __hiloint2double(__double2hiint(x[r][c]), static_cast<int>(low)));
      }
    }
  }
  constexpr std::int32_t kTame = 110;  // no sum of up to 33 of these reaches 2^127; no infinity, no NaN
  if (above < kTame + start_bias(rules))
    finish<Half, true>(rules, panels, first, x, sums);
  else
    finish<Half, false>(rules, panels, first, x, sums);
  if (special) special_elements<Half>(rules, panels, first, before, sums);
}

/// Positions [0, count) of the chunk, whole instructions.
template <bool Half, bool AddendLast, int Step>
__device__ inline void run(const CoreRules& rules, const Panels& panels, int count, Sums& sums) {
  Sums fresh = {};
  for (int first = 0; first < count; first += Step != 0 ? Step : rules.step) {
    one_step<Half, Step>(rules, panels, first, AddendLast ? fresh : sums);
    if constexpr (AddendLast) {
      if ((first + rules.step) % rules.depth != 0) continue;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          sums[r][c] = add_nearest<Half>(sums[r][c], fresh[r][c], rules);
          fresh[r][c] = 0;
        }
      }
    }
  }
}

/// Between raw bits of C or D and the float that stands for them. Of a NaN of binary16 only that it is one
/// survives: what comes out is the rule's.
__device__ inline float to_sum(bool half, std::uint32_t bits) {
  if (!half) return __uint_as_float(bits);
  float x = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<std::uint16_t>(bits)));
  return x;
}
/// A sum in the rules' own format as raw bits of D: where D is narrower, rounded to nearest even.
__device__ inline std::uint32_t from_sum(bool half, float sum, const CoreRules& rules) {
  if (!half) return __float_as_uint(sum);
  if (sum != sum) return rules.d_nan;
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(sum));
  return bits;
}

/// Calls call.template operator()<Half, AddendLast, Step>() for the kernel that serves the rules.
template <typename Call>
void for_rules(const CoreRules& rules, const Call& call) {
  if (rules.half)
    return rules.addend_last ? call.template operator()<true, true, 0>()
                             : call.template operator()<true, false, 0>();
  if (rules.addend_last) return call.template operator()<false, true, 0>();
  switch (rules.step) {
    case 8:
      return call.template operator()<false, false, 8>();
    case 16:
      return call.template operator()<false, false, 16>();
    case 32:
      return call.template operator()<false, false, 32>();
    default:
      return call.template operator()<false, false, 0>();
  }
}

}  // namespace mmaudit::device::core
