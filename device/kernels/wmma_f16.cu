#include "kernels/wmma_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_WMMA_F16(MMAUDIT_WMMA_HALF_LINE)

std::span<const KernelRow> wmma_f16_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WMMA_F16(MMAUDIT_WMMA_HALF_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
