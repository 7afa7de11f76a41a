// wgmma and wgmma.sp: each type, n from 8 to 256, A from shared memory or from registers. k of a sparse
// instruction counts in full.

// The n that are timed: X(n, accumulator registers of 32 bits, of binary16, ...).
#ifdef MMAUDIT_CENSUS  // n changes no opcode
#define MMAUDIT_TIMED_N(X, ...) X(64, 32, 16, __VA_ARGS__)
#else
#define MMAUDIT_TIMED_N(X, ...) \
  X(8, 4, 2, __VA_ARGS__)       \
  X(16, 8, 4, __VA_ARGS__)      \
  X(32, 16, 8, __VA_ARGS__)     \
  X(64, 32, 16, __VA_ARGS__) X(128, 64, 32, __VA_ARGS__) X(256, 128, 64, __VA_ARGS__)
#endif

#include "sweeps/matrix/wgmma_chains.cuh"

#define MMAUDIT_TIMED(...) benchmark_of<MMAUDIT_DENSE_NAME(__VA_ARGS__)>(),
#define MMAUDIT_TIMED_SP(...) benchmark_of<MMAUDIT_SPARSE_NAME(__VA_ARGS__)>(),

namespace mmaudit::sweeps {

namespace {

template <typename Line, int kN>
TimedKernel kernel_of(const Point& point) {
  // The instruction on which papers look at a commit after each instruction.
  constexpr Instruction kIs = Line::kInstruction;
  constexpr bool kSingle = kIs.op == Op::wgmma && kIs.a == Format::f16 && kIs.d == Format::f32;
  using Shared = Wgmma<Chain<Line, kN>, false>;
  using Registers = Wgmma<Chain<Line, kN>, true>;
  const bool registers = point.axis("a") == "registers";
  if (point.axis("group") == "8")
    return registers ? timed_kernel<Registers, 1, 8>() : timed_kernel<Shared, 1, 8>();
  if constexpr (kSingle) return registers ? timed_kernel<Registers, 1, 1>() : timed_kernel<Shared, 1, 1>();
  return {};
}

template <typename Line>
TimedKernel kernel_at(const Point& point) {
  switch (point.number("n")) {
#define MMAUDIT_AT(N, ...) \
  case N:                  \
    return kernel_of<Line, N>(point);
    MMAUDIT_TIMED_N(MMAUDIT_AT)
#undef MMAUDIT_AT
    default:
      return {};
  }
}

template <typename Line>
Benchmark benchmark_of() {
  const bool sparse = is_sparse(Line::kInstruction.op);
  Benchmark benchmark = wgmma_benchmark(Line::kInstruction);
  benchmark.family = sparse ? "wgmma.sp" : "wgmma";
  benchmark.place = sparse ? 45 : 40;
  benchmark.axes.insert(benchmark.axes.end(), {kSourceAxis, kGroupAxis});
  benchmark.published = {sparse ? "Luo X" : "Luo IX", "Luo XI", "Luo XIII"};
  benchmark.kernel = kernel_at<Line>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_wgmma() {
  return {MMAUDIT_TIMED_DENSE(MMAUDIT_TIMED) MMAUDIT_TIMED_SPARSE(MMAUDIT_TIMED_SP)};
}

}  // namespace mmaudit::sweeps
