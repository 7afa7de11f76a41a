#pragma once
// Integers and single bits, one line per instruction: X(m, n, k, qualifier, A, B) and X(m, n, k, operation).
// D and C are s32.
#include "ptx/mma.cuh"

#define MMAUDIT_MMA_INT_LINE(M, N, K, Q, A, B)                                                          \
  MMAUDIT_LINE_STRUCT(MMAUDIT_MMA_INT_NAME(M, N, K, Q, A, B), Op::mma, M, N, K, Format::s32, Format::A, \
                      Format::B, Format::s32, MMAUDIT_CLAMPS_##Q)
#define MMAUDIT_MMA_INT_NAME(M, N, K, Q, A, B) Mma_m##M##n##N##k##K##_##Q##_##A##_##B

#define MMAUDIT_MMA_BIT_LINE(M, N, K, OPERATION)                                                           \
  MMAUDIT_LINE_STRUCT(MMAUDIT_MMA_BIT_NAME(M, N, K, OPERATION), Op::mma, M, N, K, Format::s32, Format::b1, \
                      Format::b1, Format::s32, false, Multiply::OPERATION##_popc)
#define MMAUDIT_MMA_BIT_NAME(M, N, K, OPERATION) Mma_m##M##n##N##k##K##_##OPERATION

// clang-format off
#define MMAUDIT_EVERY_SIGN(X, M, N, K, Q, BITS) \
  X(M, N, K, Q, s##BITS, s##BITS) \
  X(M, N, K, Q, s##BITS, u##BITS) \
  X(M, N, K, Q, u##BITS, s##BITS) \
  X(M, N, K, Q, u##BITS, u##BITS)

#define MMAUDIT_MMA_I8(X) \
  MMAUDIT_EVERY_SIGN(X,  8, 8, 16, wrapping,  8) \
  MMAUDIT_EVERY_SIGN(X,  8, 8, 16, satfinite, 8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 16, wrapping,  8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 16, satfinite, 8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 32, wrapping,  8) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 32, satfinite, 8)

#define MMAUDIT_MMA_I4(X) \
  MMAUDIT_EVERY_SIGN(X,  8, 8, 32, wrapping,  4) \
  MMAUDIT_EVERY_SIGN(X,  8, 8, 32, satfinite, 4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 32, wrapping,  4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 32, satfinite, 4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 64, wrapping,  4) \
  MMAUDIT_EVERY_SIGN(X, 16, 8, 64, satfinite, 4)

#define MMAUDIT_MMA_B1(X) \
  X( 8, 8, 128, xor) \
  X( 8, 8, 128, and) \
  X(16, 8, 128, xor) \
  X(16, 8, 128, and) \
  X(16, 8, 256, xor) \
  X(16, 8, 256, and)
// clang-format on
