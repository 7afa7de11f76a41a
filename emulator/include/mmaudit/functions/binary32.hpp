#pragma once
// Instructions of binary32 as the bits they give, on host and device: FFMA, FMUL, FADD with their roundings.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::functions {

inline constexpr std::uint32_t kNan = 0x7FFFFFFF;  ///< what the GPU gives for every NaN
inline constexpr std::uint32_t kInfinity = 0x7F800000, kSign = 0x80000000, kLeastNormal = 0x00800000;

[[gnu::always_inline]] MMAUDIT_HD constexpr float as_float(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
[[gnu::always_inline]] MMAUDIT_HD constexpr std::uint32_t bits_of(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}
MMAUDIT_HD constexpr std::uint32_t size_of(std::uint32_t x) { return x & ~kSign; }
MMAUDIT_HD constexpr bool is_nan(std::uint32_t x) { return size_of(x) > kInfinity; }
/// Subnormal numbers become zeros of their sign.
MMAUDIT_HD constexpr std::uint32_t flushed(std::uint32_t x) {
  return size_of(x) < kLeastNormal ? x & kSign : x;
}

enum class Direction : std::uint8_t { nearest, zero, down };

/// Rounds the binary64 `x`, whose last bit is 1 where it isn't exact (round to odd), to binary32.
MMAUDIT_HD constexpr std::uint32_t rounded(double x, Direction direction) {
  const auto near = static_cast<float>(x);
  const std::uint32_t bits = bits_of(near);
  if (direction == Direction::nearest || is_nan(bits)) return bits;
  const double back = near;
  const bool negative = (bits & kSign) != 0;
  // One step back where the nearest number lies on the wrong side; an overflow goes back to the largest.
  const bool outside = negative ? back < x : back > x;
  const bool above = back > x;
  if (direction == Direction::zero) return outside ? bits - 1 : bits;
  if (!above) return bits;
  return negative ? bits + 1 : bits == 0 ? kSign | 1U : bits - 1;
}

struct Mode {
  bool flush = false;  ///< .FTZ: operands and exact results below 2^-126 are zeros
  Direction direction = Direction::nearest;
};

// What a kernel with MMAUDIT_HARDWARE_FMA takes instead: the instruction itself. Checks don't.
#if defined(__CUDA_ARCH__) && defined(MMAUDIT_HARDWARE_FMA)
#define MMAUDIT_FFMA(name, instruction)                                                     \
  __device__ inline std::uint32_t name(std::uint32_t a, std::uint32_t b, std::uint32_t c) { \
    std::uint32_t d = 0;                                                                    \
    asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));                 \
    return d;                                                                               \
  }
MMAUDIT_FFMA(ffma_rn, "fma.rn.f32")
MMAUDIT_FFMA(ffma_rz, "fma.rz.f32")
MMAUDIT_FFMA(ffma_rm, "fma.rm.f32")
MMAUDIT_FFMA(ffma_rn_ftz, "fma.rn.ftz.f32")
MMAUDIT_FFMA(ffma_rz_ftz, "fma.rz.ftz.f32")
#undef MMAUDIT_FFMA
#endif

/// a + b in binary64, made odd where it isn't exact, so that a second rounding is the only one.
MMAUDIT_HD constexpr double odd_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const auto bits = __builtin_bit_cast(std::uint64_t, sum);
  if (error == 0 || error != error || (bits & 1) != 0) return sum;
  const bool away = (error > 0) == (sum > 0);
  return __builtin_bit_cast(double, away ? bits + 1 : bits - 1);
}

/// a * b + c with one rounding. The product is exact in binary64.
MMAUDIT_HD constexpr std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c, Mode mode = {}) {
#if defined(__CUDA_ARCH__) && defined(MMAUDIT_HARDWARE_FMA)
  if (mode.direction == Direction::down) return ffma_rm(a, b, c);  // no chain flushes downwards
  if (mode.direction == Direction::zero) return mode.flush ? ffma_rz_ftz(a, b, c) : ffma_rz(a, b, c);
  return mode.flush ? ffma_rn_ftz(a, b, c) : ffma_rn(a, b, c);
#endif
  if (mode.flush) a = flushed(a), b = flushed(b), c = flushed(c);
  const double product = static_cast<double>(as_float(a)) * static_cast<double>(as_float(b));
  const double sum = odd_sum(product, static_cast<double>(as_float(c)));
  // What rounds up to the least normal number is flushed, too.
  if (mode.flush && sum < 0x1p-126 && sum > -0x1p-126) return bits_of(static_cast<float>(sum)) & kSign;
  const std::uint32_t result = rounded(sum, mode.direction);
  return is_nan(result) ? kNan : result;
}
MMAUDIT_HD constexpr std::uint32_t fma(std::uint32_t a, float b, float c, Mode mode = {}) {
  return fma(a, bits_of(b), bits_of(c), mode);
}
MMAUDIT_HD constexpr std::uint32_t fma(std::uint32_t a, float b, std::uint32_t c, Mode mode = {}) {
  return fma(a, bits_of(b), c, mode);
}
MMAUDIT_HD constexpr std::uint32_t fma(std::uint32_t a, std::uint32_t b, float c, Mode mode = {}) {
  return fma(a, b, bits_of(c), mode);
}

/// a * b; the zero that is added has the product's sign, so that a product of -0 stays.
MMAUDIT_HD constexpr std::uint32_t mul(std::uint32_t a, std::uint32_t b, Mode mode = {}) {
  return fma(a, b, (a ^ b) & kSign, mode);
}
MMAUDIT_HD constexpr std::uint32_t mul(std::uint32_t a, float b, Mode mode = {}) {
  return mul(a, bits_of(b), mode);
}
MMAUDIT_HD constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b, Mode mode = {}) {
  return fma(a, 1.0F, b, mode);
}
MMAUDIT_HD constexpr std::uint32_t add(std::uint32_t a, float b, Mode mode = {}) {
  return add(a, bits_of(b), mode);
}

}  // namespace mmaudit::functions
