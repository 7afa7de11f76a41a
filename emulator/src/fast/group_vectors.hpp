#pragma once
// The operations of group_kernel.hpp for which the vector extension has no word.
// A part of the level's one source, not a header of declarations.
// NOLINTBEGIN(misc-definitions-in-headers)
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

using Doubles __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = double;
using Longs __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::uint64_t;
using SignedBytes __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::int8_t;
using HalfBytes __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = std::uint8_t;
using HalfFloats __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = float;

/// 2^exponent, of a normal number.
inline double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// In every lane of 16 bits x0 * y0 + x1 * y1 of its two bytes, which must fit. Bytes of x are below 128.
inline Shorts pair_products(Bytes x, SignedBytes y) {
#if defined(__AVX512BW__)
  return bits<Shorts>(_mm512_maddubs_epi16(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<Shorts>(_mm256_maddubs_epi16(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__aarch64__)
  const auto a = bits<int8x16_t>(x), b = bits<int8x16_t>(y);  // x is below 128
  return bits<Shorts>(vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)));
#else
  const auto wide_x = bits<HalfWords>(x);
  const auto wide_y = bits<Shorts>(y);
  const auto low_y = bits<Shorts>(bits<HalfWords>(y) << 8) >> 8;
  return bits<Shorts>(wide_x & 0xFF) * low_y + bits<Shorts>(wide_x >> 8) * (wide_y >> 8);
#endif
}

/// In every lane of 32 bits x0 * y0 + x1 * y1 of its two halves, which must fit.
inline Words sum_of_products(Shorts x, Shorts y) {
#if defined(__AVX512BW__)
  return bits<Words>(_mm512_madd_epi16(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<Words>(_mm256_madd_epi16(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__SSE2__)
  return bits<Words>(_mm_madd_epi16(bits<__m128i>(x), bits<__m128i>(y)));
#elif defined(__aarch64__)
  const auto a = bits<int16x8_t>(x), b = bits<int16x8_t>(y);
  return bits<Words>(vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
#else
  const auto low = [](Shorts z) { return bits<Words>(bits<Counts>(z) << 16) >> 16; };
  return low(x) * low(y) + (bits<Words>(x) >> 16) * (bits<Words>(y) >> 16);
#endif
}

/// table[x] of every byte; x is below 16.
inline Bytes look_up(Bytes x, const std::int8_t (&table)[16]) {
#if defined(__AVX512BW__)
  const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return bits<Bytes>(_mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(kAll, row), bits<__m512i>(x)));
#elif defined(__AVX2__)
  const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return bits<Bytes>(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(row), bits<__m256i>(x)));
#elif defined(__aarch64__)
  return bits<Bytes>(vqtbl1q_s8(vld1q_s8(table), bits<uint8x16_t>(x)));
#else
  Bytes out = {};
  for (int i = 0; i < MMAUDIT_FAST_BYTES; ++i) out[i] = static_cast<std::uint8_t>(table[x[i]]);
  return out;
#endif
}
inline HalfBytes look_up(HalfBytes x, const std::int8_t (&table)[16]) {
#if defined(__AVX512BW__)
  const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return bits<HalfBytes>(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(row), bits<__m256i>(x)));
#elif defined(__AVX2__)
  const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return bits<HalfBytes>(_mm_shuffle_epi8(row, bits<__m128i>(x)));
#elif defined(__aarch64__)
  return bits<HalfBytes>(vqtbl1_s8(vld1q_s8(table), bits<uint8x8_t>(x)));
#else
  HalfBytes out = {};
  for (int i = 0; i < MMAUDIT_FAST_BYTES / 2; ++i) out[i] = static_cast<std::uint8_t>(table[x[i]]);
  return out;
#endif
}

/// The products of a group and their sums: one number of 32 bits per column, or two of 16 that add up to it.
#ifdef __AVX512VNNI__
using GroupSum = Words;
constexpr std::uint32_t kOffsetBits = 0xFFFFFFFF, kScaleCopies = 1;
inline GroupSum add_products(GroupSum sum, Bytes x, SignedBytes y) {
  return bits<Words>(_mm512_dpbusd_epi32(bits<__m512i>(sum), bits<__m512i>(x), bits<__m512i>(y)));
}
inline Words whole(GroupSum sum) { return sum; }
#else
using GroupSum = Shorts;
constexpr std::uint32_t kOffsetBits = 0xFFFF, kScaleCopies = 0x10001;
inline GroupSum add_products(GroupSum sum, Bytes x, SignedBytes y) { return sum + pair_products(x, y); }
inline Words whole(GroupSum sum) { return sum_of_products(sum, Shorts{} + 1); }
#endif

/// The larger of x and y where a & b is not 0, else x.
inline Shorts max_where(Shorts a, Shorts b, Shorts x, Shorts y) {
#if defined(__AVX512BW__)
  const auto mask = _mm512_test_epi16_mask(bits<__m512i>(a), bits<__m512i>(b));
  return bits<Shorts>(_mm512_mask_max_epi16(bits<__m512i>(x), mask, bits<__m512i>(x), bits<__m512i>(y)));
#else
  return max(x, y & ~((a & b) == 0));  // none is negative
#endif
}

/// The lower or upper half of the lanes.
template <int Half, typename Vector>
[[gnu::always_inline]] inline auto half_of(Vector x) {
#if MMAUDIT_FAST_BYTES == 64
  if constexpr (Half == 0)
    return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
  else
    return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#elif MMAUDIT_FAST_BYTES == 32
  return __builtin_shufflevector(x, x, 4 * Half, 4 * Half + 1, 4 * Half + 2, 4 * Half + 3);
#else
  return __builtin_shufflevector(x, x, 2 * Half, 2 * Half + 1);
#endif
}
inline Floats both_halves(HalfFloats x, HalfFloats y) {
#if MMAUDIT_FAST_BYTES == 64
  return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif MMAUDIT_FAST_BYTES == 32
  return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return __builtin_shufflevector(x, y, 0, 1, 2, 3);
#endif
}
template <int Half>
[[gnu::always_inline]] inline Doubles to_doubles(Words x) {
#if defined(__AVX512F__)  // GCC 12 converts half a vector at a time
  return bits<Doubles>(_mm512_maskz_cvtepi32_pd(0xFF, bits<__m256i>(half_of<Half>(x))));
#else
  return __builtin_convertvector(half_of<Half>(x), Doubles);
#endif
}
template <int Half>
[[gnu::always_inline]] inline Doubles to_doubles(Floats x) {
  return __builtin_convertvector(half_of<Half>(x), Doubles);
}

inline Floats to_floats(Doubles x, Doubles y) {
  return both_halves(__builtin_convertvector(x, HalfFloats), __builtin_convertvector(y, HalfFloats));
}

inline Floats magnitude(Floats x) { return bits<Floats>(bits<Words>(x) & 0x7FFFFFFF); }
constexpr std::int32_t kLargestFinite = 0x7F7FFFFF;  ///< rounding toward zero keeps it from infinity

#if defined(__AVX512F__)
/// Sums of whole numbers below 2^52, a number per column. The thread rounds toward zero.
class WideSums {
 public:
  /// x * 2^exponent, cut off.
  WideSums(Floats x, Words exponent) { add(scaled<_MM_FROUND_TO_ZERO>(x, exponent)); }
  void add(Floats x) {
    part_[0] += bits<Longs>(_mm512_maskz_cvttps_epi64(0xFF, bits<__m256>(half_of<0>(x))));
    part_[1] += bits<Longs>(_mm512_maskz_cvttps_epi64(0xFF, bits<__m256>(half_of<1>(x))));
  }
  /// The sums times 2^exponent, cut off to binary32.
  template <bool MayOverflow>
  [[nodiscard]] Floats rounded(Words exponent) const {
    constexpr int kCut = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    const auto number =
        both_halves(bits<HalfFloats>(_mm512_maskz_cvt_roundepi64_ps(0xFF, bits<__m512i>(part_[0]), kCut)),
                    bits<HalfFloats>(_mm512_maskz_cvt_roundepi64_ps(0xFF, bits<__m512i>(part_[1]), kCut)));
    const Floats cut = scaled<_MM_FROUND_TO_ZERO>(number, exponent);
    if constexpr (!MayOverflow) return cut;
    // Without a branch, which data decide. A sum has 24 bits, so only subnormal ones are rounded at all.
    const auto all = bits<__m512i>(magnitude(cut));
    const __mmask16 largest = _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32(kLargestFinite));
    return bits<Floats>(_mm512_mask_scalef_round_ps(bits<__m512>(cut), largest, bits<__m512>(number),
                                                    _mm512_maskz_cvtepi32_ps(kAll, bits<__m512i>(exponent)),
                                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

 private:
  template <int Rounding>
  static Floats scaled(Floats x, Words exponent) {
    const __m512 by = _mm512_maskz_cvtepi32_ps(kAll, bits<__m512i>(exponent));
    return bits<Floats>(
        _mm512_maskz_scalef_round_ps(kAll, bits<__m512>(x), by, Rounding | _MM_FROUND_NO_EXC));
  }
  Longs part_[2] = {};
};
#else
/// x without its fraction. The thread rounds toward zero; beyond the platforms that can be told to, there is
/// no caller.
inline Floats without_fraction(Floats x) {
#if defined(__AVX2__)
  return bits<Floats>(_mm256_round_ps(bits<__m256>(x), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#elif defined(__aarch64__)
  return bits<Floats>(vrndq_f32(bits<float32x4_t>(x)));
#else
  const Floats number = magnitude(x), lift = Floats{} + 0x1p23F;
  const Floats cut = select(bits<Words>(number < lift), (number + lift) - lift, number);
  return bits<Floats>(bits<Words>(cut) | (bits<Words>(x) & INT32_MIN));
#endif
}

class WideSums {
 public:
  WideSums(Floats x, Words exponent)
      : part_{cut(to_doubles<0>(x) * power<0>(exponent)), cut(to_doubles<1>(x) * power<1>(exponent))} {}
  void add(Floats x) {
    const Floats number = without_fraction(x);
    part_[0] += to_doubles<0>(number);
    part_[1] += to_doubles<1>(number);
  }
  template <bool MayOverflow>
  [[nodiscard]] Floats rounded(Words exponent) const {
    const Doubles x = part_[0] * power<0>(exponent), y = part_[1] * power<1>(exponent);
    const Floats cut = to_floats(x, y);
    const Words largest = bits<Words>(magnitude(cut)) == kLargestFinite;
    if (!MayOverflow || !any(largest)) return cut;
    constexpr double kTiny = 0x1p-200;  // sums are below 2^300
    const Words beyond = bits<Words>(magnitude(to_floats(x * kTiny, y * kTiny)) >= Floats{} + 0x1p-72F);
    return bits<Floats>(bits<Words>(cut) + (beyond & 1));
  }

 private:
  static Doubles cut(Doubles x) {
#if defined(__AVX2__)
    return bits<Doubles>(_mm256_round_pd(bits<__m256d>(x), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#elif defined(__aarch64__)
    return bits<Doubles>(vrndq_f64(bits<float64x2_t>(x)));
#else
    const Longs sign = bits<Longs>(x) & (std::uint64_t{1} << 63);
    const Doubles lift = Doubles{} + 0x1p52;
    return bits<Doubles>(bits<Longs>((bits<Doubles>(bits<Longs>(x) ^ sign) + lift) - lift) | sign);
#endif
  }
  template <int Half>
  static Doubles power(Words exponent) {
    constexpr int kBias = 1023;
    return bits<Doubles>(__builtin_convertvector(half_of<Half>(exponent + kBias), Longs) << 52);
  }
  Doubles part_[2];
};
#endif

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
