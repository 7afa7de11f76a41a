#pragma once
// One line per instruction: X(k, D and C, A, B, majors).
#include "ptx/wgmma.cuh"

// clang-format off
#define MMAUDIT_WGMMA_F16(X) \
  X(16, f32, f16,  f16,  any_major) \
  X(16, f16, f16,  f16,  any_major) \
  X(16, f32, bf16, bf16, any_major)
// clang-format on
