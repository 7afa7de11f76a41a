#pragma once
// The running sums of a thread of the fast model: how they are rounded, and what infinities and NaNs make of
// them. How they come about: core.cuh.
#include <cstdint>
#include <type_traits>

#include "model/fma_chains.cuh"
#include "model/panels.cuh"
#include "model/words.cuh"

namespace mmaudit::device::core {

/// The running sums of a thread, values of the sums' format as binary64; during a step, its intermediate
/// results.
template <typename T = double>
struct Sums {
  T of[kRows][kColumns] = {};
  bool special = false;  ///< some sum is infinite or a NaN
  float bound = 0;       ///< no sum is larger

  /// Sets `special` and `bound`.
  __device__ void look() {
    if constexpr (sizeof(T) == sizeof(double)) {
      std::uint32_t largest = 0;
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
          largest = max(largest, static_cast<std::uint32_t>(__double2hiint(of[r][c])) & 0x7FFFFFFFU);
      special = largest >= kDoubleInfinity;
      bound = __double2float_ru(__hiloint2double(static_cast<std::int32_t>(largest), -1));
    }
  }
};
/// Sums between instructions: where C is added last they are its addends, binary32.
template <bool AddendLast>
using Held = Sums<std::conditional_t<AddendLast, float, double>>;

/// Sums before a step that may meet infinities or NaNs: rarely needed, so not in registers.
using Before = double[kRows * kColumns];

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
__device__ inline void special_elements(const CoreRules& rules, const Panels& panels, bool masked, int first,
                                        const Before& before, Sums<>& sums) {
  Before now;
#pragma unroll
  for (int i = 0; i < kRows * kColumns; ++i) now[i] = sums.of[i / kColumns][i % kColumns];
#pragma unroll 1
  for (int i = 0; i < kRows * kColumns; ++i)
    now[i] = special_element(rules, panels, masked, thread_row() + i / kColumns,
                             thread_column() + i % kColumns, first, before[i], now[i]);
#pragma unroll
  for (int i = 0; i < kRows * kColumns; ++i) sums.of[i / kColumns][i % kColumns] = now[i];
  sums.look();
}

}  // namespace mmaudit::device::core
