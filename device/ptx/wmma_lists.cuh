#pragma once
// wmma, one line per instruction: X(m, n, k, D, C) of binary16 operands, X(m, n, k, D, A) where C is of D's
// type, X(m, n, k, qualifier, A) of integers and X(m, n, k, operation) of single bits.
#include "ptx/wmma.cuh"

// clang-format off
#define MMAUDIT_WMMA_F16_SHAPE(X, M, N, K) \
  X(M, N, K, f32, f32) \
  X(M, N, K, f32, f16) \
  X(M, N, K, f16, f32) \
  X(M, N, K, f16, f16)

#define MMAUDIT_WMMA_F16(X) \
  MMAUDIT_WMMA_F16_SHAPE(X, 16, 16, 16) \
  MMAUDIT_WMMA_F16_SHAPE(X, 32,  8, 16) \
  MMAUDIT_WMMA_F16_SHAPE(X,  8, 32, 16)

#define MMAUDIT_WMMA_WIDE(X) \
  X(16, 16, 16, f32, bf16) \
  X(32,  8, 16, f32, bf16) \
  X( 8, 32, 16, f32, bf16) \
  X(16, 16,  8, f32, tf32) \
  X( 8,  8,  4, f64, f64)

#define MMAUDIT_WMMA_I8_SHAPE(X, M, N, K) \
  X(M, N, K, wrapping,  s8) \
  X(M, N, K, satfinite, s8) \
  X(M, N, K, wrapping,  u8) \
  X(M, N, K, satfinite, u8)

#define MMAUDIT_WMMA_INT(X) \
  MMAUDIT_WMMA_I8_SHAPE(X, 16, 16, 16) \
  MMAUDIT_WMMA_I8_SHAPE(X, 32,  8, 16) \
  MMAUDIT_WMMA_I8_SHAPE(X,  8, 32, 16) \
  X(8, 8, 32, wrapping,  s4) \
  X(8, 8, 32, satfinite, s4) \
  X(8, 8, 32, wrapping,  u4) \
  X(8, 8, 32, satfinite, u4)

#define MMAUDIT_WMMA_B1(X) \
  X(8, 8, 128, xor) \
  X(8, 8, 128, and)
// clang-format on
