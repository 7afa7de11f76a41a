// Loads and stores of global memory that wait for nothing: the throughput of every cache and of memory.
#include <algorithm>
#include <memory>

#include "mmaudit/fragment.hpp"
#include "sweeps/memory/global_memory.cuh"
#ifdef __CUDACC__
#include "run/cuda_check.hpp"
#include "sweeps/memory/word_sums.cuh"
#endif

namespace mmaudit::sweeps {

enum class Access { load, store };
template <Level kLevel, Access kAccess, int kWords>
struct Stream;

namespace {

/// Loads of a warp without a branch between them.
constexpr int kCopies = 8;

/// Bytes of a block's region: eight loads of its warps in first-level cache; with all blocks what
/// second-level cache holds, or far more. A power of two.
constexpr int region_bytes(Level level, int words, int warps) {
  switch (level) {
    case Level::first:
      return kCopies * warps * kWarpLanes * 4 * words;
    case Level::second:
      return 128 << 10;
    default:
      return 16 << 20;
  }
}

/// Bytes from the start of a block's region to the word that a thread reads first in load `number`: a warp
/// goes round its own eight loads in first-level cache, a block through its region elsewhere.
MMAUDIT_HD constexpr std::uint32_t offset_of(Level level, int words, int threads, int thread, int copy,
                                             std::uint32_t number, std::uint32_t region) {
  const auto wide = static_cast<std::uint32_t>(4 * words);
  if (level == Level::first)
    return (static_cast<std::uint32_t>(thread / 32 * kCopies + copy % kCopies) * 32 +
            static_cast<std::uint32_t>(thread % 32)) *
           wide;
  return (static_cast<std::uint32_t>(threads) * number + static_cast<std::uint32_t>(thread)) * wide &
         (region - 1);
}

MMAUDIT_HD constexpr std::uint32_t stream_word(std::uint32_t index, std::uint32_t block) {
  return (index * 0x9E3779B1U ^ index >> 7) + block;
}

/// What a store of a launch leaves in a word of this place.
MMAUDIT_HD constexpr std::uint32_t stored_word(std::uint32_t index, std::uint32_t launch) {
  return launch_mark(launch) - index;
}

/// What: the sum of what a thread of block 0 loads. Block b's words are b more each.
std::uint32_t sum_of(Level level, int words, int threads, int thread, int chains, int steps,
                     std::uint32_t region) {
  std::uint32_t sum = 0, number = 0;
  for (int step = 0; step < steps; ++step)
    for (int chain = 0; chain < chains; ++chain, ++number) {
      const std::uint32_t at = offset_of(level, words, threads, thread, step + chain, number, region) / 4;
      for (int w = 0; w < words; ++w) sum += stream_word(at + static_cast<std::uint32_t>(w), 0);
    }
  return sum;
}

}  // namespace

#ifdef __CUDACC__

static __global__ void fill_stream(const TimedArgs args) {
  const auto words = static_cast<std::uint32_t>(args.parameter / 4);
  auto* region = static_cast<std::uint32_t*>(args.memory) + std::size_t{blockIdx.x} * words;
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) region[i] = stream_word(i, blockIdx.x);
}

/// Counts the words that are not what `written` bytes of stores at the start of each region leave.
static __global__ void count_wrong(const TimedArgs args, std::uint32_t written, unsigned long long* wrong) {
  const auto words = static_cast<std::uint32_t>(args.parameter / 4);
  const auto* region = static_cast<const std::uint32_t*>(args.memory) + std::size_t{blockIdx.x} * words;
  unsigned long long found = 0;
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x)
    found +=
        region[i] != (4 * i < written ? stored_word(i, args.launch) : stream_word(i, blockIdx.x)) ? 1 : 0;
  if (found > 0) atomicAdd(wrong, found);
}

unsigned blocks_of(const TimedArgs& args) {
  return static_cast<unsigned>(args.memory_bytes / static_cast<std::size_t>(args.parameter));
}

template <Level kLevel, Access kAccess, int kWords>
struct Stream : WarpBody<true, 1024> {
  static constexpr device::Cached kCached =
      kLevel == Level::first ? device::Cached::all : device::Cached::second_level;

  template <int kChains>
  struct Chains {
    std::uint64_t region;
    std::uint32_t offset, stride, mask, launch;
    WordSums<kChains, kWords> sums;
    std::uint32_t read = 0;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place&) {
      region = reinterpret_cast<std::uint64_t>(args.memory) +
               static_cast<std::uint64_t>(args.parameter) * blockIdx.x;
      stride = blockDim.x * 4 * kWords;
      mask = static_cast<std::uint32_t>(args.parameter) - 1;
      launch = args.launch;
      offset = offset_of(kLevel, kWords, 0, static_cast<int>(threadIdx.x), 0, 0, mask + 1);
      if constexpr (kLevel == Level::first) region += offset;
      sums.clear();
      if constexpr (kAccess == Access::load && kLevel != Level::memory) {  // once round, to fill the caches
        std::uint32_t r[kWords], all = 0;
        for (std::uint32_t at = threadIdx.x * 4 * kWords; at <= mask; at += stride) {
          device::load_global<kCached>(r, reinterpret_cast<std::uint64_t>(args.memory) +
                                              static_cast<std::uint64_t>(args.parameter) * blockIdx.x + at);
          all |= r[0];
        }
        read = all;
      }
      __syncthreads();
    }
    __device__ __forceinline__ void access(std::uint32_t (&r)[kWords], int copy) {
      if constexpr (kLevel == Level::first) {
        device::load_global<kCached>(r, region + static_cast<unsigned>(copy % kCopies * 32 * 4 * kWords));
        return;
      }
      if constexpr (kAccess == Access::load) {
        device::load_global<kCached>(r, region + offset);
      } else {
#pragma unroll
        for (int w = 0; w < kWords; ++w) r[w] = stored_word(offset / 4 + w, launch);
        device::store_global(region + offset, r);
      }
      offset = (offset + stride) & mask;
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      constexpr int kTogether = kChains * kWords >= 16 ? 1 : kChains * kWords >= 8 ? 2 : 4;
      sums.template run<kTurn, kTogether, kAccess == Access::load>(
          steps, [this](std::uint32_t(&r)[kWords], int copy) { access(r, copy); });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      static_cast<std::uint32_t*>(args.d)[at.slot * 32 + at.lane] = sums.total();
      // Never: what was read once round only had to be read.
      return kLevel != Level::memory && kAccess == Access::load && read == 0x12345678;
    }
  };
};

