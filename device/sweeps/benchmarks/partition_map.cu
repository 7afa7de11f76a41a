// Latency of a single hit of the second-level cache for each multiprocessor and each of some lines: which
// half of the cache is near. A line that was loaded from the far half gets a copy in the near one, so each
// load follows a store of the same word, which leaves the line at home alone; an atomic operation is always
// done at home.
#include "sweeps/memory/global_memory.cuh"

namespace mmaudit::sweeps {

enum class MapAccess { load, atomic };
template <MapAccess kAccess>
struct PartitionMapping;

namespace {

/// Lines, and how many visits of each are kept.
constexpr int kLines = 256, kVisits = 8, kKept = kLines * kVisits;

struct MapResult {
  std::uint64_t sum;  ///< of all words that were read
  std::uint32_t cycles[kKept];
};

/// What a line holds; never 0.
MMAUDIT_HD constexpr std::uint64_t map_word(int line) {
  return 0x9E3779B97F4A7C15U * (static_cast<std::uint64_t>(line) + 1);
}
/// Where a block starts, so that no two are at one line at the same time.
MMAUDIT_HD constexpr int first_line(int block) { return (2 * block + block / (kLines / 2)) % kLines; }

}  // namespace

#ifdef __CUDACC__

static __global__ void write_map(const TimedArgs args) {
  const auto line = static_cast<int>(threadIdx.x);
  auto* word = static_cast<std::byte*>(args.memory) + static_cast<std::size_t>(line) * args.parameter;
  *reinterpret_cast<std::uint64_t*>(word) = map_word(line);
}
static void fill_map(const TimedArgs& args) { write_map<<<1, kLines>>>(args); }

template <MapAccess kAccess>
struct PartitionMapping : WarpBody<true, 32> {
  template <int>
  struct Chains {
    std::uint64_t memory, sum = 0, zero;
    std::uint32_t line, spacing;
    int lane;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      extern __shared__ std::uint32_t map_cycles[];
      memory = reinterpret_cast<std::uint64_t>(args.memory);
      spacing = static_cast<std::uint32_t>(args.parameter);
      zero = spacing % kLineBytes;  // what the compiler does not know
      line = static_cast<std::uint32_t>(first_line(static_cast<int>(blockIdx.x)));
      lane = at.lane;
      for (int i = lane; i < kKept; i += 32) map_cycles[i] = 0;
      // Every line is in the cache.
      std::uint64_t seen = 0;
      for (int i = lane; i < kLines; i += 32)
        seen |= device::load_address<device::Cached::second_level>(memory + std::uint64_t{spacing} * i);
      if (seen == 0) sum = 1;  // never: no word is 0
      __syncwarp();
    }
    /// Cycles of an access, until its result can be used. `shared`: the address of any word of shared memory.
    __device__ __forceinline__ std::uint32_t timed_access(std::uint64_t address, std::uint32_t shared,
                                                          std::uint64_t& word) const {
      std::uint32_t begin = 0;
      if constexpr (kAccess == MapAccess::load) {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address),
                     "l"(map_word(static_cast<int>(line)) + zero)
                     : "memory");
        __threadfence();
        // No load passes the fence, so what needs this one starts after it.
        std::uint32_t fenced = 0;
        asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(fenced) : "r"(shared) : "memory");
        begin = clock_after(std::uint64_t{fenced + 1});  // 32 bits, which may wrap for all the compiler knows
        word = device::load_address<device::Cached::second_level>(address);
      } else {
        begin = static_cast<std::uint32_t>(read_clock());
        asm volatile("atom.relaxed.gpu.global.or.b64 %0, [%1], %2;"
                     : "=l"(word)
                     : "l"(address), "l"(zero)
                     : "memory");
      }
      return clock_after(word) - begin;
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      extern __shared__ std::uint32_t map_cycles[];
      const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(map_cycles));
      if (lane == 0)
        repeat<1, kCopies>(steps, [&, step = 0](int, int) mutable {
          std::uint64_t word = 0;
          map_cycles[step] = timed_access(memory + std::uint64_t{line} * spacing, shared, word);
          sum += word;
          line = (line + 1) % kLines;
          step = (step + 1) % kKept;
        });
      __syncwarp();
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      extern __shared__ std::uint32_t map_cycles[];
      auto* out = static_cast<MapResult*>(args.d) + at.slot;
      for (int i = lane; i < kKept; i += 32) out->cycles[i] = map_cycles[i];
      if (lane == 0) out->sum = sum;
      return false;
    }
  };
};

#else
static constexpr std::nullptr_t fill_map = nullptr;
#endif

namespace {

constexpr AxisSpec kSpacingAxis = number_axis("spacing", 128, 1 << 20, "[128,4096]", "[4096]",
                                              "bytes from one line of a map to the next", "128,4096,65536");

/// The sum of the words of so many steps from the first line of a block.
std::uint64_t sum_of(int block, int steps) {
  std::uint64_t round = 0, rest = 0;
  for (int line = 0; line < kLines; ++line) round += map_word(line);
  for (int step = 0; step < steps % kLines; ++step) rest += map_word((first_line(block) + step) % kLines);
  return round * static_cast<std::uint64_t>(steps / kLines) + rest;
}

/// The median of the kept visits of each line, one row per block.
void observe_map(std::span<const Stamp> stamps, const ReadResult& read, int, Measurement& out) {
  const auto results = results_in<MapResult>(read());
  std::vector<std::uint32_t>& cycles = out.lists[list::kMap];
  for (std::size_t block = 0; block < results.size() && block < stamps.size(); ++block) {
    out.lists[list::kMapPlaces].push_back(stamps[block].multiprocessor);
    const int first = first_line(static_cast<int>(block));
    for (int line = 0; line < kLines; ++line) {
      std::vector<double> visits;
      for (int kept = (line - first + kLines) % kLines; kept < kKept; kept += kLines)
        if (const std::uint32_t one = results[block].cycles[kept]; one > 0) visits.push_back(one);
      cycles.push_back(static_cast<std::uint32_t>(statistics_of(std::move(visits)).median));
    }
  }
}

template <MapAccess kAccess>
Benchmark mapping(const char* name, int place) {
  return {.name = name,
          .family = "Partitions of the second-level cache",
          .place = place,
          .axes = {kScopeAxis, kWarpsAxis, kSpacingAxis},
          .whole_gpu = true,
          .sass = {{"LDG", "ATOMG", "ATOM"}, 1},
          .exists = one_warp,
          .work = [](const Point&) { return Work{.operations = 1}; },
          .kernel = [](const Point&) { return timed_kernel<PartitionMapping<kAccess>, 1, 1>(); },
          .setup = [](const Point& point, Workbench*) -> Setup {
            const int spacing = point.number("spacing");
            return {.args = {.parameter = spacing},
                    .shared_bytes = kKept * sizeof(std::uint32_t),
                    .slot_bytes = sizeof(MapResult),
                    .memory_bytes = static_cast<std::size_t>(kLines) * static_cast<std::size_t>(spacing),
                    .fill = fill_map,
                    .check = each_result<MapResult>([](const MapResult& found, std::size_t block, int steps) {
                      return found.sum == sum_of(static_cast<int>(block), steps);
                    }),
                    .observe = observe_map};
          }};
}

}  // namespace

std::vector<Benchmark> benchmark_partition_map() {
  return {mapping<MapAccess::load>("ld.relaxed.gpu.global.u64+map", 215),
          mapping<MapAccess::atomic>("atom.relaxed.gpu.global.or.b64+map", 216)};
}

}  // namespace mmaudit::sweeps
