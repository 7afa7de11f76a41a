// Where the blocks of clusters run: as many clusters as the GPU holds at once, of every size, each block
// loading from the shared memory of the next. A block says its multiprocessor; a cluster never spans two
// GPCs.
#include <cstring>
#include <set>

#include "mmaudit/fragment.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/shared_memory.hpp"
#ifdef __CUDACC__
#include "ptx/cluster.cuh"
#endif

namespace mmaudit::sweeps {

struct PlacedChase;

namespace {

constexpr int kCopies = 8, kHops = 8, kHopBytes = 128;

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
    std::uint32_t address, first;
    int rank;

    __device__ __forceinline__ Chains(const TimedArgs&, const Place& at) {
      const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(placed_bytes));
      rank = device::block_rank();
      first = device::address_in(own, (rank + 1) % device::cluster_blocks());
      if (at.lane < kHops) {
        // Each word is the address of the next one; the word after it says whose they are.
        auto* words = reinterpret_cast<std::uint32_t*>(placed_bytes + kHopBytes * at.lane);
        words[0] =
            device::address_in(own, rank) + static_cast<std::uint32_t>(kHopBytes * ((at.lane + 1) % kHops));
        words[1] = static_cast<std::uint32_t>(rank);
      }
      device::cluster_wait();
      address = first;
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      repeat<1, kTurn>(steps, [this](int, int) { device::load_cluster(address, address); });
      asm volatile("" ::"r"(address));
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      std::uint32_t read = 0;
      device::load_cluster(read, address + 4);
      if (at.lane == 0)
        static_cast<PlacedResult*>(args.d)[at.slot] = {address - first, static_cast<std::uint32_t>(rank),
                                                       read};
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
        const bool right = found.end == static_cast<std::uint32_t>(kHopBytes * (steps % kHops)) &&
                           found.rank == rank && found.read == (rank + 1) % width;
        ++out.compared;
        out.differing += right ? 0 : 1;
      }
    };
    setup.observe = [](std::span<const Stamp> stamps, const ReadResult&, int, Measurement& out) {
      std::set<std::uint32_t> places;
      for (const Stamp& stamp : stamps) {
        places.insert(stamp.multiprocessor);
        out.lists[list::kPlaces].push_back(stamp.multiprocessor);
      }
      out.others[tag::kDistinct] = static_cast<double>(places.size());
      out.others[tag::kBlocks] = out.blocks;
    };
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_cluster_placed() { return {placed()}; }

}  // namespace mmaudit::sweeps
