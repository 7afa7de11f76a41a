#include "kernels/wgmma_kernel.cuh"
#include "ptx/wgmma_f16.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_F16(MMAUDIT_WGMMA_LINE)

std::span<const KernelRow> wgmma_f16_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_F16(MMAUDIT_WGMMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
