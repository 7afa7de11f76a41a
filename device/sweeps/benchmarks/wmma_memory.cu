// wmma.load of A and B, wmma.store of D. A load of C becomes several loads, of which ptxas keeps those that
// the chain reads: it can't be timed like this.
#include "sweeps/memory/shared_memory.cuh"
#ifdef __CUDACC__
#include "ptx/wmma_lists.cuh"
#endif

namespace mmaudit::sweeps {

namespace {

constexpr int kFragmentBytes = 16 * 16 * 4;  // of the largest matrix
constexpr int kLineElements = 16;
static_assert(kFragmentBytes <= kPatternBytes);

}  // namespace

enum class Loaded { a, b };
template <Loaded kOperand>
struct LoadFragment;
template <int kLaneWords>
struct StoreFragment;

#ifdef __CUDACC__

using device::listed_instruction;
MMAUDIT_WMMA_HALF_LINE(16, 16, 16, f32, f32)
MMAUDIT_WMMA_HALF_LINE(16, 16, 16, f16, f16)
using Wide = MMAUDIT_WMMA_HALF_NAME(16, 16, 16, f32, f32);
using Half = MMAUDIT_WMMA_HALF_NAME(16, 16, 16, f16, f16);

/// Each word of the matrix is the matrix's address, so whichever word the first register holds is where the
/// next load reads. A lane gets eight registers, half of them copies.
template <Loaded kOperand>
struct LoadFragment {
  static constexpr bool kExists = device::kTargetCapability >= 70;
  static constexpr int kWords = 4, kRegisters = 8, kAddresses = kWords;

  static __device__ void fill(int, int) {
    for (int word = static_cast<int>(threadIdx.x); word < kFragmentBytes / 4;
         word += static_cast<int>(blockDim.x))
      shared_words()[word] = base_address();
    __syncthreads();
  }
  static __device__ std::uint32_t first(int, int) { return 0; }
  static __device__ __forceinline__ void load(std::uint32_t (&r)[kRegisters], std::uint32_t address) {
    if constexpr (kOperand == Loaded::a)
      device::wmma_load<Wide::LoadA, device::RowMajor>(r, address, kLineElements);
    else
      device::wmma_load<Wide::LoadB, device::ColumnMajor>(r, address, kLineElements);
#if __CUDA_ARCH__ < 800  // two LDSM: ptxas drops the one that the next address does not need
#pragma unroll
    for (int i = 1; i < kRegisters; ++i) r[0] &= r[i];
#endif
  }
};

template <int kLaneWords>
struct StoreFragment {
  static constexpr bool kExists = device::kTargetCapability >= 70;
  static constexpr int kWords = kLaneWords, kWarpBytes = kFragmentBytes;

  static __device__ std::uint32_t word(int, int) { return pattern_word(0); }
  static __device__ int offset(int, int) { return 0; }
  static __device__ __forceinline__ void store(std::uint32_t address, const std::uint32_t (&r)[kWords]) {
    using Line = std::conditional_t<kWords == 8, Wide, Half>;
    device::wmma_store<typename Line::StoreD, device::RowMajor>(r, address, kLineElements);
  }
};

#endif

namespace {

template <Loaded kOperand>
Benchmark load_fragment(const char* name) {
  Benchmark benchmark = shared_access_benchmark(
      {.name = name, .words = 4, .block_bytes = kPatternBytes, .right = [](int, int, int) {
         return std::uint32_t{0};
       }});
  benchmark.sass = {{"LDSM", "LDS"}, 1};
  benchmark.kernel = kernel_with_chains<Chase<LoadFragment<kOperand>>, kAccessCopies>;
  return benchmark;
}

template <int kWords>
Benchmark store_fragment(const char* name) {
  Benchmark benchmark = shared_access_benchmark(
      {.name = name, .words = kWords, .warp_bytes = kFragmentBytes, .right = [](int, int, int) {
         return pattern_word(0);
       }});
  benchmark.sass = {{"STS"}, 1};
  benchmark.kernel = kernel_with_chains<Repeat<StoreFragment<kWords>>, kAccessCopies>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_wmma_memory() {
  std::vector<Benchmark> all = {load_fragment<Loaded::a>("wmma.load.a.m16n16k16.f16"),
                                load_fragment<Loaded::b>("wmma.load.b.m16n16k16.f16"),
                                store_fragment<8>("wmma.store.d.m16n16k16.f32"),
                                store_fragment<4>("wmma.store.d.m16n16k16.f16")};
  for (Benchmark& benchmark : all) {
    benchmark.family = "wmma loads and stores";
    benchmark.place = 90;
  }
  return all;
}

}  // namespace mmaudit::sweeps
