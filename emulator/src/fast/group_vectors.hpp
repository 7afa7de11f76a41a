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
using HalfInts __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = std::int32_t;
using QuarterShorts __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = std::uint16_t;

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

inline Doubles to_doubles(const float* from) {
  return __builtin_convertvector(load<HalfFloats>(from), Doubles);
}
/// Exact where the lane is a binary32.
inline void to_floats(Doubles x, float* to) { store(to, __builtin_convertvector(x, HalfFloats)); }

/// The lower or upper half of the lanes.
inline Doubles half_to_doubles(Words x, int half) {
#if defined(__AVX512F__)
  const __m512i all = bits<__m512i>(x);
  const __m256i part =
      half == 0 ? _mm512_maskz_extracti64x4_epi64(0xF, all, 0) : _mm512_maskz_extracti64x4_epi64(0xF, all, 1);
  return bits<Doubles>(_mm512_maskz_cvtepi32_pd(0xFF, part));
#else
  HalfInts part;
  __builtin_memcpy(&part, reinterpret_cast<const char*>(&x) + half * std::ptrdiff_t{MMAUDIT_FAST_BYTES / 2},
                   sizeof part);
  return __builtin_convertvector(part, Doubles);
#endif
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
