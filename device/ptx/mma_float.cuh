#pragma once
// One line per instruction: X(m, n, k, D, A, B, C).
#include "ptx/mma.cuh"

// clang-format off
#define MMAUDIT_MMA_F16(X) \
  X(16, 8,  8, f32, f16,  f16,  f32) \
  X(16, 8, 16, f32, f16,  f16,  f32) \
  X(16, 8,  8, f16, f16,  f16,  f16) \
  X(16, 8, 16, f16, f16,  f16,  f16) \
  X(16, 8,  8, f32, bf16, bf16, f32) \
  X(16, 8, 16, f32, bf16, bf16, f32)
// Per octet; C and D may differ.
#define MMAUDIT_MMA_884(X) \
  X( 8, 8,  4, f32, f16,  f16,  f32) \
  X( 8, 8,  4, f32, f16,  f16,  f16) \
  X( 8, 8,  4, f16, f16,  f16,  f16)

#define MMAUDIT_MMA_TF32(X) \
  X(16, 8, 4, f32, tf32, tf32, f32) \
  X(16, 8, 8, f32, tf32, tf32, f32)

#define MMAUDIT_EVERY_FP8(X, M, N, K, D) \
  X(M, N, K, D, e4m3, e4m3, D) \
  X(M, N, K, D, e4m3, e5m2, D) \
  X(M, N, K, D, e5m2, e4m3, D) \
  X(M, N, K, D, e5m2, e5m2, D)

#define MMAUDIT_MMA_FP8(X) \
  MMAUDIT_EVERY_FP8(X, 16, 8, 16, f32) \
  MMAUDIT_EVERY_FP8(X, 16, 8, 32, f32) \
  MMAUDIT_EVERY_FP8(X, 16, 8, 16, f16) \
  MMAUDIT_EVERY_FP8(X, 16, 8, 32, f16)

#define MMAUDIT_MMA_F64(X) \
  X( 8, 8,  4, f64, f64, f64, f64) \
  X(16, 8,  4, f64, f64, f64, f64) \
  X(16, 8,  8, f64, f64, f64, f64) \
  X(16, 8, 16, f64, f64, f64, f64)
// clang-format on
