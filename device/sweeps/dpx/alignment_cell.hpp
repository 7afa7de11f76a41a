#pragma once
// One cell of an alignment in four kinds of numbers: H from its neighbours, then E of the next letter and F
// of the next row, H the best score of an alignment that ends here, E and F the best that ends in a gap.
//
// The unit of DPX does one instruction of a warp in two cycles of a multiprocessor, packed or not. So
// additions are kept out of it: as 32-bit additions of numbers that never become negative, kBias above their
// scores, they need no packed addition, and multiply-adds do them on another unit. What is left is three and
// a half instructions for each cell: max3 for H, max(E - next, H - first), max3 for F, which is kept at 0 or
// above so that H is, and half a max3 for the best of all.
#include <cstdint>

#include "sweeps/dpx/alignment.hpp"
#include "sweeps/dpx/functions.hpp"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace mmaudit::sweeps {

/// Instructions of the DPX unit for each cell or pair of cells.
inline constexpr double kDpxPerCell = 3.5;

/// Functions of DPX, or the same in plain C++, which the host has too.
template <DpxType Type, bool Plain>
struct AlignmentFunctions {
  MMAUDIT_HD static std::uint32_t max3(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#ifdef __CUDA_ARCH__
    if constexpr (!Plain) return Type == DpxType::s32 ? __vimax3_s32(a, b, c) : __vimax3_s16x2(a, b, c);
#endif
    return dpx_plain(DpxOperands::three, Type, true, false, a, b, c).value;
  }
  MMAUDIT_HD static std::uint32_t max3_relu(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#ifdef __CUDA_ARCH__
    if constexpr (!Plain)
      return Type == DpxType::s32 ? __vimax3_s32_relu(a, b, c) : __vimax3_s16x2_relu(a, b, c);
#endif
    return dpx_plain(DpxOperands::three, Type, true, true, a, b, c).value;
  }
  MMAUDIT_HD static std::uint32_t add_max(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#ifdef __CUDA_ARCH__
    if constexpr (!Plain) return Type == DpxType::s32 ? __viaddmax_s32(a, b, c) : __viaddmax_s16x2(a, b, c);
#endif
    return dpx_plain(DpxOperands::sum, Type, true, false, a, b, c).value;
  }
};

/// Two alignments in the halves of a register.
template <bool Plain>
struct AlignmentS16x2 {
  using Word = std::uint32_t;
  using Functions = AlignmentFunctions<DpxType::s16x2, Plain>;
  static constexpr int kAlignments = 2;
  /// Of a block: in plain C++ more registers are needed.
  static constexpr int kMostThreads = Plain ? 384 : 512;
  /// More than a letter or a gap takes off. Odd: the gate takes a subtraction of an even number for a counter
  /// of the loop.
  static constexpr int kBias = 33;

  std::uint32_t one = 1;  ///< not known to the compiler: x * one + y stays a multiply-add

  MMAUDIT_HD static constexpr Word both(int number) { return static_cast<Word>(number) * 0x10001U; }
  MMAUDIT_HD static constexpr Word zero() { return both(kBias); }
  /// Scores to add, the low one's sign carried into the high one.
  MMAUDIT_HD static Word score(int low, int high) {
    return static_cast<Word>(low) + (static_cast<Word>(high) << 16);
  }
  MMAUDIT_HD static Word of_bits(std::uint32_t bits) { return bits; }
  MMAUDIT_HD static std::uint32_t bits(Word word) { return word; }
  MMAUDIT_HD static int low(Word word) { return static_cast<int>(word & 0xFFFF) - kBias; }
  MMAUDIT_HD static int high(Word word) { return static_cast<int>(word >> 16) - kBias; }

  MMAUDIT_HD Word cell(Word diagonal, Word score, Word& e, Word& f) const {
    constexpr Word kNext = static_cast<Word>(-kGapNext) & 0xFFFF;
    const Word h = Functions::max3(diagonal * one + score, e, f);
    const Word gap = h * one + both(-kGapFirst);
    e = Functions::add_max(e, kNext << 16 | kNext, gap);
    f = Functions::max3(f * one + both(-kGapNext), gap, zero());
    return h;
  }
  MMAUDIT_HD Word greatest(Word best, Word one_h, Word other_h) const {
    return Functions::max3(best, one_h, other_h);
  }
};

