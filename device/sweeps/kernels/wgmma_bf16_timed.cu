#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_TYPE(Bf16, f32, 16, f32, bf16, bf16, product, "", ", 1, 1, 0, 0", ", 1, 1, 0")
// clang-format on

std::span<const TimedKernel> timed_wgmma_bf16() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, Bf16)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
