#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_SP_TYPE(SpE4m3, f32, 64, f32, e4m3, e4m3, product, "", ", 1, 1", ", 1, 1")
MMAUDIT_WGMMA_SP_TYPE(SpE4m3Half, f16, 64, f16, e4m3, e4m3, product, "", ", 1, 1", ", 1, 1")
MMAUDIT_WGMMA_SP_TYPE(SpS8, f32, 64, s32, s8, s8, product, "", "", "")
// clang-format on

std::span<const TimedKernel> timed_wgmma_sp_narrow() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, SpE4m3)      //
      MMAUDIT_WGMMA_TIMED_N_f16(MMAUDIT_WGMMA_CHAIN_ROWS, SpE4m3Half)  //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, SpS8)        //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
