#include "ptx/mma_fp8.cuh"
#include "sweeps/kernels/mma_timed.cuh"

// One line a shape and accumulator: what A and B are does not change the unit.
// clang-format off
#define MMAUDIT_TIMED_FP8(X) \
  X(16, 8, 16, f32, e4m3, e4m3, f32) \
  X(16, 8, 32, f32, e4m3, e4m3, f32) \
  X(16, 8, 32, f32, e5m2, e5m2, f32) \
  X(16, 8, 16, f16, e4m3, e4m3, f16) \
  X(16, 8, 32, f16, e4m3, e4m3, f16) \
  X(16, 8, 32, f16, e5m2, e5m2, f16)
// clang-format on

namespace mmaudit::sweeps {

using device::instruction_row;
MMAUDIT_TIMED_FP8(MMAUDIT_MMA_LINE)

std::span<const TimedKernel> timed_mma_fp8() {
  static const TimedKernel kRows[] = {MMAUDIT_TIMED_FP8(MMAUDIT_TIMED)};
  return kRows;
}

}  // namespace mmaudit::sweeps
