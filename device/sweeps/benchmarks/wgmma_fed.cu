// wgmma while the copy engine brings bytes into the same shared memory: a warpgroup multiplies, a warp beside
// it copies. The multiplications read operands of their own, so D is known; what is copied is looked at. A
// group of four wgmma begins when the bytes fed to it are there, and gives their stage back when it is done:
// once the next group has begun. Short runs look whether it keeps its stage until then.
#include <type_traits>

#include "sweeps/matrix/rotation.hpp"
#include "sweeps/matrix/wgmma.cuh"
#include "sweeps/memory/copies.cuh"
#include "sweeps/memory/global_memory.cuh"
#ifdef __CUDACC__
#include "ptx/async_copy.cuh"
#include "ptx/bulk_copy.cuh"
#endif

namespace mmaudit::sweeps {
namespace {

constexpr AxisSpec kStagesAxis =
    number_axis("stages", 2, 4, "[2,3,4]", "[4]", "buffers that wgmma is fed through");
constexpr AxisSpec kFedAxis =
    number_axis("fed", 0, 32768, "[0,8192,10240,12288,16384,24576,26624,28672,30720,32768]",
                "[0,16384,32768]", "bytes copied to shared memory for each four wgmma",
                "0,8192,10240,12288,16384,24576,26624,28672,30720,32768");

constexpr int kFedColumns = 256, kFedGroup = 4, kFedStages = 4, kFedWarps = 2 * kWarpgroupWarps;
/// Tiles of A that ldmatrix loads from: one for each wgmma of a group, no two with the same bits.
constexpr int kLoadedTiles = kRotation;
/// Tiles of both slots, of which one multiplies, and with ldmatrix its own; then barriers, then stages.
constexpr int kFedTiles = 2 * (kBytesA + kFedColumns * bytes_per_column(false)),
              kFedAndLoadedTiles = kFedTiles + kLoadedTiles * kBytesA;
constexpr Instruction kFedInstruction = [] {
  Instruction is =
      device::listed_instruction(Op::wgmma, 64, 0, 16, Format::f32, Format::f16, Format::f16, Format::f32);
  is.n = kFedColumns;
  return is;
}();

}  // namespace

/// The loop of the warpgroup; the same with an ldmatrix of A before each wgmma.
struct FedChain;
struct LoadingFedChain;
/// It and the warp that feeds it.
template <typename Chain, bool kRegistersA>
struct FedWgmma;

#ifdef __CUDACC__

// As MMAUDIT_WGMMA_LOOP. Above the steps of %4: the address of the barriers, and from bit 24 the number of
// stages. Barriers that say a stage is full come first, 32 bytes on those that say it is empty. START comes
// before the loop; a turn is GROUPS, of STEPS instructions in all.
#define MMAUDIT_FED_LOOP(R, START, GROUPS, STEPS)                                              \
  int scale_d = 1;                                                                             \
  asm volatile(                                                                                \
      "{\n"                                                                                    \
      ".reg .pred accumulate, more, ended, release, wrap;\n"                                   \
      ".reg .b32 a<4>, barriers, left, stages, stage, parity, full, before, lane;\n"           \
      ".reg .b64 state;\n"                                                                     \
      "mov.b64 {a0,a1}, %0;\n"                                                                 \
      "mov.b64 {a2,a3}, %1;\n"                                                                 \
      "mov.b64 {left,barriers}, %4;\n"                                                         \
      "shr.u32 stages, barriers, 24;\n"                                                        \
      "and.b32 barriers, barriers, 0xFFFFFF;\n"                                                \
      "mov.u32 lane, %%laneid;\n"                                                              \
      "setp.ne.u32 release, lane, lane;\n"                                                     \
      "mov.u32 stage, 0;\n"                                                                    \
      "mov.u32 parity, 0;\n"                                                                   \
      "mov.u32 before, barriers;\n"                                                            \
      "setp.ne.b32 accumulate, %3, 0;\n" START "AGAIN:\n" GROUPS "add.s32 left, left, -" STEPS \
      ";\n"                                                                                    \
      "setp.gt.s32 more, left, 0;\n"                                                           \
      "@more bra AGAIN;\n"                                                                     \
      "wgmma.wait_group.sync.aligned 0;\n"                                                     \
      "}"                                                                                      \
      : "+l"(a.low), "+l"(a.high), "+l"(b), "+r"(scale_d), "+l"(steps),                        \
        "+r"(d[0])MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                                         \
      :                                                                                        \
      : "memory")

// Four wgmma when their bytes are there; the group before them gives its stage back.
#define MMAUDIT_FED_GROUP(WAIT, PRODUCTS)                             \
  "mad.lo.u32 full, stage, 8, barriers;\n" WAIT                       \
  ":\n"                                                               \
  "mbarrier.try_wait.parity.shared::cta.b64 ended, [full], parity;\n" \
  "@!ended bra " WAIT                                                 \
  ";\n"                                                               \
  "bar.warp.sync 0xFFFFFFFF;\n"                                       \
  "wgmma.fence.sync.aligned;\n" PRODUCTS                              \
  "wgmma.commit_group.sync.aligned;\n"                                \
  "wgmma.wait_group.sync.aligned 1;\n"                                \
  "@release mbarrier.arrive.shared::cta.b64 state, [before+32];\n"    \
  "setp.eq.u32 release, lane, 0;\n"                                   \
  "mov.u32 before, full;\n"                                           \
  "add.u32 stage, stage, 1;\n"                                        \
  "setp.eq.u32 wrap, stage, stages;\n"                                \
  "@wrap mov.u32 stage, 0;\n"                                         \
  "@wrap xor.b32 parity, parity, 1;\n"
#define MMAUDIT_FED_PRODUCT(A, IMMEDIATES) MMAUDIT_WGMMA_TEXT(256, 128, "k16.f32.f16.f16", A, IMMEDIATES)
#define MMAUDIT_FED_SAME(A, IMMEDIATES)                                                                     \
  MMAUDIT_FED_LOOP(                                                                                         \
      128, "",                                                                                              \
      MMAUDIT_FED_GROUP("WAIT", MMAUDIT_FED_PRODUCT(A, IMMEDIATES) MMAUDIT_FED_PRODUCT(A, IMMEDIATES)       \
                                    MMAUDIT_FED_PRODUCT(A, IMMEDIATES) MMAUDIT_FED_PRODUCT(A, IMMEDIATES)), \
      "4")

struct FedChain {
  static constexpr int kRegisters = 128, kLive = 128;
  static constexpr Instruction kInstruction = kFedInstruction;
  template <int kGroup>
  static __device__ __forceinline__ void from_shared(std::uint32_t (&d)[128], WgmmaA a, std::uint64_t b,
                                                     std::uint64_t steps) {
    static_assert(kGroup == kFedGroup);
    MMAUDIT_FED_SAME("%0", ", 1, 1, 0, 0");
  }
  template <int kGroup>
  static __device__ __forceinline__ void from_registers(std::uint32_t (&d)[128], WgmmaA a, std::uint64_t b,
                                                        std::uint64_t steps) {
    static_assert(kGroup == kFedGroup);
    MMAUDIT_FED_SAME("{a0,a1,a2,a3}", ", 1, 1, 0");
  }
};

// The fragments of A of a group, one tile per instruction, in the registers x or y; a0 is where the lane
// loads a row of the first. While a group multiplies by x the next one's fragments come to y: the group
// before, which multiplied by y, is done.
#define MMAUDIT_FED_LOAD(X)                                            \
  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {" X "0," X "1," X "2," X  \
  "3}, [a0];\n"                                                        \
  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {" X "4," X "5," X "6," X  \
  "7}, [a0+2048];\n"                                                   \
  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {" X "8," X "9," X "10," X \
  "11}, [a0+4096];\n"                                                  \
  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {" X "12," X "13," X "14," X "15}, [a0+6144];\n"
#define MMAUDIT_FED_BY(X)                                             \
  MMAUDIT_FED_PRODUCT("{" X "0," X "1," X "2," X "3}", ", 1, 1, 0")   \
  MMAUDIT_FED_PRODUCT("{" X "4," X "5," X "6," X "7}", ", 1, 1, 0")   \
  MMAUDIT_FED_PRODUCT("{" X "8," X "9," X "10," X "11}", ", 1, 1, 0") \
  MMAUDIT_FED_PRODUCT("{" X "12," X "13," X "14," X "15}", ", 1, 1, 0")

struct LoadingFedChain {
  static constexpr int kRegisters = FedChain::kRegisters, kLive = kRegisters + 32;
  static constexpr Instruction kInstruction = kFedInstruction;
  template <int kGroup>
  static __device__ __forceinline__ void from_registers(std::uint32_t (&d)[128], WgmmaA a, std::uint64_t b,
                                                        std::uint64_t steps) {
    static_assert(kGroup == kFedGroup && kLoadedTiles == kFedGroup && kBytesA == 2048);
    MMAUDIT_FED_LOOP(128, ".reg .b32 x<16>, y<16>;\n" MMAUDIT_FED_LOAD("x"),
                     MMAUDIT_FED_GROUP("WAIT", MMAUDIT_FED_BY("x")) MMAUDIT_FED_LOAD("y")
                         MMAUDIT_FED_GROUP("WAIT_TOO", MMAUDIT_FED_BY("y")) MMAUDIT_FED_LOAD("x"),
                     "8");
  }
};

/// The warp that copies.
template <int kTiles>
struct Feeder {
  /// How often a short run asks whether a stage has been given back: together longer than a group begins.
  static constexpr int kHeldPolls = 64;
  CopyResult result;
  std::uint64_t memory;
  std::uint32_t bytes, stages, barriers, chunks, next, stride, lane, turn_lanes;
  std::uint32_t stage = 0, parity = 0;  ///< of the next group
  bool look;

