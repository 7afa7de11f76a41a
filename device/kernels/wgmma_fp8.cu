#include "kernels/wgmma_kernel.cuh"
#include "ptx/wgmma_fp8.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_FP8(MMAUDIT_WGMMA_LINE)

std::span<const KernelRow> wgmma_fp8_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_FP8(MMAUDIT_WGMMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