#endif

namespace {

template <Level kLevel, Access kAccess, int kWords>
TimedKernel kernel_of(int ilp) {
  return kernel_for<1, 2, 4>(
      ilp, [&]<int kChains>() { return timed_kernel<Stream<kLevel, kAccess, kWords>, kChains, kCopies>(); });
}

/// What the loads of every thread must add up to.
void check_sums(const std::vector<std::byte>& seen, Level level, int words, int ilp, int slots_per_block,
                int steps, std::uint32_t region, Measurement& out) {
  const int threads = slots_per_block * kWarpLanes;
  std::vector<std::uint32_t> sums;
  for (int thread = 0; thread < threads; ++thread)
    sums.push_back(sum_of(level, words, threads, thread, ilp, steps, region));
  const auto loaded = static_cast<std::uint32_t>(ilp * words) * static_cast<std::uint32_t>(steps);
  std::size_t i = 0;
  for (const std::uint32_t sum : results_in<std::uint32_t>(seen)) {
    const auto block = static_cast<std::uint32_t>(i / sums.size());
    out.compare(sum == sums[i++ % sums.size()] + loaded * block);
  }
}

template <Access kAccess, int kWords>
Setup stream_setup(const Point& point, Workbench*) {
  const Level level = level_of(point);
  const int ilp = point.number("ilp"), region = region_bytes(level, kWords, point.number("warps"));
  Setup setup = {.args = {.parameter = region},
                 .slot_bytes = kWarpLanes * sizeof(std::uint32_t),
                 .block_memory_bytes = static_cast<std::size_t>(region),
                 .check = [=](const ReadResult& read, int slots_per_block, int steps, Measurement& out) {
                   check_sums(read(), level, kWords, ilp, slots_per_block, steps,
                              static_cast<std::uint32_t>(region), out);
                 }};
#ifdef __CUDACC__
  const auto args = std::make_shared<TimedArgs>();
  setup.fill = [=](const TimedArgs& filled) {
    *args = filled;
    fill_stream<<<blocks_of(filled), 1024>>>(filled);
  };
  if (kAccess == Access::store) {
    setup.launched = [args](const TimedArgs& launched) { *args = launched; };
    setup.check = [=](const ReadResult&, int slots_per_block, int steps, Measurement& out) {
      const auto stores = static_cast<std::uint64_t>(slots_per_block * kWarpLanes * 4 * kWords * ilp);
      const auto written = std::min(stores * static_cast<std::uint64_t>(steps), std::uint64_t(region));
      out.compared += args->memory_bytes / 4;
      const device::Counter wrong;
      count_wrong<<<blocks_of(*args), 1024>>>(*args, static_cast<std::uint32_t>(written), wrong.place());
      out.differing += wrong.read();
    };
  }
#endif
  return setup;
}

template <Access kAccess, int kWords>
Benchmark stream(const char* name) {
  Benchmark benchmark;
  benchmark.name = name;
  benchmark.family = kAccess == Access::load ? "Streams from global memory" : "Streams to global memory";
  benchmark.place = kAccess == Access::load ? 220 : 230;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kIlpAxis, kLevelAxis};
  benchmark.whole_gpu = true;
  if (kAccess == Access::load) benchmark.published = {"Luo V"};
  benchmark.sass = {{kAccess == Access::load ? "LDG" : "STG"}, 1};
  benchmark.exists = [](const Point& point) {
    const int warps = point.number("warps"), ilp = point.number("ilp");
    const Level level = level_of(point);
    if (kAccess == Access::store && level == Level::first) return false;  // it writes through
    if (level == Level::memory && (warps != 32 || ilp != 4)) return false;
    return (warps == 8 || warps == 16 || warps == 32) && (ilp == 1 || ilp == 2 || ilp == 4);
  };
  benchmark.why_not = [](const device::DeviceInfo&, const Point& point) -> std::string {
    return point.axis("scope") == "sm" && level_of(point) == Level::memory
               ? "one multiprocessor reads too little to miss the second-level cache"
               : "";
  };
  benchmark.work = [](const Point& point) {
    return Work{.bytes = 4.0 * kWords * kWarpLanes * point.number("warps") * point.number("ilp")};
  };
  benchmark.kernel = [](const Point& point) -> TimedKernel {
    const int ilp = point.number("ilp");
    switch (level_of(point)) {
      case Level::first:
        if constexpr (kAccess == Access::load) return kernel_of<Level::first, kAccess, kWords>(ilp);
        return {};
      case Level::second:
        return kernel_of<Level::second, kAccess, kWords>(ilp);
      default:
        return kernel_of<Level::memory, kAccess, kWords>(ilp);
    }
  };
  benchmark.setup = stream_setup<kAccess, kWords>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_stream() {
  return {stream<Access::load, 1>("stream.ld.u32"), stream<Access::load, 4>("stream.ld.v4.u32"),
          stream<Access::store, 1>("stream.st.u32"), stream<Access::store, 4>("stream.st.v4.u32")};
}

}  // namespace mmaudit::sweeps
