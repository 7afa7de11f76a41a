#include "sweeps/kernels/mma_timed.cuh"

#define MMAUDIT_TIMED_SP(M, N, K, D, A, B, C) \
  MMAUDIT_TIMED_ROWS(MmaSp_m##M##n##N##k##K##_##D##_##A##_##B##_##C, 4)

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_MMA_SP_F16(MMAUDIT_MMA_SP_LINE)

std::span<const TimedKernel> timed_mma_sp_f16() {
  static const TimedKernel kRows[] = {MMAUDIT_MMA_SP_F16(MMAUDIT_TIMED_SP)};
  return kRows;
}

}  // namespace mmaudit::sweeps
