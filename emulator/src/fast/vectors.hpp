#pragma once
// The one interface of the vector code: vectors of a compiler extension that GCC and Clang share, and the few
// operations for which the extension has no word or the compiler no good code. MMAUDIT_FAST_BYTES is the
// width.
// A part of the level's one source, not a header of declarations.
// NOLINTBEGIN(misc-definitions-in-headers)
#include <cstdint>
#ifdef __SSE2__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "float_mode.hpp"

namespace mmaudit::fast {
namespace {  // every level has its own copies

using Floats __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = float;
using Words __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::int32_t;
using Counts __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::uint32_t;  // wraps, where Words must not
using Shorts __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::int16_t;
using Bytes __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::uint8_t;
using HalfWords __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::uint16_t;

constexpr int kLanes = MMAUDIT_FAST_BYTES / 4;
#ifdef __AVX512F__
constexpr __mmask16 kAll = 0xFFFF;  // GCC 12 warns of what the forms without a mask do (GCC PR 105593)
#endif

template <typename To, typename From>
To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return (To)x;  // NOLINT: of vectors this keeps every bit
}

/// The same vectors anywhere in memory. GCC 12 takes a memcpy of 64 bytes through the stack.
template <typename Vector>
struct [[gnu::packed, gnu::may_alias]] InMemory {
  Vector x;
};

template <typename Vector, typename Element>
Vector load(const Element* from) {
  return reinterpret_cast<const InMemory<Vector>*>(from)->x;
}

template <typename Vector, typename Element>
void store(Element* to, Vector x) {
  reinterpret_cast<InMemory<Vector>*>(to)->x = x;
}

inline Words splat(std::int32_t x) { return Words{} + x; }
inline Floats splat(float x) { return bits<Floats>(splat(__builtin_bit_cast(std::int32_t, x))); }

/// mask ? x : y, masks are 0 or -1 per lane.
template <typename Vector>
Vector select(Words mask, Vector x, Vector y) {
  return bits<Vector>((bits<Words>(x) & mask) | (bits<Words>(y) & ~mask));
}

inline Words max(Words x, Words y) {
#if defined(__AVX512F__)
  return bits<Words>(_mm512_maskz_max_epi32(kAll, bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<Words>(_mm256_max_epi32(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__aarch64__)
  return bits<Words>(vmaxq_s32(bits<int32x4_t>(x), bits<int32x4_t>(y)));
#else
  return select<Words>(x > y, x, y);
#endif
}

inline Words min(Words x, Words y) { return ~max(~x, ~y); }

inline Shorts max(Shorts x, Shorts y) {
#if defined(__AVX512BW__)
  return bits<Shorts>(_mm512_max_epi16(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<Shorts>(_mm256_max_epi16(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__SSE2__)
  return bits<Shorts>(_mm_max_epi16(bits<__m128i>(x), bits<__m128i>(y)));
#elif defined(__aarch64__)
  return bits<Shorts>(vmaxq_s16(bits<int16x8_t>(x), bits<int16x8_t>(y)));
#else
  const Shorts mask = x > y;
  return (x & mask) | (y & ~mask);
#endif
}

inline Bytes max(Bytes x, Bytes y) {
#if defined(__AVX512BW__)
  return bits<Bytes>(_mm512_max_epu8(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<Bytes>(_mm256_max_epu8(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__SSE2__)
  return bits<Bytes>(_mm_max_epu8(bits<__m128i>(x), bits<__m128i>(y)));
#elif defined(__aarch64__)
  return bits<Bytes>(vmaxq_u8(bits<uint8x16_t>(x), bits<uint8x16_t>(y)));
#else
  const auto mask = bits<Bytes>(x > y);
  return (x & mask) | (y & ~mask);
#endif
}

/// x - y, or 0 where that is less.
inline Bytes subtract_to_zero(Bytes x, Bytes y) {
#if defined(__AVX512BW__)
  return bits<Bytes>(_mm512_subs_epu8(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<Bytes>(_mm256_subs_epu8(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__SSE2__)
  return bits<Bytes>(_mm_subs_epu8(bits<__m128i>(x), bits<__m128i>(y)));
#elif defined(__aarch64__)
  return bits<Bytes>(vqsubq_u8(bits<uint8x16_t>(x), bits<uint8x16_t>(y)));
#else
  return max(x, y) - y;
#endif
}

inline HalfWords subtract_to_zero(HalfWords x, HalfWords y) {
#if defined(__AVX512BW__)
  return bits<HalfWords>(_mm512_subs_epu16(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<HalfWords>(_mm256_subs_epu16(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__SSE2__)
  return bits<HalfWords>(_mm_subs_epu16(bits<__m128i>(x), bits<__m128i>(y)));
#elif defined(__aarch64__)
  return bits<HalfWords>(vqsubq_u16(bits<uint16x8_t>(x), bits<uint16x8_t>(y)));
#else
  return (x - y) & bits<HalfWords>(x > y);
#endif
}

inline HalfWords max(HalfWords x, HalfWords y) {
#if defined(__AVX512BW__)
  return bits<HalfWords>(_mm512_max_epu16(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<HalfWords>(_mm256_max_epu16(bits<__m256i>(x), bits<__m256i>(y)));
#else
  return subtract_to_zero(x, y) + y;
#endif
}

/// x where `number`, which is not negative, is positive; else 0.
inline Words where_positive(Words number, Words x) {
#if defined(__AVX512F__)
  return bits<Words>(_mm512_maskz_mov_epi32(
      _mm512_test_epi32_mask(bits<__m512i>(number), bits<__m512i>(number)), bits<__m512i>(x)));
#elif defined(__AVX2__)
  return bits<Words>(_mm256_sign_epi32(bits<__m256i>(x), bits<__m256i>(number)));
#else
  return x & ~(number == 0);
#endif
}

/// The smaller of two numbers that are not NaN.
inline Floats smaller(Floats x, Floats y) {
#if defined(__AVX512F__)
  return bits<Floats>(_mm512_maskz_min_ps(kAll, bits<__m512>(x), bits<__m512>(y)));
#elif defined(__AVX2__)
  return bits<Floats>(_mm256_min_ps(bits<__m256>(x), bits<__m256>(y)));
#elif defined(__SSE2__)
  return bits<Floats>(_mm_min_ps(bits<__m128>(x), bits<__m128>(y)));
#else
  return select<Floats>(bits<Words>(x < y), x, y);
#endif
}

/// Toward zero; lanes beyond 32 bits are unspecified.
inline Words truncate(Floats x) {
#if defined(__AVX512F__)
  return bits<Words>(_mm512_maskz_cvttps_epi32(kAll, bits<__m512>(x)));
#elif defined(__AVX2__)
  return bits<Words>(_mm256_cvttps_epi32(bits<__m256>(x)));
#elif defined(__SSE2__)
  return bits<Words>(_mm_cvttps_epi32(bits<__m128>(x)));
#else
  return __builtin_convertvector(x, Words);
#endif
}

/// The float next to x toward zero. ModeTowardZero: the caller's thread rounds all floats so.
template <bool ModeTowardZero>
inline Floats to_float_toward_zero(Words x) {
#if defined(__AVX512F__)
  return bits<Floats>(
      _mm512_maskz_cvt_roundepi32_ps(kAll, bits<__m512i>(x), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#else
#if defined(__AVX2__)
  if constexpr (ModeTowardZero) return bits<Floats>(_mm256_cvtepi32_ps(bits<__m256i>(x)));
#elif defined(__SSE2__)
  if constexpr (ModeTowardZero) return bits<Floats>(_mm_cvtepi32_ps(bits<__m128i>(x)));
#elif defined(__aarch64__)
  if constexpr (ModeTowardZero) return __builtin_convertvector(x, Floats);
#endif
    // Of 25 bits or more the 25th is cleared, and some below it: what is left to round is below one half.
    // A NaN or an infinity came as INT32_MIN, which stays what it is; the caller overwrites the lane.
#if defined(__AVX2__)
  const __m256i number = bits<__m256i>(x), magnitude = _mm256_abs_epi32(number);
  const __m256i cut = _mm256_andnot_si256(_mm256_srli_epi32(magnitude, 24), magnitude);
  return bits<Floats>(_mm256_cvtepi32_ps(_mm256_sign_epi32(cut, number)));
#else
  const Counts sign = bits<Counts>(x >> 31);
  const Counts magnitude = (bits<Counts>(x) ^ sign) - sign;
  const Counts cut = magnitude & ~(magnitude >> 24);
  return __builtin_convertvector(bits<Words>((cut ^ sign) - sign), Floats);
#endif
#endif
}

/// Whether the level converts to binary16 and back, whatever the thread's rounding.
#if defined(__AVX512F__) || defined(__F16C__)
constexpr bool kHasBinary16 = true;
#else
constexpr bool kHasBinary16 = false;
#endif

/// To binary16, to nearest even, and back.
inline Floats through_binary16(Floats x) {
#if defined(__AVX512F__)
  return bits<Floats>(_mm512_maskz_cvtph_ps(
      kAll, _mm512_maskz_cvtps_ph(kAll, bits<__m512>(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
#elif defined(__F16C__)
  return bits<Floats>(_mm256_cvtph_ps(_mm256_cvtps_ph(bits<__m256>(x), _MM_FROUND_TO_NEAREST_INT)));
#else
  return x;
#endif
}

/// Lanes 0, 2, 4, ... and 1, 3, 5, ... of two vectors as one.
inline Floats even_lanes(Floats x, Floats y) {
#if MMAUDIT_FAST_BYTES == 64
  return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif MMAUDIT_FAST_BYTES == 32
  return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(x, y, 0, 2, 4, 6);
#endif
}
inline Floats odd_lanes(Floats x, Floats y) {
#if MMAUDIT_FAST_BYTES == 64
  return __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif MMAUDIT_FAST_BYTES == 32
  return __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(x, y, 1, 3, 5, 7);
#endif
}

/// True when any lane of a mask is set.
inline bool any(Words mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(bits<__m512i>(mask), bits<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(bits<__m256i>(mask), bits<__m256i>(mask)) == 0;
#elif defined(__SSE2__)
  return _mm_movemask_epi8(bits<__m128i>(mask)) != 0;
#else
  std::int32_t all = 0;
  for (int i = 0; i < kLanes; ++i) all |= mask[i];
  return all != 0;
#endif
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
