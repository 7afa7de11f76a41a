#include "kernels/wgmma_sp_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_SP_FP8(MMAUDIT_WGMMA_SP_LINE)

std::span<const KernelRow> wgmma_sp_fp8_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_SP_FP8(MMAUDIT_WGMMA_SP_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
