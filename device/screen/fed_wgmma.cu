// wgmma and wgmma.sp at n = 256 whose operands the bulk copy engine brings to shared memory again and again
// during a chain, each from all its sources.
#include "screen/screen.cuh"
#include "sweeps/matrix/wgmma.cuh"
#ifdef __CUDACC__
#include "ptx/async_copy.cuh"
#include "ptx/bulk_copy.cuh"
#include "ptx/tensor_copy.cuh"
#endif

#define MMAUDIT_TIMED_N(X, ...) X(256, 128, 64, __VA_ARGS__)
#include "sweeps/matrix/wgmma_chains.cuh"

#define MMAUDIT_FED(...) add<sweeps::MMAUDIT_DENSE_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_FED_SP(...) add<sweeps::MMAUDIT_SPARSE_NAME(__VA_ARGS__)>(kernels);

namespace mmaudit::screen {

// A slot has the tiles of one chain in shared memory behind their barriers, each at a multiple of 1024 bytes.
// The copies that wait hide the latency of device memory: a tile lasts some thousand cycles, since two slots
// share the tensor cores.
constexpr int kBarrierBytes = 1024;
/// Instructions that use a tile before the next one comes. At the full rate that is about 10 bytes per clock
/// and multiprocessor.
constexpr int steps_per_copy(bool sparse) { return sparse ? 16 : 8; }
constexpr int stages_of(bool sparse) { return kSteps / steps_per_copy(sparse); }
constexpr int tile_bytes(int n, bool sparse) {
  return sweeps::kBytesA + n * sweeps::bytes_per_column(sparse);
}

/// Body of a Chain of the sweeps.
template <typename Chain>
struct FedWgmma;

#ifdef __CUDACC__

template <typename Chain>
struct FedWgmma {
  static constexpr bool kStreams = true, kExists = device::kTargetHasWgmma;
  static constexpr bool kSparse = is_sparse(Chain::kInstruction.op);
  static constexpr int kLanes = kWarpgroupLanes, kMostThreads = 2 * kWarpgroupLanes;
  static constexpr int kN = Chain::kInstruction.n, kStepsPerCopy = steps_per_copy(kSparse),
                       kStages = stages_of(kSparse);
  static constexpr int kColumnBytes = sweeps::bytes_per_column(kSparse);
  static constexpr int kTile = tile_bytes(kN, kSparse);
  static_assert(kTile % kStreamLine == 0 && kTile % kBarrierBytes == 0);

  template <int kChains>
  struct Chains {
    static_assert(kChains == 1);
    const ScreenArgs& args;
    const Turn turn;
    const int lane, slot;              ///< slot: of the block
    std::uint32_t shared;              ///< address of the slot's barriers
    std::uint64_t a, b, metadata = 0;  ///< descriptors of the first stage
    std::uint32_t used, begun, end;    ///< copies of this launch; end: of this round
    std::uint32_t copy = 0;            ///< of all tiles, the next one that is read
    std::uint32_t d[Chain::kRegisters];

    __device__ __forceinline__ Chains(const ScreenArgs& kernel_args, const sweeps::Place& at, const Turn& now)
        : args(kernel_args), turn(now), lane(at.lane), slot(at.in_block) {
      extern __shared__ __align__(128) unsigned char tiles[];
      unsigned char* const own = tiles + at.in_block * static_cast<int>(args.slot_bytes);
      shared = __reduce_max_sync(~0U, static_cast<std::uint32_t>(__cvta_generic_to_shared(own)));
      const std::uint32_t first = shared + kBarrierBytes;
      a = device::shared_descriptor(first, device::kNextAlongK, device::next_along_mn(device::kDenseCores));
      b = device::shared_descriptor(first + sweeps::kBytesA, device::kNextAlongK,
                                    device::next_along_mn(kColumnBytes / device::kLineBytes));
      const auto per_round = static_cast<std::uint32_t>(args.chains * args.operands.steps / kStepsPerCopy);
      used = begun = static_cast<std::uint32_t>(turn.round) * per_round;
      end = used + per_round;
      if (lane != 0) return;
      // The slots begin at places that are far from each other, and none reads what another one has just
      // brought to the cache.
      const std::uint32_t slots = gridDim.x * blockDim.x / kLanes;
      copy = static_cast<std::uint32_t>(
          (std::uint64_t{args.stream.copies} * static_cast<std::uint32_t>(at.slot) / slots + begun) %
          args.stream.copies);
      if (turn.round == 0) {
        for (int stage = 0; stage < kStages; ++stage) device::barrier_init(shared + 8 * stage, 1);
        device::barrier_init_done();
        if (args.stream.map != nullptr) device::acquire_map(args.stream.map);
      }
      for (int stage = 0; stage < kStages; ++stage) begin_copy();
    }

