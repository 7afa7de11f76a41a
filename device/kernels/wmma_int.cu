#include "kernels/wmma_kernel.cuh"

namespace mmaudit::device {

MMAUDIT_WMMA_INT(MMAUDIT_WMMA_INT_LINE)
MMAUDIT_WMMA_B1(MMAUDIT_WMMA_BIT_LINE)

std::span<const KernelRow> wmma_int_kernels() {
  static const KernelRow kRows[] = {MMAUDIT_WMMA_INT(MMAUDIT_WMMA_INT_KERNEL)
                                        MMAUDIT_WMMA_B1(MMAUDIT_WMMA_BIT_KERNEL)};
  return kRows;
}

}  // namespace mmaudit::device
