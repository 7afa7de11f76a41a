// Where the blocks of clusters run: as many clusters as the GPU holds at once, of every size, each block
// loading from the shared memory of the next. A block says its multiprocessor; a cluster never spans two
// GPCs.
#include <cstring>

#include "mmaudit/fragment.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/cluster_hops.cuh"
#include "sweeps/memory/shared_memory.hpp"

namespace mmaudit::sweeps {

struct PlacedChase;

namespace {

constexpr int kCopies = 8;

struct PlacedResult {
  std::uint32_t end, rank, read;  ///< of the chase; of this block; of the block that was read
};

}  // namespace

#ifdef __CUDACC__

extern __shared__ __align__(128) unsigned char placed_bytes[];

struct PlacedChase {
  static constexpr bool kExists = device::kTargetCapability >= 90;
  static constexpr int kLanes = 32, kMostThreads = 32;

  template <int>
  struct Chains {
    int rank;
    ClusterHops hops;

    __device__ __forceinline__ Chains(const TimedArgs&, const Place& at)
        : rank(device::block_rank()),
          hops(placed_bytes, at.lane, rank, (rank + 1) % device::cluster_blocks(),
               static_cast<std::uint32_t>(rank)) {}
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      hops.run<kTurn>(steps);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      const std::uint32_t read = hops.note();
      if (at.lane == 0)
        static_cast<PlacedResult*>(args.d)[at.slot] = {hops.end(), static_cast<std::uint32_t>(rank), read};
      device::cluster_wait();  // the next block may still read this one
      return false;
    }
  };
};

#endif

namespace {

constexpr AxisSpec kWidthAxis = {.name = "width",
                                 .number = true,
                                 .least = 2,
                                 .most = 16,
                                 .usual = "[2:16:1]",
                                 .quick = "[2,4,6,9,16]",
                                 .meaning = "blocks of a cluster, of those that say where they run"};

Benchmark placed() {
  Benchmark benchmark;
  benchmark.name = "ld.shared::cluster.u32+placed";
  benchmark.family = "Clusters that say where they run";
  benchmark.place = 245;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kWidthAxis};
  benchmark.whole_gpu = true;
  benchmark.sass = {{"LD", "LDS"}, 1};
  benchmark.exists = [](const Point& point) { return point.number("warps") == 1; };
  benchmark.work = [](const Point&) { return Work{.operations = 1}; };
  benchmark.ceiling = [](int) { return 0.0; };
  benchmark.why_not = [](const device::DeviceInfo& device, const Point&) -> std::string {
    return device.compute_capability < 90 ? "clusters need compute capability 9.0" : "";
  };
  benchmark.kernel = [](const Point&) { return timed_kernel<PlacedChase, 1, kCopies>(); };
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup;
    const auto width = static_cast<std::uint32_t>(point.number("width"));
    setup.placement.cluster = static_cast<int>(width);
    setup.shared_bytes = kHops * kHopBytes;
    setup.slot_bytes = sizeof(PlacedResult);
    setup.check = [width](const ReadResult& read, int, int steps, Measurement& out) {
      const std::vector<std::byte> seen = read();
      for (std::size_t block = 0; block < seen.size() / sizeof(PlacedResult); ++block) {
        PlacedResult found;
        std::memcpy(&found, seen.data() + block * sizeof(found), sizeof(found));
        const std::uint32_t rank = static_cast<std::uint32_t>(block) % width;
        const bool right =
            found.end == end_of_hops(steps) && found.rank == rank && found.read == (rank + 1) % width;
        ++out.compared;
        out.differing += right ? 0 : 1;
      }
    };
    setup.observe = [](std::span<const Stamp> stamps, const ReadResult&, int, Measurement& out) {
      for (const Stamp& stamp : stamps) out.lists[list::kPlaces].push_back(stamp.multiprocessor);
      out.others[tag::kDistinct] = distinct_multiprocessors(stamps);
      out.others[tag::kBlocks] = out.blocks;
    };
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_cluster_placed() { return {placed()}; }

}  // namespace mmaudit::sweeps
