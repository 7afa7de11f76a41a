#include "kernels/wgmma_kernel.cuh"
#include "ptx/wgmma_int.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_B1(MMAUDIT_WGMMA_INT_LINE)

std::span<const KernelRow> wgmma_b1_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_B1(MMAUDIT_WGMMA_INT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
