// wgmma.sp: half of A is zeros that are not stored. k counts in full.
#include "sweeps/matrix/wgmma.cuh"

// X(k, D and C, A, B, modifiers). Of FP8 and integers one line per type: what else B may be does not change
// the unit.
// clang-format off
#define MMAUDIT_TIMED_LIST(X) \
  X(32, f32, f16,  f16,  any_major) \
  X(32, f16, f16,  f16,  any_major) \
  X(32, f32, bf16, bf16, any_major) \
  X(16, f32, tf32, tf32, k_major) \
  X(64, f32, e4m3, e4m3, k_major) \
  X(64, f16, e4m3, e4m3, k_major) \
  X(64, s32, s8,   s8,   none)
// clang-format on
#define MMAUDIT_TIMED(...) wgmma_benchmark<MMAUDIT_TIMED_WGMMA_SP_NAME(__VA_ARGS__)>(),

namespace mmaudit::sweeps {

MMAUDIT_TIMED_LIST(MMAUDIT_TIMED_WGMMA_SP_LINE)

std::vector<Benchmark> benchmark_wgmma_sp() {
  std::vector<Benchmark> all = {MMAUDIT_TIMED_LIST(MMAUDIT_TIMED)};
  for (Benchmark& benchmark : all) {
    benchmark.family = "wgmma.sp";
    benchmark.place = 45;
    benchmark.published = {"Luo X", "Luo XI", "Luo XIII"};
  }
  return all;
}

}  // namespace mmaudit::sweeps
