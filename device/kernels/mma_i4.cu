#include "kernels/mma_kernel.cuh"
#include "ptx/mma_int.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_I4(MMAUDIT_MMA_INT_LINE)

std::span<const KernelRow> mma_i4_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_I4(MMAUDIT_MMA_INT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
