#pragma once
// mma.sp, with ordered metadata: one line per instruction. Floating: X(m, n, k, D, A, B, C); integers:
// X(m, n, k, qualifier, A, B) with D and C s32.
#include <cstdint>

#include "ptx/mma_float.cuh"
#include "ptx/mma_int.cuh"

#define MMAUDIT_MMA_SP_LINE(M, N, K, D, A, B, C)                                                           \
  MMAUDIT_LINE_STRUCT(MMAUDIT_MMA_SP_NAME(M, N, K, D, A, B, C), Op::mma_sp, M, N, K, Format::D, Format::A, \
                      Format::B, Format::C)
#define MMAUDIT_MMA_SP_NAME(M, N, K, D, A, B, C) MmaSp_m##M##n##N##k##K##_##D##_##A##_##B##_##C

#define MMAUDIT_MMA_SP_INT_LINE(M, N, K, Q, A, B)                                                  \
  MMAUDIT_LINE_STRUCT(MMAUDIT_MMA_SP_INT_NAME(M, N, K, Q, A, B), Op::mma_sp, M, N, K, Format::s32, \
                      Format::A, Format::B, Format::s32, MMAUDIT_CLAMPS_##Q)
#define MMAUDIT_MMA_SP_INT_NAME(M, N, K, Q, A, B) MmaSp_m##M##n##N##k##K##_##Q##_##A##_##B

// clang-format off
#define MMAUDIT_MMA_SP_F16(X) \
  X(16, 8, 16, f32, f16,  f16,  f32) \
  X(16, 8, 32, f32, f16,  f16,  f32) \
  X(16, 8, 16, f16, f16,  f16,  f16) \
  X(16, 8, 32, f16, f16,  f16,  f16) \
  X(16, 8, 16, f32, bf16, bf16, f32) \
  X(16, 8, 32, f32, bf16, bf16, f32) \
  X(16, 8,  8, f32, tf32, tf32, f32) \
  X(16, 8, 16, f32, tf32, tf32, f32)

#define MMAUDIT_MMA_SP_FP8(X) MMAUDIT_EVERY_FP8(X, 16, 8, 64, f32)

#define MMAUDIT_MMA_SP_INT(X) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 32,  wrapping,  8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 32,  satfinite, 8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 64,  wrapping,  8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 64,  satfinite, 8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 64,  wrapping,  4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 64,  satfinite, 4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 128, wrapping,  4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 128, satfinite, 4)
// clang-format on

// D = A * B + D; `metadata` is a register, SELECTOR a literal.
#define MMAUDIT_MMA_SP_REGISTERS(ND, NA, NB, TEXT)                                                      \
  template <typename Line, int kSelector>                                                               \
  __device__ __forceinline__ void mma_sp(std::uint32_t(&d)[ND], const std::uint32_t(&a)[NA],            \
                                         const std::uint32_t(&b)[NB], std::uint32_t metadata) {         \
    asm volatile(TEXT                                                                                   \
                 : MMAUDIT_READ_##ND("+r", d)                                                           \
                 : MMAUDIT_READ_##NA("r", a), MMAUDIT_READ_##NB("r", b), "r"(metadata), "n"(kSelector), \
                   "C"(TextOf<Line>::kText));                                                           \
  }

#ifdef __CUDACC__  // the lists above serve the host too
namespace mmaudit::device {

// clang-format off
MMAUDIT_MMA_SP_REGISTERS(2, 2, 2, "%8 {%0,%1}, {%2,%3}, {%4,%5}, {%0,%1}, %6, %7;")
MMAUDIT_MMA_SP_REGISTERS(2, 4, 4, "%12 {%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%0,%1}, %10, %11;")
MMAUDIT_MMA_SP_REGISTERS(4, 2, 2, "%10 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, %9;")
MMAUDIT_MMA_SP_REGISTERS(4, 4, 4,
    "%14 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, %13;")
// clang-format on

}  // namespace mmaudit::device
#endif