  [[nodiscard]] __device__ __forceinline__ std::uint32_t full() const { return barriers + stage * 8; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t empty() const { return full() + 8 * kFedStages; }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t offset() const {
    return kTiles + kStageAlignment + stage * bytes;
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
    if (bytes > 0) result.trail = further(result.trail, words[bytes / 4 - 1]);
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

template <typename Chain, bool kRegistersA>
struct FedWgmma {
  using Multiplying = Wgmma<Chain, kRegistersA>;
  static constexpr bool kLoads = std::is_same_v<Chain, LoadingFedChain>;
  static constexpr int kTiles = kLoads ? kFedAndLoadedTiles : kFedTiles;
  static constexpr bool kExists = Multiplying::kExists;
  static constexpr int kLanes = kWarpgroupLanes, kMostThreads = 2 * kWarpgroupLanes;

  template <int kChains>
  struct Chains {
    typename Multiplying::template Chains<kChains> products;
    Feeder<kTiles> feeder;
    bool multiplies, feeds;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) : products(args, at) {
      multiplies = at.in_block == 0;
      feeds = at.in_block == 1 && at.lane < 32;
      const auto parameter = static_cast<std::uint32_t>(args.parameter);
      feeder.bytes = parameter & ~15U;
      feeder.stages = parameter & 15;
      feeder.barriers = static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes)) + kTiles;
      feeder.memory = reinterpret_cast<std::uint64_t>(args.memory);
      feeder.chunks = feeder.bytes == 0 ? 1 : static_cast<std::uint32_t>(args.memory_bytes / feeder.bytes);
      feeder.lane = static_cast<std::uint32_t>(at.lane);
      feeder.turn_lanes = blockDim.x / kFedWarps;
      // A lone block begins somewhere else each time: a cache of the whole GPU would keep what it read.
      feeder.next =
          gridDim.x == 1 ? __shfl_sync(~0U, some_place(feeder.chunks), 0) : blockIdx.x % feeder.chunks;
      feeder.result.first = feeder.next;
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
      if constexpr (kLoads)
        if (multiplies) fill_loaded_tiles(args, at);
      // The block meets before it starts.
    }
    /// The image of A in registers is a matrix of 8 x 8 after another as ldmatrix deals them out: those of a
    /// register, warp by warp, then of the next register.
    __device__ __forceinline__ void fill_loaded_tiles(const TimedArgs& args, const Place& at) {
      constexpr int kMatrix = 128, kRow = 16, kRows = 8, kOfRegister = kWarpgroupWarps * kMatrix;
      const int first = at.in_block % args.tiles, from = kRow * at.lane;
      unsigned char* tiles = copy_bytes + kFedTiles;
      const auto* images = static_cast<const unsigned char*>(args.a);
      for (int i = 0; i < kLoadedTiles; ++i)
        *reinterpret_cast<uint4*>(tiles + i * kBytesA + from) =
            *reinterpret_cast<const uint4*>(images + (first + i) % args.tiles * kBytesA + from);
      const int warp = at.lane / 32, in_warp = at.lane % 32;
      products.a.low = static_cast<std::uint32_t>(__cvta_generic_to_shared(tiles)) +
                       in_warp / kRows * kOfRegister + warp * kMatrix + in_warp % kRows * kRow;
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

Setup with_feed(Setup setup, const Point& point, bool loads) {
  const int fed = point.number("fed"), stages = point.number("stages");
  setup.args.parameter = fed | stages;
  setup.shared_bytes =
      (loads ? kFedAndLoadedTiles : kFedTiles) + static_cast<int>(kStageAlignment) + stages * fed;
  setup.trial_steps = kTrialSteps;
  setup.memory_bytes = copied_bytes(point);
  setup.fill = fill_words;
  setup.check = [products = setup.check, slot_bytes = setup.slot_bytes, memory = setup.memory_bytes, fed,
                 stages](const ReadResult& read, int, int steps, Measurement& out) {
    const std::vector<std::byte> seen = read();
    products([&] { return every_second(seen, slot_bytes, 0, slot_bytes); }, 1, steps, out);
    const std::vector<std::byte> feeds = every_second(seen, slot_bytes, 1, sizeof(CopyResult));
    check_copies(feeds, fed / 4, stages, steps / kFedGroup, out);
    check_order(feeds, order_of_all(memory, fed, feeds.size() / sizeof(CopyResult)), stages,
                steps / kFedGroup, out);
  };
  return setup;
}

Benchmark fed(bool loads) {
  Benchmark benchmark = matrix_benchmark(kFedInstruction);
  benchmark.name += loads ? "+feed+loads" : "+feed";
  benchmark.family = loads ? "wgmma that is fed and loads A" : "wgmma that is fed";
  benchmark.place = loads ? 56 : 55;
  benchmark.axes = {kScopeAxis, kLevelAxis, kWarpsAxis, kSourceAxis, kFedAxis, kStagesAxis};
  benchmark.exists = [loads](const Point& point) {
    return fed_exists(point) && (!loads || point.axis("a") == "registers");
  };
  benchmark.between = {{"UBLKCP"}, 1};
  if (loads) benchmark.besides = [](const Point&) { return SassRule{{"LDSM"}, 1}; };
  benchmark.work = [](const Point& point) {
    return Work{.fma = 64.0 * kFedColumns * kFedInstruction.k,
                .bytes = 1.0 * point.number("fed") / kFedGroup};
  };
  benchmark.kernel = [loads](const Point& point) {
    return loads                            ? timed_kernel<FedWgmma<LoadingFedChain, true>, 1, kFedGroup>()
           : point.axis("a") == "registers" ? timed_kernel<FedWgmma<FedChain, true>, 1, kFedGroup>()
                                            : timed_kernel<FedWgmma<FedChain, false>, 1, kFedGroup>();
  };
  benchmark.setup = [loads](const Point& point, Workbench* bench) {
    return with_feed(matrix_setup(kFedInstruction, point, bench, loads), point, loads);
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_wgmma_fed() { return {fed(false), fed(true)}; }

}  // namespace mmaudit::sweeps
