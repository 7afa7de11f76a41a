#include "kernels/mma_kernel.cuh"
#include "ptx/mma_int.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_B1(MMAUDIT_MMA_BIT_LINE)

std::span<const KernelRow> mma_b1_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_B1(MMAUDIT_MMA_BIT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
