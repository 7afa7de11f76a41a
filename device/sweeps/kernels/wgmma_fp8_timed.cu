#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_TYPE(E4m3, f32, 32, f32, e4m3, e4m3, product, "", ", 1, 1", ", 1, 1")
MMAUDIT_WGMMA_TYPE(E5m2, f32, 32, f32, e5m2, e5m2, product, "", ", 1, 1", ", 1, 1")
MMAUDIT_WGMMA_TYPE(E4m3Half, f16, 32, f16, e4m3, e4m3, product, "", ", 1, 1", ", 1, 1")
MMAUDIT_WGMMA_TYPE(E5m2Half, f16, 32, f16, e5m2, e5m2, product, "", ", 1, 1", ", 1, 1")
// clang-format on

std::span<const TimedKernel> timed_wgmma_fp8() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, E4m3)      //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, E5m2)      //
      MMAUDIT_WGMMA_TIMED_N_f16(MMAUDIT_WGMMA_CHAIN_ROWS, E4m3Half)  //
      MMAUDIT_WGMMA_TIMED_N_f16(MMAUDIT_WGMMA_CHAIN_ROWS, E5m2Half)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
