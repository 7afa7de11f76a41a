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
// clang-format on
