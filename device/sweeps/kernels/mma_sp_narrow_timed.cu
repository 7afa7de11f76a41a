#include "sweeps/kernels/mma_timed.cuh"

// One line a shape: what A and B are does not change the unit.
// clang-format off
#define MMAUDIT_TIMED_SP_FP8(X) \
  X(16, 8, 64, f32, e4m3, e4m3, f32) \
  X(16, 8, 64, f32, e5m2, e5m2, f32)
#define MMAUDIT_TIMED_SP_I8(X) \
  X(16, 8, 32, wrapping, s8, s8) \
  X(16, 8, 64, wrapping, s8, s8)
#define MMAUDIT_TIMED_SP_I4(X) \
  X(16, 8,  64, wrapping, s4, s4) \
  X(16, 8, 128, wrapping, s4, s4)
// clang-format on
#define MMAUDIT_TIMED_SP(M, N, K, D, A, B, C) \
  MMAUDIT_TIMED_ROWS(MmaSp_m##M##n##N##k##K##_##D##_##A##_##B##_##C, 4)
#define MMAUDIT_TIMED_SP_INT(M, N, K, Q, A, B) MMAUDIT_TIMED_ROWS(MmaSp_m##M##n##N##k##K##_##Q##_##A##_##B, 4)
// Not unrolled: targets without the instruction spell it out in dozens of others.
#define MMAUDIT_TIMED_SP_LONG(M, N, K, Q, A, B) \
  MMAUDIT_TIMED_ROWS(MmaSp_m##M##n##N##k##K##_##Q##_##A##_##B, 1)

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_TIMED_SP_FP8(MMAUDIT_MMA_SP_LINE)
MMAUDIT_TIMED_SP_I8(MMAUDIT_MMA_SP_INT_LINE)
MMAUDIT_TIMED_SP_I4(MMAUDIT_MMA_SP_INT_LINE)

std::span<const TimedKernel> timed_mma_sp_narrow() {
  static const TimedKernel kRows[] = {MMAUDIT_TIMED_SP_FP8(MMAUDIT_TIMED_SP) MMAUDIT_TIMED_SP_I8(
      MMAUDIT_TIMED_SP_INT) MMAUDIT_TIMED_SP_I4(MMAUDIT_TIMED_SP_LONG)};
  return kRows;
}

}  // namespace mmaudit::sweeps
