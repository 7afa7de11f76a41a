#include "kernels/mma_kernel.cuh"
#include "ptx/mma_int.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_I8(MMAUDIT_MMA_INT_LINE)

std::span<const KernelRow> mma_i8_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_I8(MMAUDIT_MMA_INT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
