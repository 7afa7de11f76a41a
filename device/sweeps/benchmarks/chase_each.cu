// A chase that reads the clock around each load. Each line is loaded twice past the first-level cache: the
// first load misses the second-level cache, the next one hits it.
#include <cstddef>

#include "mmaudit/sweeps/groups.hpp"
#include "sweeps/memory/global_memory.cuh"

namespace mmaudit::sweeps {

struct EachLoad;

namespace {

struct EachResult : ChaseResult {
  std::uint32_t first[kRecorded], again[kRecorded];  ///< cycles of the last loads
};

}  // namespace

#ifdef __CUDACC__

struct EachLoad : WarpBody<true, 32> {
  template <int>
  struct Chains {
    std::uint64_t address, read;
    EachResult* out;
    std::uint32_t start;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      const auto lines = static_cast<std::uint32_t>(args.memory_bytes / kLineBytes);
      read = warm_up<device::Cached::second_level>(args, at.lane);
      start = __shfl_sync(~0U, some_place(lines), 0);
      address = ring_address(args, line_at(start, lines));
      out = static_cast<EachResult*>(args.d) + at.slot;
      __syncwarp();
    }
    /// Cycles of a load, until its result can be used.
    static __device__ __forceinline__ std::uint32_t timed_load(std::uint64_t from, std::uint64_t& to) {
      const auto begin = static_cast<std::uint32_t>(read_clock());
      to = device::load_address<device::Cached::second_level>(from);
      return clock_after(to) - begin;
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      extern __shared__ std::uint32_t cycles[];
      repeat<1, kCopies>(steps, [&, step = 0](int, int) mutable {
        std::uint64_t next = 0;
        const std::uint64_t here = address;
        cycles[step] = timed_load(here, address);
        cycles[kRecorded + step] = timed_load(here, next);
        step = (step + 1) % kRecorded;
      });
    }
    __device__ __forceinline__ bool finish(const TimedArgs&, const Place& at) {
      extern __shared__ std::uint32_t cycles[];
      for (int i = at.lane; i < kRecorded; i += 32) {
        out->first[i] = cycles[i];
        out->again[i] = cycles[kRecorded + i];
      }
      static_cast<ChaseResult&>(*out) = {start, place_of(address) + (read == 1 ? 1 : 0)};
      return false;
    }
  };
};

#endif

namespace {

/// As Luo et al. chase it: less and more than half of the second-level cache; and far more than all of it.
constexpr AxisSpec kEachAxis = word_axis("level", "l1,l2-8MiB,l2,memory", "[l2-8MiB,l2,memory]",
                                         "[l2,memory]", "where the ring is: 8, 40 and 256 MiB");
constexpr std::size_t kSmallBytes = std::size_t{8} << 20, kResidentBytes = std::size_t{40} << 20,
                      kMemoryBytes = std::size_t{256} << 20;
constexpr int kCopies = 1;

Setup each_setup(const Point& point, Workbench*) {
  const bool resident = point.axis("level") != "memory";
  Setup setup = chase_setup<EachResult>(point.axis("level") == "l2-8MiB" ? kSmallBytes
                                        : resident                       ? kResidentBytes
                                                                         : kMemoryBytes);
  setup.shared_bytes = 2 * kRecorded * sizeof(std::uint32_t);
  setup.observe = [resident](std::span<const Stamp>, const ReadResult& read, int, Measurement& out) {
    const EachResult result = results_in<EachResult>(read()).front();
    group_loads({std::begin(result.first), std::end(result.first)},
                {std::begin(result.again), std::end(result.again)}, resident, out);
    out.lists[list::kFirst].assign(std::begin(result.first), std::end(result.first));
    out.lists[list::kAgain].assign(std::begin(result.again), std::end(result.again));
  };
  return setup;
}

}  // namespace

std::vector<Benchmark> benchmark_chase_each() {
  return {{.name = "ld.relaxed.gpu.global.u64+each",
           .family = "Loads of global memory, one by one",
           .place = 210,
           .axes = {kScopeAxis, kWarpsAxis, kEachAxis},
           .sass = {{"LDG"}, 2},
           .exists = [](const Point& point) { return one_warp(point) && point.axis("level") != "l1"; },
           .work = [](const Point&) { return Work{.bytes = 2 * sizeof(std::uint64_t)}; },
           .kernel = [](const Point&) { return timed_kernel<EachLoad, 1, kCopies>(); },
           .setup = each_setup}};
}

}  // namespace mmaudit::sweeps
