#include "sweeps/tests/hoisted.hpp"

#include "sweeps/matrix/mma.cuh"

namespace mmaudit::sweeps {

using device::listed_instruction;
MMAUDIT_MMA_LINE(16, 8, 32, f32, e4m3, e4m3, f32)

template <typename Line>
struct Hoisted;

#ifdef __CUDACC__
template <typename Line>
struct Hoisted : MmaBody<Line, false> {};
#endif

namespace test {

Benchmark hoisted_fp8() {
  using Line = MMAUDIT_MMA_NAME(16, 8, 32, f32, e4m3, e4m3, f32);
  Benchmark benchmark = matrix_benchmark(Line::kInstruction);
  benchmark.name += "+hoisted";
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kIlpAxis};
  benchmark.kernel = kernel_with_chains<Hoisted<Line>, 4, 16>;
  return benchmark;
}

}  // namespace test
}  // namespace mmaudit::sweeps
