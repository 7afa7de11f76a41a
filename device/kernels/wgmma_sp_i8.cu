#include "kernels/wgmma_sp_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_SP_I8(MMAUDIT_WGMMA_SP_INT_LINE)

std::span<const KernelRow> wgmma_sp_i8_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_SP_I8(MMAUDIT_WGMMA_SP_INT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
