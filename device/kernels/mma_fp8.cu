#include "kernels/mma_kernel.cuh"
#include "ptx/mma_fp8.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_FP8(MMAUDIT_MMA_LINE)

std::span<const KernelRow> mma_fp8_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_FP8(MMAUDIT_MMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
