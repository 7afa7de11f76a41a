// mma.sp: half of A is zeros that are not stored. k counts in full.
#include "ptx/mma_sp.cuh"
#include "sweeps/matrix/mma.cuh"

// Of FP8 and integers one line per shape: what else A and B may be does not change the unit.
// clang-format off
#define MMAUDIT_TIMED_FP8(X) \
  X(16, 8, 64, f32, e4m3, e4m3, f32) \
  X(16, 8, 64, f32, e5m2, e5m2, f32)
#define MMAUDIT_TIMED_I8(X) \
  X(16, 8, 32, wrapping, s8, s8) \
  X(16, 8, 64, wrapping, s8, s8)
#define MMAUDIT_TIMED_I4(X) \
  X(16, 8,  64, wrapping, s4, s4) \
  X(16, 8, 128, wrapping, s4, s4)
// clang-format on

#define MMAUDIT_TIMED(...) mma_benchmark<MMAUDIT_MMA_SP_NAME(__VA_ARGS__), 4>(),
#define MMAUDIT_TIMED_INT(...) mma_benchmark<MMAUDIT_MMA_SP_INT_NAME(__VA_ARGS__), 4>(),
// Not unrolled: targets without the instruction spell it out in dozens of others.
#define MMAUDIT_TIMED_LONG(...) mma_benchmark<MMAUDIT_MMA_SP_INT_NAME(__VA_ARGS__), 1>(),

namespace mmaudit::sweeps {

using device::listed_instruction;
MMAUDIT_MMA_SP_F16(MMAUDIT_MMA_SP_LINE)
MMAUDIT_TIMED_FP8(MMAUDIT_MMA_SP_LINE)
MMAUDIT_TIMED_I8(MMAUDIT_MMA_SP_INT_LINE)
MMAUDIT_TIMED_I4(MMAUDIT_MMA_SP_INT_LINE)

std::vector<Benchmark> benchmark_mma_sp() {
  std::vector<Benchmark> all = {MMAUDIT_MMA_SP_F16(MMAUDIT_TIMED) MMAUDIT_TIMED_FP8(MMAUDIT_TIMED)  //
                                MMAUDIT_TIMED_I8(MMAUDIT_TIMED_INT) MMAUDIT_TIMED_I4(MMAUDIT_TIMED_LONG)};
  for (Benchmark& benchmark : all) {
    benchmark.family = "mma.sp";
    benchmark.place = 20;
    benchmark.published = {"Luo VIII", "Luo XII", "Sun VI", "Sun VII"};
  }
  return all;
}

}  // namespace mmaudit::sweeps
