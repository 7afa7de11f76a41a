// wgmma while the copy engine brings bytes into the same shared memory: a warpgroup multiplies, a warp beside
// it copies. The multiplications read operands of their own, so D is known; what is copied is looked at. A
// group of four wgmma begins when the bytes fed to it are there, and gives their stage back when it is done:
// once the next group has begun. Short runs look whether it keeps its stage until then.
#include "sweeps/matrix/wgmma.cuh"
#include "sweeps/memory/copies.cuh"
#include "sweeps/memory/global_memory.cuh"
#ifdef __CUDACC__
#include "ptx/async_copy.cuh"
#include "ptx/bulk_copy.cuh"
#endif

namespace mmaudit::sweeps {

namespace {

// clang-format off
constexpr AxisSpec
    kStagesAxis = {.name = "stages", .number = true, .least = 2, .most = 4, .usual = "[2,3,4]", .quick = "[4]",
                   .meaning = "buffers that wgmma is fed through"},
    kFedAxis = {.name = "fed", .number = true, .least = 0, .most = 32768,
                .words = "0,8192,10240,12288,16384,24576,26624,28672,30720,32768",
                .usual = "[0,8192,10240,12288,16384,24576,26624,28672,30720,32768]", .quick = "[0,16384,32768]",
                .meaning = "bytes copied to shared memory for each four wgmma"};
// clang-format on

constexpr int kFedColumns = 256, kFedGroup = 4, kFedStages = 4, kFedWarps = 2 * kWarpgroupWarps;
/// How often a short run asks whether a stage has been given back: together longer than a group begins.
constexpr int kHeldPolls = 64;
/// Tiles of both slots, of which one multiplies; then the barriers, then the stages.
constexpr int kFedTiles = 2 * (kBytesA + kFedColumns * bytes_per_column(false));
constexpr Instruction kFedInstruction = [] {
  Instruction is =
      device::listed_instruction(Op::wgmma, 64, 0, 16, Format::f32, Format::f16, Format::f16, Format::f32);
  is.n = kFedColumns;
  return is;
}();

}  // namespace

/// The loop of the warpgroup.
struct FedChain;
/// It and the warp that feeds it.
template <bool kRegistersA>
struct FedWgmma;

#ifdef __CUDACC__

// As MMAUDIT_WGMMA_LOOP. Above the steps of %4: the address of the barriers, and from bit 24 the number of
// stages. Barriers that say a stage is full come first, 32 bytes on those that say it is empty.
#define MMAUDIT_FED_LOOP(R, TEXT)                                                    \
  int scale_d = 1;                                                                   \
  asm volatile(                                                                      \
      "{\n"                                                                          \
      ".reg .pred accumulate, more, ended, release, wrap;\n"                         \
      ".reg .b32 a<4>, barriers, left, stages, stage, parity, full, before, lane;\n" \
      ".reg .b64 state;\n"                                                           \
      "mov.b64 {a0,a1}, %0;\n"                                                       \
      "mov.b64 {a2,a3}, %1;\n"                                                       \
      "mov.b64 {left,barriers}, %4;\n"                                               \
      "shr.u32 stages, barriers, 24;\n"                                              \
      "and.b32 barriers, barriers, 0xFFFFFF;\n"                                      \
      "mov.u32 lane, %%laneid;\n"                                                    \
      "setp.ne.u32 release, lane, lane;\n"                                           \
      "mov.u32 stage, 0;\n"                                                          \
      "mov.u32 parity, 0;\n"                                                         \
      "mov.u32 before, barriers;\n"                                                  \
      "setp.ne.b32 accumulate, %3, 0;\n"                                             \
      "AGAIN:\n"                                                                     \
      "mad.lo.u32 full, stage, 8, barriers;\n"                                       \
      "WAIT:\n"                                                                      \
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [full], parity;\n"            \
      "@!ended bra WAIT;\n"                                                          \
      "bar.warp.sync 0xFFFFFFFF;\n"                                                  \
      "wgmma.fence.sync.aligned;\n" TEXT TEXT TEXT TEXT                              \
      "wgmma.commit_group.sync.aligned;\n"                                           \
      "wgmma.wait_group.sync.aligned 1;\n"                                           \
      "@release mbarrier.arrive.shared::cta.b64 state, [before+32];\n"               \
      "setp.eq.u32 release, lane, 0;\n"                                              \
      "mov.u32 before, full;\n"                                                      \
      "add.u32 stage, stage, 1;\n"                                                   \
      "setp.eq.u32 wrap, stage, stages;\n"                                           \
      "@wrap mov.u32 stage, 0;\n"                                                    \
      "@wrap xor.b32 parity, parity, 1;\n"                                           \
      "add.s32 left, left, -4;\n"                                                    \
      "setp.gt.s32 more, left, 0;\n"                                                 \
      "@more bra AGAIN;\n"                                                           \
      "wgmma.wait_group.sync.aligned 0;\n"                                           \
      "}"                                                                            \
      : "+l"(a.low), "+l"(a.high), "+l"(b), "+r"(scale_d), "+l"(steps),              \
        "+r"(d[0])MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                               \
      :                                                                              \
      : "memory")

struct FedChain {
  static constexpr int kRegisters = 128, kLive = 128;
  static constexpr Instruction kInstruction = kFedInstruction;
  template <int kGroup>
  static __device__ __forceinline__ void from_shared(std::uint32_t (&d)[128], WgmmaA a, std::uint64_t b,
                                                     std::uint64_t steps) {
    static_assert(kGroup == kFedGroup);
    MMAUDIT_FED_LOOP(128, MMAUDIT_WGMMA_TEXT(256, 128, "k16.f32.f16.f16", "%0", ", 1, 1, 0, 0"));
  }
  template <int kGroup>
  static __device__ __forceinline__ void from_registers(std::uint32_t (&d)[128], WgmmaA a, std::uint64_t b,
                                                        std::uint64_t steps) {
    static_assert(kGroup == kFedGroup);
    MMAUDIT_FED_LOOP(128, MMAUDIT_WGMMA_TEXT(256, 128, "k16.f32.f16.f16", "{a0,a1,a2,a3}", ", 1, 1, 0"));
  }
};

/// The warp that copies.
struct Feeder {
  CopyResult result;
  std::uint64_t memory;
  std::uint32_t bytes, stages, barriers, chunks, next, stride, lane, turn_lanes;
  std::uint32_t stage = 0, parity = 0;  ///< of the next group
  bool look;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t full() const { return barriers + stage * 8; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t empty() const { return full() + 8 * kFedStages; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t offset() const {
    return kFedTiles + kStageAlignment + stage * bytes;
  }
  __device__ __forceinline__ void go_on() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  /// A stage against the chunk that was copied there. The gate takes an addend that is known for a counter of
  /// steps; turn_lanes, 32, is not known.
  __device__ __forceinline__ void look_at(std::uint32_t chunk) {
    const auto* words = reinterpret_cast<const volatile std::uint32_t*>(copy_bytes + offset());
#pragma unroll 1
    for (std::uint32_t word = lane; word < bytes / 4; word += turn_lanes) {
      result.copied += 1;
      result.differing += words[word] != copied_word(chunk * (bytes / 4) + word) ? 1 : 0;
    }
    __syncwarp();
  }
  /// The group that has just got its bytes keeps its stage: it gives it back when the next group has begun,
  /// which has no bytes yet.
  __device__ __forceinline__ void look_whether_kept() {
    bool early = false;
#pragma unroll 1
    for (int poll = 0; poll < kHeldPolls; ++poll) early |= device::barrier_ended(empty(), parity);
    if (early && lane == 0) ++result.differing;
    __syncwarp();
  }
  __device__ __forceinline__ void feed(int groups) {
#pragma unroll 1
    for (int left = groups; left > 0; --left) {
      device::barrier_wait(empty(), parity ^ 1);
      __syncwarp();
      if (lane == 0) {
        device::barrier_expect(full(), static_cast<int>(bytes));
        if (bytes > 0)
          device::copy_bulk(static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes)) + offset(),
                            memory + std::uint64_t{next} * bytes, bytes, full());
      }
      __syncwarp();
      if (look) {
        device::barrier_wait(full(), parity);
        look_at(next);
        look_whether_kept();
      }
      next += stride;
      if (next >= chunks) next -= chunks;
      go_on();
    }
    // Once round the stages: what was copied last has arrived.
#pragma unroll 1
    for (std::uint32_t left = stages; left > 0; --left) {
      device::barrier_wait(full(), parity ^ 1);
      go_on();
    }
    __syncwarp();
  }
  /// After a run that did not look: at the stages as they were left.
  __device__ __forceinline__ void look_back() {
    const std::uint64_t back = std::uint64_t{stages} * stride;
    auto chunk = static_cast<std::uint32_t>((next + (back / chunks + 1) * chunks - back) % chunks);
#pragma unroll 1
    for (std::uint32_t left = stages; left > 0; --left) {
      look_at(chunk);
      chunk = (chunk + stride) % chunks;
      go_on();
    }
  }
};

template <bool kRegistersA>
struct FedWgmma {
  using Multiplying = Wgmma<FedChain, kRegistersA>;
  static constexpr bool kExists = Multiplying::kExists;
  static constexpr int kLanes = kWarpgroupLanes, kMostThreads = 2 * kWarpgroupLanes;

