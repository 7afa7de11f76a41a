#include "kernels/mma_sp_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_SP_FP8(MMAUDIT_MMA_SP_LINE)

std::span<const KernelRow> mma_sp_fp8_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_SP_FP8(MMAUDIT_MMA_SP_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
