#include "ptx/mma_int.cuh"
#include "sweeps/kernels/mma_timed.cuh"

#define MMAUDIT_TIMED_BIT(M, N, K, OPERATION) MMAUDIT_TIMED_ROWS(Mma_m##M##n##N##k##K##_##OPERATION, 4)

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_MMA_B1(MMAUDIT_MMA_BIT_LINE)

std::span<const TimedKernel> timed_mma_b1() {
  static const TimedKernel kRows[] = {MMAUDIT_MMA_B1(MMAUDIT_TIMED_BIT)};
  return kRows;
}

}  // namespace mmaudit::sweeps
