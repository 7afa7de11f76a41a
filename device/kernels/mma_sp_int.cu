#include "kernels/mma_sp_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_MMA_SP_INT(MMAUDIT_MMA_SP_INT_LINE)

std::span<const KernelRow> mma_sp_int_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_MMA_SP_INT(MMAUDIT_MMA_SP_INT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
