#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_SP_TYPE(SpF16, f32, 32, f32, f16, f16, product, "", ", 1, 1, 0, 0", ", 1, 1, 0")
MMAUDIT_WGMMA_SP_TYPE(SpHalf, f16, 32, f16, f16, f16, product, "", ", 1, 1, 0, 0", ", 1, 1, 0")
MMAUDIT_WGMMA_SP_TYPE(SpBf16, f32, 32, f32, bf16, bf16, product, "", ", 1, 1, 0, 0", ", 1, 1, 0")
MMAUDIT_WGMMA_SP_TYPE(SpTf32, f32, 16, f32, tf32, tf32, product, "", ", 1, 1", ", 1, 1")
// clang-format on

std::span<const TimedKernel> timed_wgmma_sp_f16() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, SpF16)   //
      MMAUDIT_WGMMA_TIMED_N_f16(MMAUDIT_WGMMA_CHAIN_ROWS, SpHalf)  //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, SpBf16)  //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, SpTf32)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