  template <int kChains>
  struct Chains {
    typename Multiplying::template Chains<kChains> products;
    Feeder feeder;
    bool multiplies, feeds;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) : products(args, at) {
      multiplies = at.in_block == 0;
      feeds = at.in_block == 1 && at.lane < 32;
      const auto parameter = static_cast<std::uint32_t>(args.parameter);
      feeder.bytes = parameter & ~15U;
      feeder.stages = parameter & 15;
      feeder.barriers = static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes)) + kFedTiles;
      feeder.memory = reinterpret_cast<std::uint64_t>(args.memory);
      feeder.chunks = feeder.bytes == 0 ? 1 : static_cast<std::uint32_t>(args.memory_bytes / feeder.bytes);
      feeder.lane = static_cast<std::uint32_t>(at.lane);
      feeder.turn_lanes = blockDim.x / kFedWarps;
      // A lone block begins somewhere else each time: a cache of the whole GPU would keep what it read.
      feeder.next =
          gridDim.x == 1 ? __shfl_sync(~0U, some_place(feeder.chunks), 0) : blockIdx.x % feeder.chunks;
      feeder.stride = gridDim.x % feeder.chunks;
      feeder.look = args.steps <= kLookedAtSteps;
      products.metadata = std::uint64_t{feeder.barriers | feeder.stages << 24} << 32;
      if (feeds && at.lane == 0) {
        for (int stage = 0; stage < kFedStages; ++stage) {
          device::barrier_init(feeder.barriers + 8 * stage, 1);
          device::barrier_init(feeder.barriers + 8 * (kFedStages + stage), kWarpgroupWarps);
        }
        device::barrier_init_done();
      }
      // The block meets before it starts.
    }
    template <int kGroup>
    __device__ __forceinline__ void run(int steps) {
      if (multiplies)
        products.template run<kGroup>(steps);
      else if (feeds)
        feeder.feed(steps / kGroup);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      if (multiplies) products.finish(args, at);
      if (feeds) {
        if (!feeder.look) feeder.look_back();
        feeder.result.copied = __reduce_add_sync(~0U, feeder.result.copied);
        feeder.result.differing = __reduce_add_sync(~0U, feeder.result.differing);
        const std::size_t slot_bytes = sizeof(std::uint32_t) * FedChain::kRegisters * kWarpgroupLanes;
        if (at.lane == 0)
          *reinterpret_cast<CopyResult*>(static_cast<unsigned char*>(args.d) + at.slot * slot_bytes) =
              feeder.result;
      }
      return false;
    }
  };
};

