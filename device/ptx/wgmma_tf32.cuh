#pragma once
// One line per instruction: X(k, D and C, A, B, majors).
#include "ptx/wgmma.cuh"

#define MMAUDIT_WGMMA_TF32(X) X(8, f32, tf32, tf32, k_major)
