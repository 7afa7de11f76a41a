#include "ptx/mma_f64.cuh"
#include "sweeps/kernels/mma_timed.cuh"

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_MMA_F64(MMAUDIT_MMA_LINE)

std::span<const TimedKernel> timed_mma_f64() {
  static const TimedKernel kRows[] = {MMAUDIT_MMA_F64(MMAUDIT_TIMED)};
  return kRows;
}

}  // namespace mmaudit::sweeps
