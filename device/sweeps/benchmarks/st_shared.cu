// st.shared of one word per lane.
#include "sweeps/memory/shared_memory.cuh"

namespace mmaudit::sweeps {

#ifdef __CUDACC__
struct StoreWord {
  static constexpr bool kExists = true;
  static constexpr int kWords = 1, kWarpBytes = 32 * 4;

  static __device__ std::uint32_t word(int, int lane) { return pattern_word(lane); }
  static __device__ int offset(int stride, int lane) { return stride * lane; }
  static __device__ __forceinline__ void store(std::uint32_t address, const std::uint32_t (&r)[kWords]) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(r[0]) : "memory");
  }
};
#else
struct StoreWord;
#endif

std::vector<Benchmark> benchmark_st_shared() {
  Benchmark benchmark =
      shared_access_benchmark({.name = "st.shared.u32",
                               .words = 1,
                               .warp_bytes = 32 * 4,
                               .stride = [](const Point&) { return 4; },
                               .right = [](int, int lane, int) { return pattern_word(lane); }});
  benchmark.family = "Stores to shared memory";
  benchmark.place = 71;
  benchmark.sass = {{"STS"}, 1};
  benchmark.kernel = kernel_with_chains<Repeat<StoreWord>, kAccessCopies>;
  return {benchmark};
}

}  // namespace mmaudit::sweeps
