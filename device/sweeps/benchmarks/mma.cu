// mma and mma.sp: chains of one instruction in each warp. k of a sparse instruction counts in full.
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
#define MMAUDIT_TIMED_SP_FP8(X) X(16, 8, 64, f32, e4m3, e4m3, f32) X(16, 8, 64, f32, e5m2, e5m2, f32)
#define MMAUDIT_TIMED_SP_I8(X)  X(16, 8, 32, wrapping, s8, s8)     X(16, 8, 64, wrapping, s8, s8)
#define MMAUDIT_TIMED_SP_I4(X)  X(16, 8, 64, wrapping, s4, s4)     X(16, 8, 128, wrapping, s4, s4)
// clang-format on

#define MMAUDIT_TIMED(...) benchmark_of<MMAUDIT_MMA_NAME(__VA_ARGS__), 4>(),
#define MMAUDIT_TIMED_INT(...) benchmark_of<MMAUDIT_MMA_INT_NAME(__VA_ARGS__), 4>(),
#define MMAUDIT_TIMED_BIT(...) benchmark_of<MMAUDIT_MMA_BIT_NAME(__VA_ARGS__), 4>(),
#define MMAUDIT_TIMED_SP(...) benchmark_of<MMAUDIT_MMA_SP_NAME(__VA_ARGS__), 4>(),
#define MMAUDIT_TIMED_SP_INT(...) benchmark_of<MMAUDIT_MMA_SP_INT_NAME(__VA_ARGS__), 4>(),
// Not unrolled: targets without the instruction spell it out in dozens of others.
#define MMAUDIT_TIMED_LONG(...) benchmark_of<MMAUDIT_MMA_INT_NAME(__VA_ARGS__), 1>(),
#define MMAUDIT_TIMED_SP_LONG(...) benchmark_of<MMAUDIT_MMA_SP_INT_NAME(__VA_ARGS__), 1>(),

namespace mmaudit::sweeps {

using device::listed_instruction;
MMAUDIT_MMA_F16(MMAUDIT_MMA_LINE)
MMAUDIT_MMA_884(MMAUDIT_MMA_LINE)
MMAUDIT_MMA_TF32(MMAUDIT_MMA_LINE)
MMAUDIT_TIMED_FP8(MMAUDIT_MMA_LINE)
MMAUDIT_MMA_F64(MMAUDIT_MMA_LINE)
MMAUDIT_TIMED_I8(MMAUDIT_MMA_INT_LINE)
MMAUDIT_TIMED_I4(MMAUDIT_MMA_INT_LINE)
MMAUDIT_MMA_B1(MMAUDIT_MMA_BIT_LINE)
MMAUDIT_MMA_SP_F16(MMAUDIT_MMA_SP_LINE)
MMAUDIT_TIMED_SP_FP8(MMAUDIT_MMA_SP_LINE)
MMAUDIT_TIMED_SP_I8(MMAUDIT_MMA_SP_INT_LINE)
MMAUDIT_TIMED_SP_I4(MMAUDIT_MMA_SP_INT_LINE)

/// Body of a Line of ptx/.
template <typename Line>
struct Mma;

#ifdef __CUDACC__

template <typename Line>
struct Mma : MmaBody<Line, rotates(Line::kInstruction)> {};

#ifdef MMAUDIT_CENSUS  // four tiles per warp, which no grid times: the census alone reads its code
template __global__ void timed<Mma<Mma_m8n8k4_f32_f16_f16_f32>, 1, 16>(TimedArgs);
template __global__ void timed<Mma<Mma_m8n8k4_f16_f16_f16_f16>, 1, 16>(TimedArgs);
#endif

#endif

namespace {

/// A lone chain is unrolled kCopies times more: nothing else hides the loop's branch, which costs 3 cycles.
template <typename Line, int kCopies>
Benchmark benchmark_of() {
  const bool sparse = is_sparse(Line::kInstruction.op);
  Benchmark benchmark = matrix_benchmark(Line::kInstruction);
  benchmark.family = sparse ? "mma.sp" : "mma";
  benchmark.place = sparse ? 20 : 10;
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kIlpAxis};
  if (sparse)
    benchmark.published = {"Luo VIII", "Luo XII", "Sun VI", "Sun VII"};
  else
    benchmark.published = {"Luo VIII", "Luo XII", "Sun III", "Sun IV", "Sun V"};
  benchmark.kernel = kernel_with_chains<Mma<Line>, kCopies, kCopies * kCopies>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_mma() {
  return {MMAUDIT_MMA_F16(MMAUDIT_TIMED)             //
          MMAUDIT_MMA_TF32(MMAUDIT_TIMED)            //
          MMAUDIT_TIMED_FP8(MMAUDIT_TIMED)           //
          MMAUDIT_MMA_F64(MMAUDIT_TIMED)             //
          MMAUDIT_TIMED_I8(MMAUDIT_TIMED_INT)        //
          MMAUDIT_TIMED_I4(MMAUDIT_TIMED_LONG)       //
          MMAUDIT_MMA_B1(MMAUDIT_TIMED_BIT)          //
          MMAUDIT_MMA_SP_F16(MMAUDIT_TIMED_SP)       //
          MMAUDIT_TIMED_SP_FP8(MMAUDIT_TIMED_SP)     //
          MMAUDIT_TIMED_SP_I8(MMAUDIT_TIMED_SP_INT)  //
          MMAUDIT_TIMED_SP_I4(MMAUDIT_TIMED_SP_LONG)};
}

}  // namespace mmaudit::sweeps
