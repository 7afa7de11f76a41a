// ldmatrix of one, two and four 8 x 8 matrices, transposed or not.
#include "sweeps/memory/shared_memory.cuh"
#ifdef __CUDACC__
#include "ptx/shared_memory.cuh"
#endif

namespace mmaudit::sweeps {

template <int kMatrices, bool kTransposed>
struct LoadMatrices;

namespace {

constexpr int kRowBytes = 16;

/// Which 16-bit element of a transposed 8 x 8 matrix a lane gets in the low (0) or high (1) half of its
/// register. Source: PTX ISA 9.0, ldmatrix, ".trans".
MMAUDIT_HD constexpr int transposed_half(int lane, int half) {
  return 8 * (2 * (lane % 4) + half) + lane / 4;
}

template <bool kTransposed>
std::uint32_t right_word(int, int lane, int w) {
  if (w == 0) return static_cast<std::uint32_t>(kRowBytes * lane);
  if (!kTransposed) return pattern_word(32 * w + lane);
  const auto element = [w](int half) {
    const std::uint32_t word = pattern_word(32 * w + half / 2);
    return half % 2 == 0 ? word & 0xFFFFU : word >> 16;
  };
  return element(transposed_half(lane, 0)) | element(transposed_half(lane, 1)) << 16;
}

}  // namespace

#ifdef __CUDACC__
template <int kMatrices, bool kTransposed>
struct LoadMatrices : PatternLoad<kMatrices> {
  /// Each word its pattern, and the first matrix so that each lane gets its own address from it.
  static __device__ void fill(int stride, int lane) {
    fill_pattern();
    if (threadIdx.x < 32) {
      const std::uint32_t address = base_address() + LoadMatrices::first(stride, lane);
      if constexpr (kTransposed) {
        auto* halves = reinterpret_cast<std::uint16_t*>(shared_words());
        halves[transposed_half(lane, 0)] = static_cast<std::uint16_t>(address);
        halves[transposed_half(lane, 1)] = static_cast<std::uint16_t>(address >> 16);
      } else {
        shared_words()[lane] = address;  // ldmatrix deals the words out in lane order
      }
    }
    __syncthreads();
  }
  static __device__ __forceinline__ void load(std::uint32_t (&r)[kMatrices], std::uint32_t address) {
    device::load_matrices<kTransposed>(r, address);
  }
};
#endif

namespace {

template <int kMatrices, bool kTransposed>
Benchmark load_matrices(const char* name) {
  Benchmark benchmark = shared_access_benchmark({.name = name,
                                                 .words = kMatrices,
                                                 .block_bytes = kPatternBytes,
                                                 .stride = [](const Point&) { return kRowBytes; },
                                                 .right = right_word<kTransposed>});
  benchmark.family = "Loads of shared memory";
  benchmark.place = 60;
  benchmark.published = {"Sun IX"};
  benchmark.sass = {{"LDSM"}, 1};
  benchmark.kernel = kernel_with_chains<Chase<LoadMatrices<kMatrices, kTransposed>>, kAccessCopies>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_ldmatrix() {
  return {load_matrices<1, false>("ldmatrix.x1"),      load_matrices<2, false>("ldmatrix.x2"),
          load_matrices<4, false>("ldmatrix.x4"),      load_matrices<1, true>("ldmatrix.x1.trans"),
          load_matrices<2, true>("ldmatrix.x2.trans"), load_matrices<4, true>("ldmatrix.x4.trans")};
}

}  // namespace mmaudit::sweeps
