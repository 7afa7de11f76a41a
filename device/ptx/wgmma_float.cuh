#pragma once
// One line per instruction: X(k, D and C, A, B, majors).
#include "ptx/wgmma.cuh"

// clang-format off
#define MMAUDIT_WGMMA_F16(X) \
  X(16, f32, f16,  f16,  any_major) \
  X(16, f16, f16,  f16,  any_major) \
  X(16, f32, bf16, bf16, any_major)

#define MMAUDIT_WGMMA_TF32(X) X(8, f32, tf32, tf32, k_major)

#define MMAUDIT_WGMMA_EVERY_FP8(X, K, D, MAJORS) \
  X(K, D, e4m3, e4m3, MAJORS) \
  X(K, D, e4m3, e5m2, MAJORS) \
  X(K, D, e5m2, e4m3, MAJORS) \
  X(K, D, e5m2, e5m2, MAJORS)

#define MMAUDIT_WGMMA_FP8(X) MMAUDIT_WGMMA_EVERY_FP8(X, 32, f32, k_major)
#define MMAUDIT_WGMMA_FP8_HALF(X) MMAUDIT_WGMMA_EVERY_FP8(X, 32, f16, k_major)
// clang-format on
