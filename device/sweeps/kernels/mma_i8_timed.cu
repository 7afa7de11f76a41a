#include "ptx/mma_int.cuh"
#include "sweeps/kernels/mma_timed.cuh"

// clang-format off
#define MMAUDIT_TIMED_I8(X) \
  X( 8, 8, 16, wrapping,  s8, s8) \
  X(16, 8, 16, wrapping,  s8, s8) \
  X(16, 8, 32, wrapping,  s8, s8) \
  X(16, 8, 32, wrapping,  u8, u8) \
  X(16, 8, 32, satfinite, s8, s8)
// clang-format on
#define MMAUDIT_TIMED_INT(M, N, K, Q, A, B) MMAUDIT_TIMED_ROWS(Mma_m##M##n##N##k##K##_##Q##_##A##_##B, 4)

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_TIMED_I8(MMAUDIT_MMA_INT_LINE)

std::span<const TimedKernel> timed_mma_i8() {
  static const TimedKernel kRows[] = {MMAUDIT_TIMED_I8(MMAUDIT_TIMED_INT)};
  return kRows;
}

}  // namespace mmaudit::sweeps
