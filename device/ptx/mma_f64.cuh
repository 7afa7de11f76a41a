#pragma once
// One line per instruction: X(m, n, k, D, A, B, C).
#include "ptx/mma.cuh"

// clang-format off
#define MMAUDIT_MMA_F64(X) \
  X( 8, 8,  4, f64, f64, f64, f64) \
  X(16, 8,  4, f64, f64, f64, f64) \
  X(16, 8,  8, f64, f64, f64, f64) \
  X(16, 8, 16, f64, f64, f64, f64)
// clang-format on
