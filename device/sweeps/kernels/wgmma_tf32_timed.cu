#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_TYPE(Tf32, f32, 8, f32, tf32, tf32, product, "", ", 1, 1", ", 1, 1")
// clang-format on

std::span<const TimedKernel> timed_wgmma_tf32() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, Tf32)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