    /// Its tile.
    __device__ __forceinline__ int begin_chain() {
      const auto tile = static_cast<int>(tile_of(used));
      if constexpr (kSparse)
        metadata = std::uint64_t{static_cast<const std::uint32_t*>(
                       args.operands.metadata)[tile * kWarpgroupLanes + lane]}
                   << 32U;
      return tile;
    }
    /// Of a copy of this launch.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t tile_of(std::uint32_t number_of_copy) const {
      return streamed_tile(static_cast<std::uint32_t>(slot), number_of_copy, kStages);
    }

    /// One lane: the next tile of the round, if there is one, to the stage that is free.
    __device__ __forceinline__ void begin_copy() {
      if (begun == end) return;
      const std::uint32_t stage = begun % kStages, barrier = shared + 8 * stage,
                          to = shared + kBarrierBytes + stage * kTile;
      std::uint32_t from = copy;
      if constexpr (kInjects)
        if (strikes(args.injection, FaultKind::load, turn.multiprocessor, number(begun)))
          from = args.stream.copies;
      const std::uint32_t tile = from * static_cast<std::uint32_t>(args.operands.tiles) + tile_of(begun);
      bool brings = true;
      if constexpr (kInjects)
        brings = !strikes(args.injection, FaultKind::lost, turn.multiprocessor, number(begun));
      if (!brings) {
        device::barrier_arrive(barrier);
      } else if (device::barrier_expect(barrier, kTile); args.stream.map != nullptr) {
        const int box[] = {0, static_cast<int>(tile * (kTile / kStreamLine))};
        device::copy_box<2>(to, args.stream.map, box, barrier);
      } else {
        device::copy_bulk(to,
                          reinterpret_cast<std::uint64_t>(args.stream.tiles) + std::uint64_t{tile} * kTile,
                          kTile, barrier);
      }
      ++begun;
      copy = copy + 1 == args.stream.copies ? 0 : copy + 1;
    }
    /// Of a copy of this launch: how many the slot had made before it.
    [[nodiscard]] __device__ __forceinline__ std::uint64_t number(std::uint32_t copy_of_launch) const {
      return args.first_chain * static_cast<std::uint64_t>(args.operands.steps / kStepsPerCopy) +
             copy_of_launch;
    }

    template <int kGroup>
    __device__ __forceinline__ void run(int steps) {
#pragma unroll 1
      for (int left = steps; left > 0; left -= kStepsPerCopy) {
        const std::uint32_t stage = used % kStages;
        device::barrier_wait(shared + 8 * stage, used / kStages & 1U);
        __syncwarp();
        if constexpr (kInjects)
          if (strikes(args.injection, FaultKind::shared, turn.multiprocessor, number(used))) {
            extern __shared__ __align__(128) unsigned char tiles[];
            if (lane == 0)
              spoil_shared(tiles + slot * static_cast<int>(args.slot_bytes) + kBarrierBytes + stage * kTile,
                           kTile, args.injection);
            meet<kLanes>(slot);
          }
        const std::uint64_t further = stage * (kTile / 16);  // a descriptor counts 16 bytes
        device::WgmmaA stage_a;
        stage_a.low = a + further;
        Chain::template from_shared<kGroup>(d, stage_a, b + further, kStepsPerCopy | metadata);
        ++used;
        meet<kLanes>(slot);  // all four warps have read the stage
        if (lane == 0) begin_copy();
      }
    }
  };
};

#endif

namespace {

constexpr int kN = 256, kWarps = 8, kGroup = 8;

/// One kernel serves all of them: what it reads is an argument.
template <typename Line>
void add(std::vector<ScreenKernel>& kernels) {
  Instruction instruction = Line::kInstruction;
  instruction.n = kN;
  const bool sparse = is_sparse(instruction.op);
  const int tile = tile_bytes(kN, sparse);
  ScreenKernel kernel = screening_kernel<FedWgmma<sweeps::Chain<Line, kN>>, 1, kGroup>(
      instruction, false, kWarps, kBarrierBytes + stages_of(sparse) * tile);
  kernel.copied_bytes = tile;
  kernel.steps_per_copy = steps_per_copy(sparse);
  kernel.stages = stages_of(sparse);
  for (const Feed feed : {Feed::bulk_l2, Feed::bulk_hbm, Feed::tensor_hbm}) {
    kernel.feed = feed;
    kernels.push_back(kernel);
  }
}

}  // namespace

std::vector<ScreenKernel> fed_wgmma_kernels() {
  std::vector<ScreenKernel> kernels;
  MMAUDIT_TIMED_DENSE(MMAUDIT_FED)
  MMAUDIT_TIMED_SPARSE(MMAUDIT_FED_SP)
  return kernels;
}

}  // namespace mmaudit::screen
