#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_TYPE(F16, f32, 16, f32, f16, f16, product, "", ", 1, 1, 0, 0", ", 1, 1, 0")
// clang-format on

std::span<const TimedKernel> timed_wgmma_f16() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, F16)   //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_SINGLE_ROWS, F16)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
