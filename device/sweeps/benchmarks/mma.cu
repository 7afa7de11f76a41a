// mma: each type of the tensor core, each shape.
#include "ptx/mma_f16.cuh"
#include "ptx/mma_f64.cuh"
#include "ptx/mma_int.cuh"
#include "ptx/mma_tf32.cuh"
#include "sweeps/matrix/mma.cuh"

// Of FP8 and integers one line per shape and accumulator: what else A and B may be does not change the unit.
// clang-format off
#define MMAUDIT_TIMED_FP8(X) \
  X(16, 8, 16, f32, e4m3, e4m3, f32) \
  X(16, 8, 32, f32, e4m3, e4m3, f32) \
  X(16, 8, 32, f32, e5m2, e5m2, f32) \
  X(16, 8, 16, f16, e4m3, e4m3, f16) \
  X(16, 8, 32, f16, e4m3, e4m3, f16) \
  X(16, 8, 32, f16, e5m2, e5m2, f16)
#define MMAUDIT_TIMED_I8(X) \
  X( 8, 8, 16, wrapping,  s8, s8) \
  X(16, 8, 16, wrapping,  s8, s8) \
  X(16, 8, 32, wrapping,  s8, s8) \
  X(16, 8, 32, wrapping,  u8, u8) \
  X(16, 8, 32, satfinite, s8, s8)
#define MMAUDIT_TIMED_I4(X) \
  X( 8, 8, 32, wrapping, s4, s4) \
  X(16, 8, 32, wrapping, s4, s4) \
  X(16, 8, 64, wrapping, s4, s4) \
  X(16, 8, 64, wrapping, u4, u4)
// clang-format on

#define MMAUDIT_TIMED(...) mma_benchmark<MMAUDIT_MMA_NAME(__VA_ARGS__), 4>(),
#define MMAUDIT_TIMED_INT(...) mma_benchmark<MMAUDIT_MMA_INT_NAME(__VA_ARGS__), 4>(),
// Not unrolled: targets without the instruction spell it out in dozens of others.
#define MMAUDIT_TIMED_LONG(...) mma_benchmark<MMAUDIT_MMA_INT_NAME(__VA_ARGS__), 1>(),
#define MMAUDIT_TIMED_BIT(...) mma_benchmark<MMAUDIT_MMA_BIT_NAME(__VA_ARGS__), 4>(),

namespace mmaudit::sweeps {

using device::listed_instruction;
MMAUDIT_MMA_F16(MMAUDIT_MMA_LINE)
MMAUDIT_MMA_TF32(MMAUDIT_MMA_LINE)
MMAUDIT_TIMED_FP8(MMAUDIT_MMA_LINE)
MMAUDIT_MMA_F64(MMAUDIT_MMA_LINE)
MMAUDIT_TIMED_I8(MMAUDIT_MMA_INT_LINE)
MMAUDIT_TIMED_I4(MMAUDIT_MMA_INT_LINE)
MMAUDIT_MMA_B1(MMAUDIT_MMA_BIT_LINE)

std::vector<Benchmark> benchmark_mma() {
  std::vector<Benchmark> all = {MMAUDIT_MMA_F16(MMAUDIT_TIMED) MMAUDIT_MMA_TF32(MMAUDIT_TIMED)
                                    MMAUDIT_TIMED_FP8(MMAUDIT_TIMED)                                      //
                                MMAUDIT_MMA_F64(MMAUDIT_TIMED)                                            //
                                MMAUDIT_TIMED_I8(MMAUDIT_TIMED_INT) MMAUDIT_TIMED_I4(MMAUDIT_TIMED_LONG)  //
                                MMAUDIT_MMA_B1(MMAUDIT_TIMED_BIT)};
  for (Benchmark& benchmark : all) {
    benchmark.family = "mma";
    benchmark.place = 10;
    benchmark.published = {"Luo VIII", "Luo XII", "Sun III", "Sun IV", "Sun V"};
  }
  return all;
}

}  // namespace mmaudit::sweeps
