#include "kernels/mma_kernel.cuh"
#include "ptx/mma_tf32.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_TF32(MMAUDIT_MMA_LINE)

std::span<const KernelRow> mma_tf32_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_TF32(MMAUDIT_MMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
