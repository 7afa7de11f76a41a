// ld.shared of 4, 8 and 16 bytes per lane, with as many bank conflicts as asked for.
#include "mmaudit/fragment.hpp"
#include "sweeps/memory/shared_memory.cuh"
#ifdef __CUDACC__
#include "ptx/shared_memory.cuh"
#endif

namespace mmaudit::sweeps {

template <int kLaneWords>
struct LoadWords;

#ifdef __CUDACC__
template <int kLaneWords>
struct LoadWords : PatternLoad<kLaneWords> {
  static __device__ void fill(int stride, int lane) {
    fill_pattern();
    if (threadIdx.x < 32)
      shared_words()[stride * lane / 4] = base_address() + static_cast<std::uint32_t>(stride * lane);
    __syncthreads();
  }
  static __device__ __forceinline__ void load(std::uint32_t (&r)[kLaneWords], std::uint32_t address) {
    device::load_all_words(r, address);
  }
};
#endif

namespace {

constexpr AxisSpec kWaysAxis =
    number_axis("ways", 0, 8, "[1,2,4,8]", "[1,2,4,8]",
                "bank conflicts of an ld.shared; 0: all lanes read the same words", "0,1,2,4,8");

template <int kWords>
Benchmark load_words(const char* name, std::string_view opcode) {
  Benchmark benchmark = shared_access_benchmark(
      {.name = name,
       .words = kWords,
       .block_bytes = kPatternBytes,
       .stride = [](const Point& point) { return 4 * point.number("ways"); },
       .right =
           [](int stride, int lane, int w) {
             return w == 0 ? static_cast<std::uint32_t>(stride * lane) : pattern_word(stride * lane / 4 + w);
           }});
  benchmark.family = "Loads of shared memory";
  benchmark.place = 80;
  benchmark.axes.push_back(kWaysAxis);
  benchmark.published = {"Sun X"};
  benchmark.sass = {{opcode}, 1};
  // Neighbouring lanes' words lie side by side up to the width of the load: fewer ways do not exist.
  benchmark.exists = [](const Point& point) { return point.number("ways") % kWords == 0; };
  // Lanes that read the same words are served once.
  benchmark.work = [work = benchmark.work](const Point& point) {
    Work all = work(point);
    if (point.number("ways") == 0) all.bytes /= kWarpLanes;
    return all;
  };
  benchmark.kernel = kernel_with_chains<Chase<LoadWords<kWords>>, kAccessCopies>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_ld_shared() {
  return {load_words<1>("ld.shared.u32", "LDS"), load_words<2>("ld.shared.u64", "LDS.64"),
          load_words<4>("ld.shared.v4.u32", "LDS.128")};
}

}  // namespace mmaudit::sweeps
