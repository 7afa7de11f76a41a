#include "kernels/wgmma_kernel.cuh"
#include "ptx/wgmma_int.cuh"

namespace mmaudit::device {

MMAUDIT_WGMMA_I8_SATFINITE(MMAUDIT_WGMMA_INT_LINE)

std::span<const KernelRow> wgmma_i8_satfinite_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WGMMA_I8_SATFINITE(MMAUDIT_WGMMA_INT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
