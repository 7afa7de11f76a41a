#pragma once
// One line per instruction: X(m, n, k, D, A, B, C).
#include "ptx/mma.cuh"

// clang-format off
#define MMAUDIT_MMA_FP8(X) \
  X(16, 8, 16, f32, e4m3, e4m3, f32) \
  X(16, 8, 16, f32, e4m3, e5m2, f32) \
  X(16, 8, 16, f32, e5m2, e4m3, f32) \
  X(16, 8, 16, f32, e5m2, e5m2, f32) \
  X(16, 8, 32, f32, e4m3, e4m3, f32) \
  X(16, 8, 32, f32, e4m3, e5m2, f32) \
  X(16, 8, 32, f32, e5m2, e4m3, f32) \
  X(16, 8, 32, f32, e5m2, e5m2, f32) \
  X(16, 8, 16, f16, e4m3, e4m3, f16) \
  X(16, 8, 16, f16, e4m3, e5m2, f16) \
  X(16, 8, 16, f16, e5m2, e4m3, f16) \
  X(16, 8, 16, f16, e5m2, e5m2, f16) \
  X(16, 8, 32, f16, e4m3, e4m3, f16) \
  X(16, 8, 32, f16, e4m3, e5m2, f16) \
  X(16, 8, 32, f16, e5m2, e4m3, f16) \
  X(16, 8, 32, f16, e5m2, e5m2, f16)
// clang-format on
