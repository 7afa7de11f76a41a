#pragma once
// One line per instruction: X(k, D and C, A, B, majors).
#include "ptx/wgmma.cuh"

// clang-format off
#define MMAUDIT_WGMMA_FP8(X) \
  X(32, f32, e4m3, e4m3, k_major) \
  X(32, f32, e4m3, e5m2, k_major) \
  X(32, f32, e5m2, e4m3, k_major) \
  X(32, f32, e5m2, e5m2, k_major)

#define MMAUDIT_WGMMA_FP8_HALF(X) \
  X(32, f16, e4m3, e4m3, k_major) \
  X(32, f16, e4m3, e5m2, k_major) \
  X(32, f16, e5m2, e4m3, k_major) \
  X(32, f16, e5m2, e5m2, k_major)
// clang-format on
