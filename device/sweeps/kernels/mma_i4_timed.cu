#include "ptx/mma_int.cuh"
#include "sweeps/kernels/mma_timed.cuh"

// clang-format off
#define MMAUDIT_TIMED_I4(X) \
  X( 8, 8, 32, wrapping, s4, s4) \
  X(16, 8, 32, wrapping, s4, s4) \
  X(16, 8, 64, wrapping, s4, s4) \
  X(16, 8, 64, wrapping, u4, u4)
// clang-format on
// Not unrolled: targets without the instruction spell it out in dozens of others.
#define MMAUDIT_TIMED_INT(M, N, K, Q, A, B) MMAUDIT_TIMED_ROWS(Mma_m##M##n##N##k##K##_##Q##_##A##_##B, 1)

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_TIMED_I4(MMAUDIT_MMA_INT_LINE)

std::span<const TimedKernel> timed_mma_i4() {
  static const TimedKernel kRows[] = {MMAUDIT_TIMED_I4(MMAUDIT_TIMED_INT)};
  return kRows;
}

}  // namespace mmaudit::sweeps
