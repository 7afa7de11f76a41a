#include "ptx/mma_f16.cuh"
#include "sweeps/kernels/mma_timed.cuh"

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_MMA_F16(MMAUDIT_MMA_LINE)

std::span<const TimedKernel> timed_mma_f16() {
  static const TimedKernel kRows[] = {MMAUDIT_MMA_F16(MMAUDIT_TIMED)};
  return kRows;
}

}  // namespace mmaudit::sweeps
