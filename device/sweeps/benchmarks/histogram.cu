// A histogram whose bins are spread over the shared memory of a cluster's blocks: each element adds one to
// its bin, wherever that is.
#include <bit>

#include "mmaudit/fragment.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/histogram.hpp"
#include "sweeps/memory/rows.hpp"
#ifdef __CUDACC__
#include "ptx/cluster.cuh"
#include "ptx/line.cuh"
#include "run/cuda_check.hpp"
#endif

namespace mmaudit::sweeps {

/// kSpread: the bins of more than one block.
template <bool kSpread>
struct Histogram;

namespace {

constexpr int kCopies = 4;

}  // namespace

#ifdef __CUDACC__

extern __shared__ __align__(16) unsigned char histogram_bytes[];

template <bool kSpread>
struct Histogram : OnHopper<512> {
  template <int>
  struct Chains {
    const uint4* elements;
    uint4 next;
    std::uint32_t own, last_bin;
    int log_bins, block_bins, chunk;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      elements = static_cast<const uint4*>(args.memory) + at.lane;
      own = static_cast<std::uint32_t>(__cvta_generic_to_shared(histogram_bytes));
      log_bins = args.parameter;
      block_bins = 1 << log_bins;
      const int blocks = device::cluster_blocks(), warps = static_cast<int>(blockDim.x) / 32;
      last_bin = static_cast<std::uint32_t>(blocks * block_bins - 1);
      auto* bins = reinterpret_cast<std::uint32_t*>(histogram_bytes);
      for (int bin = static_cast<int>(threadIdx.x); bin < block_bins; bin += static_cast<int>(blockDim.x))
        bins[bin] = 0;
      const int cluster = static_cast<int>(blockIdx.x) / blocks;
      chunk = first_chunk(cluster, device::block_rank() * warps + at.in_block);
      next = load();
      device::cluster_wait();
    }
    /// Past the first-level cache, which could hold all elements.
    __device__ __forceinline__ uint4 load() const {
      return __ldcg(elements + (chunk & (kChunks - 1)) * (kChunkElements / 8));
    }
    __device__ __forceinline__ void add(std::uint32_t element) const {
      const std::uint32_t bin = element & last_bin;
      if constexpr (kSpread) {
        const int rank = static_cast<int>(bin >> log_bins);
        const std::uint32_t at = bin & static_cast<unsigned>(block_bins - 1);
        device::add_cluster(device::address_in(own + 4 * at, rank), 1);
      } else {
        device::add_shared(own + 4 * bin, 1);
      }
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      repeat<1, kTurn>(steps, [this](int, int) {
        const std::uint32_t words[] = {next.x, next.y, next.z, next.w};
        ++chunk;
        next = load();
#pragma unroll
        for (const std::uint32_t word : words) {
          add(word);
          add(word >> 16);
        }
      });
    }
    /// The bins of the block, after all blocks have added.
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place&) {
      device::cluster_wait();
      const auto* bins = reinterpret_cast<const std::uint32_t*>(histogram_bytes);
      auto* out = static_cast<std::uint32_t*>(args.d) + static_cast<std::size_t>(blockIdx.x) * block_bins;
      for (int bin = static_cast<int>(threadIdx.x); bin < block_bins; bin += static_cast<int>(blockDim.x))
        out[bin] = bins[bin];
      return false;
    }
  };
};

#endif

namespace {

constexpr AxisSpec kBinsAxis =
    number_axis("bins", 512, 4096, "[1024,2048,4096]", "[1024,2048]",
                "bins of a histogram, spread over the blocks of a cluster", "512,1024,2048,4096");

#ifdef __CUDACC__
void copy_elements(const TimedArgs& args) {
  device::copy_in(args.memory, histogram_elements().data(), args.memory_bytes);
}
#else
constexpr std::nullptr_t copy_elements = nullptr;
#endif

Setup histogram_setup(const Point& point, Workbench*) {
  const int warps = point.number("warps"), cluster = point.number("cluster"), bins = point.number("bins");
  const int block_bins = bins / cluster;
  return {.args = {.parameter = std::countr_zero(static_cast<unsigned>(block_bins))},
          .shared_bytes = 4 * block_bins,
          .slot_bytes = static_cast<std::size_t>(4 * block_bins / warps),
          .placement = {.cluster = cluster, .full = true},
          .memory_bytes = histogram_elements().size() * sizeof(std::uint16_t),
          .fill = copy_elements,
          .check = [=](const ReadResult& read, int, int steps, Measurement& out) {
            check_counts(results_in<std::uint32_t>(read()), bins, cluster * warps, steps, out);
          }};
}

Benchmark histogram_benchmark(int threads) {
  return {
      .name = "histogram." + std::to_string(threads),
      .family = "Histograms in a cluster's shared memory",
      .place = 260,
      .axes = {kScopeAxis, kWarpsAxis, kIlpAxis, kClusterAxis, kBinsAxis},
      .whole_gpu = true,
      .sass = {{"ATOMS", "ATOM", "RED", "REDS"}, 8},
      .exists =
          [=](const Point& point) {
            return point.number("warps") * kWarpLanes == threads && point.number("ilp") == 1 &&
                   point.number("cluster") <= 8;
          },
      .work =
          [](const Point& point) { return Work{.operations = 1.0 * kChunkElements * point.number("warps")}; },
      .why_not = hopper_has("clusters need"),
      .kernel =
          [](const Point& point) {
            return point.number("cluster") == 1 ? timed_kernel<Histogram<false>, 1, kCopies>()
                                                : timed_kernel<Histogram<true>, 1, kCopies>();
          },
      .setup = histogram_setup};
}

}  // namespace

std::vector<Benchmark> benchmark_histogram() {
  return {histogram_benchmark(128), histogram_benchmark(256), histogram_benchmark(512)};
}

}  // namespace mmaudit::sweeps
