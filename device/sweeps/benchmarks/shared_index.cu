// A chase of an index through an array in shared memory, as C++ spells it: the address of each load is
// computed from the index that was loaded before.
#include "sweeps/memory/shared_memory.cuh"
#ifdef __CUDACC__
#include "ptx/shared_memory.cuh"
#endif

namespace mmaudit::sweeps {

struct IndexedLoad;

namespace {

constexpr int kIndices = kPatternBytes / 4;
/// The index that follows: after 128 steps, or a multiple of them, the first one again.
MMAUDIT_HD constexpr std::uint32_t next_index(std::uint32_t index) { return (index + 154) % kIndices; }

}  // namespace

#ifdef __CUDACC__

struct IndexedLoad : WarpBody<true, 0> {
  template <int>
  struct Chains {
    std::uint32_t index = 0;

    __device__ __forceinline__ Chains(const TimedArgs&, const Place&) {
      for (int i = static_cast<int>(threadIdx.x); i < kIndices; i += static_cast<int>(blockDim.x))
        shared_words()[i] = next_index(static_cast<std::uint32_t>(i));
      __syncthreads();
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      const volatile std::uint32_t* words = shared_words();
      repeat<1, kCopies>(steps, [&](int, int) { index = words[index]; });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      result_of(args, at)[0] = index;
      return false;
    }
  };
};

#endif

std::vector<Benchmark> benchmark_shared_index() {
  Benchmark benchmark = shared_access_benchmark(
      {.name = "ld.shared.u32+index", .words = 1, .block_bytes = kPatternBytes, .right = [](int, int, int) {
         return std::uint32_t{0};
       }});
  benchmark.family = "Chases of an index in shared memory";
  benchmark.place = 190;
  benchmark.axes = {kScopeAxis, kWarpsAxis};
  benchmark.published = {"Luo III"};
  benchmark.sass = {{"LDS"}, 1};
  benchmark.exists = one_warp;
  benchmark.work = [](const Point&) { return Work{.bytes = 4}; };
  benchmark.kernel = [](const Point&) { return timed_kernel<IndexedLoad, 1, kAccessCopies>(); };
  return {benchmark};
}

}  // namespace mmaudit::sweeps
