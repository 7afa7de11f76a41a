#pragma once
// The running sums of a thread of the fast model: how they are rounded, and what infinities and NaNs make of
// them. How they come about: core.cuh.
#include <cstdint>
#include <type_traits>

#include "model/fma_chains.cuh"
#include "model/panels.cuh"
#include "model/words.cuh"

namespace mmaudit::device::core {

inline constexpr std::int32_t kField = 0x7FF00000;

/// What infinities and NaNs made of the elements of a thread, a bit each. Such an element stays what it is,
/// so its running sum counts from 0 on for nothing. Kept in memory: rarely read.
struct Codes {
  std::uint32_t nan = 0, plus = 0, minus = 0;

  [[nodiscard]] __device__ std::uint32_t any() const { return nan | plus | minus; }
  /// Element i, whose running sum is `sum`.
  [[nodiscard]] __device__ double of(int i, double sum) const {
    const std::uint32_t bit = 1U << i;
    if (((nan | (plus & minus)) & bit) != 0) return __longlong_as_double(0x7FF8000000000000);
    const double infinity = __longlong_as_double(0x7FF0000000000000);
    if ((plus & bit) != 0) return infinity;
    return (minus & bit) != 0 ? -infinity : sum;
  }
  /// Element i became `sum`, which is infinite or a NaN, when it had no code yet.
  __device__ void add(int i, double sum) {
    const std::uint32_t bit = 1U << i & ~any();
    if (sum != sum)
      nan |= bit;
    else
      (sum > 0 ? plus : minus) |= bit;
  }
};

/// The running sums of a thread, values of the sums' format as binary64; during a step, its intermediate
/// results.
template <typename T = double>
struct Sums {
  T of[kRows][kColumns] = {};
  float bound = 0;  ///< no sum is larger

  /// High word of the largest magnitude.
  [[nodiscard]] __device__ std::uint32_t largest() const {
    std::uint32_t largest = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        largest = max(largest, static_cast<std::uint32_t>(__double2hiint(of[r][c])) & 0x7FFFFFFFU);
    return largest;
  }
  /// Sets `bound`. No sum is special.
  __device__ void look() {
    bound = __double2float_ru(__hiloint2double(static_cast<std::int32_t>(largest()), -1));
  }
  /// The same, and special sums become codes.
  __device__ void look(Codes& codes) {
    if (largest() >= kDoubleInfinity) {
#pragma unroll
      for (int i = 0; i < kRows * kColumns; ++i) {
        T& sum = of[i / kColumns][i % kColumns];
        if (fabs(sum) < static_cast<T>(__longlong_as_double(0x7FF0000000000000))) continue;
        codes.add(i, sum);
        sum = 0;
      }
    }
    look();
  }
  /// Codes become special sums again, and no element has one.
  __device__ void settle(Codes& codes) {
    if (codes.any() == 0) return;
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) {
      T& sum = of[i / kColumns][i % kColumns];
      sum = static_cast<T>(codes.of(i, static_cast<double>(sum)));
    }
    codes = {};
  }
};
/// Sums between instructions: where C is added last they are its addends, binary32.
template <bool AddendLast>
using Held = Sums<std::conditional_t<AddendLast, float, double>>;

__device__ inline double to_half_and_back(double x) {
  std::uint16_t bits = 0;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return static_cast<double>(float_of_half(bits));
}

/// A sum that is far below the largest binary16, to nearest even in it; every zero is +0. The sum of it
/// and 1.5 times 2^(42 + its exponent) ends where binary16 does.
__device__ inline double round_tame_half(double sum) {
  constexpr std::int32_t kHalf = 0x80000, kAbove = 52 - 10, kLeast = -14;
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

/// `x` rounded down to a multiple of 2^(E - bits), |x| below 2^(E + 50 - bits); `field`: of E, in its place.
__device__ inline double rounded_down(double x, std::int32_t field, int bits) {
  constexpr std::int32_t kOneAndAHalf = 0x80000;
  const double start = __hiloint2double((field + ((52 - bits) << 20)) | kOneAndAHalf, 0);
  return __dadd_rd(x, start) - start;
}

/// C plus the sum of a step's products, which is a multiple of 2^(E - F), E their largest exponent: both are
/// rounded down below the larger exponent, their sum after 31 bits, and then to nearest even. An infinite or
/// NaN C stays. `drops_far`: a C that is far below counts for nothing.
__device__ inline float second_stage(double products, std::int32_t field, float c, bool drops_far) {
  constexpr std::int32_t kLeast = (-126 + 1023) << 20;  // of a zero C, too
  auto addend = static_cast<double>(c);
  const std::int32_t own = max(__double2hiint(addend) & kField, kLeast), top = max(field, own);
  if (drops_far && top - own > (kStagedFraction + 1) << 20) addend = 0;
  const double sum =
      rounded_down(addend, top, kStagedFraction) + rounded_down(products, top, kStagedSumFraction + 1);
  return __double2float_rn(rounded_down(sum, max(__double2hiint(sum) & kField, kLeast), kStagedSumFraction));
}

/// Adds to the codes what infinities and NaNs among the operands of a step make of its elements. There are
/// masks.
__device__ inline void operand_codes(const CoreRules& rules, const Panels& panels, int first, Codes& codes) {
  for (int word = first & ~(kMaskBits - 1); word < first + rules.step; word += kMaskBits) {
    const auto a = [&](Mask which, int row) { return panels.mask(false, which, word, thread_row() + row); };
    const auto b = [&](Mask which, int column) {
      return panels.mask(true, which, word, thread_column() + column);
    };
    std::uint32_t of_step = ~0U;
    if (rules.step < kMaskBits) of_step = ((1U << rules.step) - 1) << (first - word);
    std::uint32_t some = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r) some |= a(kMaskNan, r) | a(kMaskInfinity, r);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) some |= b(kMaskNan, c) | b(kMaskInfinity, c);
    if ((some & of_step) == 0) continue;
#pragma unroll 1
    for (int i = 0; i < kRows * kColumns; ++i) {
      const int r = i / kColumns, c = i % kColumns;
      const std::uint32_t here = of_step & ~a(kMaskAbsent, r);
      const std::uint32_t infinite = (a(kMaskInfinity, r) | b(kMaskInfinity, c)) & here;
      const std::uint32_t negative = a(kMaskNegative, r) ^ b(kMaskNegative, c);
      const std::uint32_t nan =
          ((a(kMaskNan, r) | b(kMaskNan, c)) & here) | (infinite & (a(kMaskZero, r) | b(kMaskZero, c)));
      codes.nan |= (nan != 0 ? 1U : 0U) << i;
      codes.plus |= ((infinite & ~negative) != 0 ? 1U : 0U) << i;
      codes.minus |= ((infinite & negative) != 0 ? 1U : 0U) << i;
    }
  }
}

}  // namespace mmaudit::device::core
