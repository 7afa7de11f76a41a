// Copies of the engine that copies from global to shared memory: the time of one alone, in its parts, also
// against the footprint of all of them, and what copies in flight move.
#include "sweeps/memory/copies.cuh"
#include "sweeps/memory/global_memory.cuh"
#ifdef __CUDACC__
#include "ptx/async_copy.cuh"
#include "ptx/bulk_copy.cuh"
#endif

namespace mmaudit::sweeps {

/// Copies with so many in flight per block. Alone: each is waited for, and the clock read between its parts.
template <int kInFlight>
struct BulkCopy;
/// Copies alone, from memory that was read before the clock starts where a cache may hold it, as in a chase
/// of a pointer.
struct WarmedCopy;

namespace {

constexpr int kAloneBytes = 128, kLargeAloneBytes = 4096;

}  // namespace

#ifdef __CUDACC__

/// Where a block's copies come from.
struct Walk {
  std::uint32_t first, stride, chunks, bytes;
};

template <int kInFlight>
struct BulkCopy : OnHopper<32> {
  static constexpr bool kAlone = kInFlight == 1;

  /// By how many chunks a block goes on: past the chunks of all other blocks; alone by most of a golden
  /// ratio, so that neighbours are not copied one after the other.
  static __device__ constexpr std::uint32_t stride_of(std::uint32_t blocks, std::uint32_t chunks,
                                                      bool alone) {
    return alone ? static_cast<std::uint32_t>(std::uint64_t{chunks} * 0x9E3779B1U >> 32) | 1
                 : blocks % chunks;
  }
  /// And the last word of the stage.
  struct LookedAtStage : LookedAt {
    std::uint32_t last = 0;
  };
  /// Words of a stage, every 32nd of them, against the chunk of a step. No part of the loop that is timed.
  static __device__ __noinline__ LookedAtStage looked_at_words(Walk walk, std::uint32_t step,
                                                               std::uint32_t at, std::uint32_t lane) {
    const auto* words = reinterpret_cast<const volatile std::uint32_t*>(copy_bytes + at);
    const auto chunk =
        static_cast<std::uint32_t>((std::uint64_t{step} * walk.stride + walk.first) % walk.chunks);
    LookedAtStage looked;
    for (std::uint32_t word = lane; word < walk.bytes / 4; word += 32) {
      ++looked.compared;
      looked.differing += words[word] != copied_word(chunk * (walk.bytes / 4) + word) ? 1 : 0;
    }
    looked.last = words[walk.bytes / 4 - 1];
    return looked;
  }

  template <int>
  struct Chains {
    CopyResult result;
    Walk walk;
    std::uint32_t stages, barriers, lane, step = 0, next;
    std::uint64_t memory;
    bool look;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      const auto bytes = static_cast<std::uint32_t>(args.parameter);
      const auto chunks = static_cast<std::uint32_t>(args.memory_bytes / bytes);
      memory = reinterpret_cast<std::uint64_t>(args.memory);
      lane = static_cast<std::uint32_t>(at.lane);
      barriers = static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes));
      stages = barriers + kStageAlignment;
      next = kAlone ? __shfl_sync(~0U, some_place(chunks), 0) : blockIdx.x % chunks;
      walk = {next, stride_of(gridDim.x, chunks, kAlone), chunks, bytes};
      look = args.steps <= kLookedAtSteps;
      if (at.lane == 0) {
        for (int stage = 0; stage < kInFlight; ++stage) device::barrier_init(barriers + 8 * stage, 1);
        device::barrier_init_done();
      }
      __syncwarp();
    }
    /// Starts the copy of this step. Alone: with the clock between its parts.
    __device__ __forceinline__ void issue() {
      const std::uint32_t stage = step % kInFlight;
      const std::uint64_t from = memory + std::uint64_t{next} * walk.bytes;
      next += walk.stride;
      if (next >= walk.chunks) next -= walk.chunks;
      if (lane == 0) {
        const auto begin = static_cast<std::uint32_t>(read_clock());
        device::barrier_expect(barriers + 8 * stage, static_cast<int>(walk.bytes));
        const auto expected = static_cast<std::uint32_t>(read_clock());
        device::copy_bulk(stages + stage * walk.bytes, from, walk.bytes, barriers + 8 * stage);
        if constexpr (kAlone) {
          result.expect += expected - begin;
          result.issue += static_cast<std::uint32_t>(read_clock()) - expected;
        }
      }
      ++step;
    }
    /// Waits for the copy of an earlier step.
    __device__ __forceinline__ void wait(std::uint32_t of) {
      const auto begin = static_cast<std::uint32_t>(read_clock());
      device::barrier_wait(barriers + 8 * (of % kInFlight), of / kInFlight % 2);
      if constexpr (kAlone) result.wait += static_cast<std::uint32_t>(read_clock()) - begin;
      if (look) look_at(of);
    }
    __device__ __forceinline__ void look_at(std::uint32_t of) {
      const LookedAtStage looked =
          looked_at_words(walk, of, kStageAlignment + of % kInFlight * walk.bytes, lane);
      looked.add_to(result);
      result.trail = further(result.trail, looked.last);
      __syncwarp();
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
#pragma unroll 1
      for (int i = 0; i < steps; i += kTurn) {
        if constexpr (kAlone) {
          issue();
          wait(step - 1);
        } else {
          if (step >= kInFlight) wait(step - kInFlight);
          issue();
        }
      }
      if constexpr (!kAlone)
        for (std::uint32_t of = step - kInFlight; of < step; ++of) wait(of);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      if (!look)
        for (std::uint32_t of = step - kInFlight; of < step; ++of) look_at(of);
      result.first = walk.first;
      write_result(result, args, at);
      return false;
    }
  };
};