/// One alignment, 32 bits.
template <bool Plain>
struct AlignmentS32 {
  using Word = std::uint32_t;
  using Functions = AlignmentFunctions<DpxType::s32, Plain>;
  static constexpr int kAlignments = 1, kMostThreads = 512;

  std::uint32_t one = 1;

  MMAUDIT_HD static constexpr Word zero() { return 0; }
  MMAUDIT_HD static Word score(int low, int) { return static_cast<Word>(low); }
  MMAUDIT_HD static Word of_bits(std::uint32_t bits) { return bits; }
  MMAUDIT_HD static std::uint32_t bits(Word word) { return word; }
  MMAUDIT_HD static int low(Word word) { return static_cast<int>(word); }
  MMAUDIT_HD static int high(Word) { return 0; }

  MMAUDIT_HD Word cell(Word diagonal, Word score, Word& e, Word& f) const {
    const Word h = Functions::max3_relu(diagonal * one + score, e, f);
    const Word gap = h * one + static_cast<Word>(-kGapFirst);
    e = Functions::add_max(e, static_cast<Word>(-kGapNext), gap);
    f = Functions::add_max(f, static_cast<Word>(-kGapNext), gap);
    return h;
  }
  MMAUDIT_HD Word greatest(Word best, Word one_h, Word other_h) const {
    return Functions::max3(best, one_h, other_h);
  }
};

#ifdef __CUDACC__

/// Two alignments in binary16, exact up to 2048.
struct AlignmentHalf2 {
  using Word = __half2;
  static constexpr int kAlignments = 2, kMostThreads = 512;

  std::uint32_t one = 1;

  static __device__ Word both(float number) { return __float2half2_rn(number); }
  static __device__ Word zero() { return both(0); }
  static __device__ Word score(int low, int high) {
    return __floats2half2_rn(static_cast<float>(low), static_cast<float>(high));
  }
  static __device__ Word of_bits(std::uint32_t bits) { return *reinterpret_cast<const Word*>(&bits); }
  static __device__ std::uint32_t bits(Word word) { return *reinterpret_cast<const std::uint32_t*>(&word); }
  static __device__ int low(Word word) { return __half2int_rn(__low2half(word)); }
  static __device__ int high(Word word) { return __half2int_rn(__high2half(word)); }

  __device__ Word cell(Word diagonal, Word score, Word& e, Word& f) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const Word matched = __hfma2_relu(diagonal, both(1), score);
#else
    const Word matched = __hmax2(__hadd2(diagonal, score), zero());
#endif
    const Word h = __hmax2(__hmax2(matched, e), f);
    const Word gap = __hadd2(h, both(-kGapFirst));
    e = __hmax2(__hadd2(e, both(-kGapNext)), gap);
    f = __hmax2(__hadd2(f, both(-kGapNext)), gap);
    return h;
  }
  __device__ Word greatest(Word best, Word one_h, Word other_h) const {
    return __hmax2(__hmax2(best, one_h), other_h);
  }
};

/// One alignment in binary32.
struct AlignmentFloat {
  using Word = float;
  static constexpr int kAlignments = 1, kMostThreads = 512;

  std::uint32_t one = 1;

  static __device__ Word zero() { return 0; }
  static __device__ Word score(int low, int) { return static_cast<float>(low); }
  static __device__ Word of_bits(std::uint32_t bits) { return __uint_as_float(bits); }
  static __device__ std::uint32_t bits(Word word) { return __float_as_uint(word); }
  static __device__ int low(Word word) { return static_cast<int>(word); }
  static __device__ int high(Word) { return 0; }

  __device__ Word cell(Word diagonal, Word score, Word& e, Word& f) const {
    const Word h = fmaxf(fmaxf(diagonal + score, 0.0F), fmaxf(e, f));
    const Word gap = h - kGapFirst;
    e = fmaxf(e - kGapNext, gap);
    f = fmaxf(f - kGapNext, gap);
    return h;
  }
  __device__ Word greatest(Word best, Word one_h, Word other_h) const {
    return fmaxf(fmaxf(best, one_h), other_h);
  }
};

#endif

}  // namespace mmaudit::sweeps