#endif

namespace {

/// Products are the results of even slots, what was copied those of odd ones.
std::vector<std::byte> every_second(const std::vector<std::byte>& seen, std::size_t slot_bytes,
                                    std::size_t first, std::size_t kept) {
  std::vector<std::byte> found;
  for (std::size_t at = first * slot_bytes; at < seen.size(); at += 2 * slot_bytes)
    found.insert(found.end(), seen.begin() + static_cast<std::ptrdiff_t>(at),
                 seen.begin() + static_cast<std::ptrdiff_t>(at + kept));
  return found;
}

bool fed_exists(const Point& point) {
  const int fed = point.number("fed");
  const bool memory = level_of(point) == Level::memory;
  if (point.number("warps") != kFedWarps || level_of(point) == Level::first) return false;
  if (point.number("stages") < kFedStages) return fed == 16384 && !memory;
  // Finer where the rate begins to fall, which is at fewer bytes from memory.
  const bool fine_of_memory = fed == 10240 || fed == 12288;
  return memory ? fine_of_memory || fed == 8192 || fed == 16384 : !fine_of_memory;
}

Setup with_feed(Setup setup, const Point& point) {
  const int fed = point.number("fed"), stages = point.number("stages");
  setup.args.parameter = fed | stages;
  setup.shared_bytes = kFedTiles + static_cast<int>(kStageAlignment) + stages * fed;
  setup.trial_steps = kTrialSteps;
  setup.memory_bytes = copied_bytes(point);
#ifdef __CUDACC__
  setup.fill = [](const TimedArgs& args) { fill_words<<<1024, 256>>>(args); };
#endif
  setup.check = [products = setup.check, slot_bytes = setup.slot_bytes, fed, stages](
                    const ReadResult& read, int, int steps, Measurement& out) {
    const std::vector<std::byte> seen = read();
    products([&] { return every_second(seen, slot_bytes, 0, slot_bytes); }, 1, steps, out);
    check_copies(every_second(seen, slot_bytes, 1, sizeof(CopyResult)), fed / 4, stages, steps / kFedGroup,
                 out);
  };
  return setup;
}

}  // namespace

std::vector<Benchmark> benchmark_wgmma_fed() {
  Benchmark benchmark = matrix_benchmark(kFedInstruction);
  benchmark.name += "+feed";
  benchmark.family = "wgmma that is fed";
  benchmark.place = 55;
  benchmark.axes = {kScopeAxis, kLevelAxis, kWarpsAxis, kSourceAxis, kFedAxis, kStagesAxis};
  benchmark.exists = fed_exists;
  benchmark.between = {{"UBLKCP"}, 1};
  benchmark.work = [](const Point& point) {
    return Work{.fma = 64.0 * kFedColumns * kFedInstruction.k,
                .bytes = 1.0 * point.number("fed") / kFedGroup};
  };
  benchmark.kernel = [](const Point& point) {
    return point.axis("a") == "registers" ? timed_kernel<FedWgmma<true>, 1, kFedGroup>()
                                          : timed_kernel<FedWgmma<false>, 1, kFedGroup>();
  };
  benchmark.setup = [setup = benchmark.setup](const Point& point, Workbench* bench) {
    return with_feed(setup(point, bench), point);
  };
  return {benchmark};
}

}  // namespace mmaudit::sweeps
