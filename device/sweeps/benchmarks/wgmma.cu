// wgmma, dense: each type, n from 8 to 256, A from shared memory or from registers.
#include "ptx/wgmma_f16.cuh"
#include "ptx/wgmma_tf32.cuh"
#include "sweeps/matrix/wgmma.cuh"

// The instruction on which the papers look at single commits; then the rest: X(k, D and C, A, B, modifiers).
// Of FP8 and integers one line per type: what else B may be does not change the unit.
// clang-format off
#define MMAUDIT_TIMED_LIST(X) \
  MMAUDIT_WGMMA_F16(X) \
  MMAUDIT_WGMMA_TF32(X) \
  X( 32, f32, e4m3, e4m3, k_major) \
  X( 32, f32, e5m2, e5m2, k_major) \
  X( 32, f16, e4m3, e4m3, k_major) \
  X( 32, f16, e5m2, e5m2, k_major) \
  X( 32, s32, s8, s8, none) \
  X( 32, s32, u8, u8, none) \
  X(256, s32, b1, b1, bits)
// clang-format on
#define MMAUDIT_TIMED(...) wgmma_of<MMAUDIT_TIMED_WGMMA_NAME(__VA_ARGS__)>(),

namespace mmaudit::sweeps {

MMAUDIT_TIMED_LIST(MMAUDIT_TIMED_WGMMA_LINE)

namespace {

/// The one on which papers look at a commit after each instruction has those kernels too.
template <typename Line>
Benchmark wgmma_of() {
  constexpr Instruction kIs = Line::kInstruction;
  return wgmma_benchmark < Line, kIs.a == Format::f16 && kIs.d == Format::f32 > ();
}

}  // namespace

std::vector<Benchmark> benchmark_wgmma() {
  std::vector<Benchmark> all = {MMAUDIT_TIMED_LIST(MMAUDIT_TIMED)};
  for (Benchmark& benchmark : all) {
    benchmark.family = "wgmma";
    benchmark.place = 40;
    benchmark.published = {"Luo IX", "Luo XI", "Luo XIII"};
  }
  return all;
}

}  // namespace mmaudit::sweeps
