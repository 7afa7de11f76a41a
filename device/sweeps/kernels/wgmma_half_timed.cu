#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_TYPE(Half, f16, 16, f16, f16, f16, product, "", ", 1, 1, 0, 0", ", 1, 1, 0")
// clang-format on

std::span<const TimedKernel> timed_wgmma_half() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f16(MMAUDIT_WGMMA_CHAIN_ROWS, Half)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
