#include "ptx/mma_tf32.cuh"
#include "sweeps/kernels/mma_timed.cuh"

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_MMA_TF32(MMAUDIT_MMA_LINE)

std::span<const TimedKernel> timed_mma_tf32() {
  static const TimedKernel kRows[] = {MMAUDIT_MMA_TF32(MMAUDIT_TIMED)};
  return kRows;
}

}  // namespace mmaudit::sweeps
