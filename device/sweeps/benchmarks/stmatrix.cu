// stmatrix of one, two and four 8 x 8 matrices.
#include "sweeps/memory/shared_memory.cuh"
#ifdef __CUDACC__
#include "ptx/shared_memory.cuh"
#endif

namespace mmaudit::sweeps {

template <int kMatrices>
struct StoreMatrices;

#ifdef __CUDACC__
template <int kMatrices>
struct StoreMatrices {
  static constexpr bool kExists = device::kTargetCapability >= 90;
  static constexpr int kWords = kMatrices, kWarpBytes = 32 * 16;

  static __device__ std::uint32_t word(int w, int lane) { return pattern_word(32 * w + lane); }
  static __device__ int offset(int stride, int lane) { return stride * lane; }
  static __device__ __forceinline__ void store(std::uint32_t address, const std::uint32_t (&r)[kWords]) {
    device::store_matrices(address, r);
  }
};
#endif

namespace {

template <int kMatrices>
Benchmark store_matrices(const char* name) {
  Benchmark benchmark =
      shared_access_benchmark({.name = name,
                               .words = kMatrices,
                               .warp_bytes = 32 * 16,
                               .stride = [](const Point&) { return 16; },
                               .right = [](int, int lane, int w) { return pattern_word(32 * w + lane); }});
  benchmark.family = "Stores to shared memory";
  benchmark.place = 70;
  benchmark.sass = {{"STSM"}, 1};
  benchmark.why_not = hopper_has("stmatrix needs");
  benchmark.kernel = kernel_with_chains<Repeat<StoreMatrices<kMatrices>>, kAccessCopies>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_stmatrix() {
  return {store_matrices<1>("stmatrix.x1"), store_matrices<2>("stmatrix.x2"),
          store_matrices<4>("stmatrix.x4")};
}

}  // namespace mmaudit::sweeps
