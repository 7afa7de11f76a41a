#include "sweeps/kernels/wgmma_timed.cuh"

namespace mmaudit::sweeps {

// clang-format off
MMAUDIT_WGMMA_TYPE(S8, f32, 32, s32, s8, s8, product, "", "", "")
MMAUDIT_WGMMA_TYPE(U8, f32, 32, s32, u8, u8, product, "", "", "")
MMAUDIT_WGMMA_TYPE(B1, f32, 256, s32, b1, b1, and_popc, ".and.popc", "", "")
// clang-format on

std::span<const TimedKernel> timed_wgmma_int() {
  static const TimedKernel kRows[] = {
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, S8)  //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, U8)  //
      MMAUDIT_WGMMA_TIMED_N_f32(MMAUDIT_WGMMA_CHAIN_ROWS, B1)  //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
