#include "kernels/mma_kernel.cuh"
#include "ptx/mma_f16.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_F16(MMAUDIT_MMA_LINE)
MMAUDIT_MMA_884(MMAUDIT_MMA_LINE)

std::span<const KernelRow> mma_f16_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_F16(MMAUDIT_MMA_KERNEL) MMAUDIT_MMA_884(MMAUDIT_MMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
