#include "kernels/wgmma_kernel.cuh"
#include "ptx/wgmma_tf32.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_TF32(MMAUDIT_WGMMA_LINE)

std::span<const KernelRow> wgmma_tf32_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_TF32(MMAUDIT_WGMMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
