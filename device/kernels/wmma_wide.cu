#include "kernels/wmma_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_WMMA_WIDE(MMAUDIT_WMMA_LINE)

std::span<const KernelRow> wmma_wide_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WMMA_WIDE(MMAUDIT_WMMA_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