struct WarmedCopy : OnHopper<32> {
  template <int>
  struct Chains : BulkCopy<1>::Chains<1> {
    using Alone = BulkCopy<1>::Chains<1>;
    std::uint64_t read;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at)
        : Alone(args, at), read(warm_up<device::Cached::second_level>(args, at.lane)) {
      __syncwarp();
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      // Two words of copied_word() never make this; ptxas does not know, so it reads them.
      if (read == 1) ++this->result.differing;
      return Alone::finish(args, at);
    }
  };
};

#endif

namespace {

/// What a copy alone took, by its parts.
void observe_parts(std::span<const Stamp>, const ReadResult& read, int steps, Measurement& out) {
  const CopyResult found = results_in<CopyResult>(read()).front();
  out.others[tag::kIssue] = 1.0 * found.issue / steps;
  out.others[tag::kExpect] = 1.0 * found.expect / steps;
  out.others[tag::kWait] = 1.0 * found.wait / steps;
}

/// Which chunks were copied is looked at, too.
template <int kInFlight>
Setup bulk_setup(std::size_t memory_bytes, int bytes) {
  Setup setup = copy_setup(memory_bytes, bytes, kInFlight);
  setup.fill = fill_words;
  setup.check = [=](const ReadResult& read, int, int steps, Measurement& out) {
    const std::vector<std::byte> seen = read();
    check_copies(seen, bytes / 4, kInFlight, steps, out);
    const ChunkOrder order = kInFlight == 1
                                 ? order_of_one(memory_bytes, bytes)
                                 : order_of_all(memory_bytes, bytes, seen.size() / sizeof(CopyResult));
    check_order(seen, order, kInFlight, steps, out);
  };
  if (kInFlight == 1) setup.observe = observe_parts;
  return setup;
}

Benchmark copies_alone() {
  return {.name = "cp.async.bulk",
          .family = "Bulk copies alone",
          .place = 260,
          .axes = {kScopeAxis, kWarpsAxis, kLevelAxis, kSizeAxis},
          .sass = {{"UBLKCP"}, 1},
          .exists =
              [](const Point& point) {
                const int bytes = point.number("bytes");
                return copies_exist(point) && (bytes == kAloneBytes || bytes == kLargeAloneBytes);
              },
          .work = [](const Point& point) { return Work{.bytes = 1.0 * point.number("bytes")}; },
          .why_not = hopper_has("bulk copies need"),
          .kernel = [](const Point&) { return timed_kernel<WarmedCopy, 1, 1>(); },
          .setup = [](const Point& point,
                      Workbench*) { return bulk_setup<1>(copied_bytes(point), point.number("bytes")); }};
}

/// The footprint in place of the level.
Benchmark copies_over_footprints() {
  Benchmark benchmark = copies_alone();
  benchmark.name += "+footprint";
  benchmark.family = "Bulk copies alone, over footprints";
  benchmark.place = 262;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kFootprintAxis, kSizeAxis};
  // Large copies at powers of two, enough to see where their levels begin.
  benchmark.exists = [](const Point& point) {
    const int bytes = point.number("bytes"), kib = point.number("kib");
    if (point.number("warps") != 1 || bytes / 1024 > kib) return false;
    return bytes == kAloneBytes || (bytes == kLargeAloneBytes && (kib & (kib - 1)) == 0);
  };
  benchmark.setup = [](const Point& point, Workbench*) {
    return bulk_setup<1>(static_cast<std::size_t>(point.number("kib")) << 10, point.number("bytes"));
  };
  return benchmark;
}

Benchmark copies_in_flight() {
  Benchmark benchmark = copies_alone();
  benchmark.name += "+inflight";
  benchmark.family = "Bulk copies in flight";
  benchmark.place = 270;
  benchmark.axes.push_back(kBlocksPerAxis);
  benchmark.whole_gpu = true;
  benchmark.published = {"Luo 5"};
  benchmark.exists = [](const Point& point) {
    return copies_exist(point) && point.number("bytes") != kAloneBytes;
  };
  benchmark.why_not = hopper_has("bulk copies need", needs_all_multiprocessors);
  benchmark.kernel = [](const Point&) { return timed_kernel<BulkCopy<kInFlightMost>, 1, 1>(); };
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup = bulk_setup<kInFlightMost>(copied_bytes(point), point.number("bytes"));
    setup.placement.blocks_per_multiprocessor = point.number("ctas");
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_bulk_copy() {
  return {copies_alone(), copies_over_footprints(), copies_in_flight()};
}

}  // namespace mmaudit::sweeps
