#include "kernels/mma_kernel.cuh"
#include "ptx/mma_f64.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_F64(MMAUDIT_MMA_LINE)

std::span<const KernelRow> mma_f64_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_F64(MMAUDIT_MMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
