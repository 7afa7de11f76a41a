#pragma once
// One line per instruction: X(m, n, k, D, A, B, C).
#include "ptx/mma.cuh"

// clang-format off
#define MMAUDIT_MMA_TF32(X) \
  X(16, 8, 4, f32, tf32, tf32, f32) \
  X(16, 8, 8, f32, tf32, tf32, f32)
// clang-format on
