// Boxes that all blocks of a cluster need: each block copies its part of the box to all of them at once, or
// each block copies all of it. One warp starts copies, another one waits for them and gives their stages
// back.
#include "sweeps/memory/global_memory.hpp"
#include "sweeps/memory/tensor_copies.cuh"
#ifdef __CUDACC__
#include "ptx/async_copy.cuh"
#include "ptx/cluster.cuh"
#include "ptx/line.cuh"
#endif

namespace mmaudit::sweeps {

template <bool kMulticast>
struct ClusterCopy;

namespace {

/// Rows and columns of the box of a step, words; its bytes; stages; barriers of a stage. All stages are on
/// their way, but for those that the blocks of a cluster are giving back.
constexpr int kRows = 64, kColumns = 64, kStageBytes = 4 * kRows * kColumns, kStages = 12, kBarrierBytes = 16;
/// The first warp copies, the second one gives stages back, the others are done at once; steps per turn.
constexpr int kCopyWarps = 4, kCopyTurn = 4;
static_assert(kStages % kCopyTurn == 0);

MMAUDIT_HD constexpr Box whole() { return {{kColumns, kRows, 1}}; }

}  // namespace

#ifdef __CUDACC__

template <bool kMulticast>
struct ClusterCopy {
  static constexpr bool kExists =
      device::kTargetCapability >= 90 && (!kMulticast || device::kTargetMulticasts);
  static constexpr int kLanes = kCopyWarps * 32, kMostThreads = kLanes;

  template <int>
  struct Chains {
    CopyResult result;
    BoxTurn turn;
    BoxWalk<2> walk;
    std::uint32_t stages, barriers, others, lane, blocks, first_row, steps;
    std::size_t memory_bytes;
    bool copies, gives_back, look;

    static __device__ __forceinline__ BoxTurn turn_of(const Boxes& tensor) {
      const auto cluster = static_cast<std::uint32_t>(device::cluster_blocks());
      return {blockIdx.x / cluster % tensor.count(), gridDim.x / cluster % tensor.count()};
    }
    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at)
        : Chains(args, at, Boxes(2, args.memory_bytes, whole())) {}
    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at, const Boxes& tensor)
        : turn(turn_of(tensor)), walk(tensor, turn) {
      memory_bytes = args.memory_bytes;
      copies = at.lane / 32 == 0;
      gives_back = at.lane / 32 == 1;
      lane = static_cast<std::uint32_t>(at.lane % 32);
      blocks = static_cast<std::uint32_t>(device::cluster_blocks());
      const auto rank = static_cast<std::uint32_t>(device::block_rank());
      first_row = rank * kRows >> (31 - __clz(static_cast<int>(blocks)));  // a power of two
      stages = static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes));
      barriers = stages + kStages * kStageBytes;
      // Lane i tells block i; the lanes past the last block tell nobody.
      others = device::address_in(barriers, static_cast<int>(lane < blocks ? lane : rank));
      steps = static_cast<std::uint32_t>(args.steps);
      look = args.steps <= kLookedAtSteps;
      if (at.lane == 0) {
        device::acquire_map(&tensor_map);
        for (int stage = 0; stage < kStages; ++stage) {
          device::barrier_init(full(stage), 1);
          device::barrier_init(empty(stage), static_cast<int>(blocks));
        }
        device::barrier_init_done();
      }
      __syncwarp();
      device::cluster_wait();
    }
    /// Counts the bytes of a stage; counts the blocks that have given theirs back.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t full(std::uint32_t stage) const {
      return barriers + kBarrierBytes * stage;
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t empty(std::uint32_t stage) const {
      return barriers + kBarrierBytes * stage + 8;
    }
    /// Starts the copies of the next step. `parity`: of the round through the stages.
    __device__ __forceinline__ void issue(std::uint32_t stage, std::uint32_t parity) {
      device::barrier_wait(empty(stage), parity ^ 1);  // in the first round at once
      int from[2];
      walk.coordinates(from);
      walk.advance();
      if (lane == 0) {
        device::barrier_expect(full(stage), kStageBytes);
        const std::uint32_t to = stages + stage * kStageBytes;
        if constexpr (kMulticast) {
          from[1] += static_cast<int>(first_row);
          device::copy_box_to_cluster(to + first_row * kColumns * 4, &tensor_map, from, full(stage),
                                      static_cast<std::uint16_t>((1U << blocks) - 1));
        } else {
          device::copy_box(to, &tensor_map, from, full(stage));
        }
      }
    }
    /// All steps; then waits for the boxes that came last.
    template <int kTurn>
    __device__ __forceinline__ void copy(int count) {
      std::uint32_t stage = 0, parity = 0;
#pragma unroll 1
      for (int i = 0; i < count; i += kTurn) {
#pragma unroll
        for (std::uint32_t j = 0; j < kTurn; ++j) issue(stage + j, parity);
        next(stage, parity, kTurn);
      }
      for_last([this](std::uint32_t of) { device::barrier_wait(full(of % kStages), of / kStages % 2); });
    }
    /// Waits for the box of each step, and tells every block of the cluster that it may be copied over. Only
    /// who looked has read something that must come before that.
    __device__ __forceinline__ void give_back(int count) {
      std::uint32_t stage = 0, parity = 0, of = 0;
#pragma unroll 1
      for (int left = count; left > 0; --left) {
        device::barrier_wait(full(stage), parity);
        if (look) {
          look_at(of++);
          device::fence_cluster();
        }
        if (lane < blocks) device::arrive_in_cluster(others + kBarrierBytes * stage + 8);
        next(stage, parity, 1);
      }
    }
    static __device__ __forceinline__ void next(std::uint32_t& stage, std::uint32_t& parity,
                                                std::uint32_t by) {
      stage += by;
      if (stage < kStages) return;
      stage = 0;
      parity ^= 1;
    }
    template <typename Do>
    __device__ __forceinline__ void for_last(const Do& what) const {
#pragma unroll 1
      for (std::uint32_t of = steps - kStages; of < steps; ++of) what(of);
    }
    __device__ __forceinline__ void look_at(std::uint32_t of) {
      looked_at_box<2>(packed(whole()), memory_bytes, turn, of, of % kStages * kStageBytes, lane)
          .add_to(result);
      __syncwarp();
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int count) {
      if (copies)
        copy<kTurn>(count);
      else if (gives_back)
        give_back(count);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      __syncwarp();
      // Nothing more comes to this block, and no block tells one that has gone.
      device::cluster_wait();
      if (gives_back) {
        if (!look) for_last([this](std::uint32_t of) { look_at(of); });
        write_result(result, args, {.lane = static_cast<int>(lane), .in_block = 0, .slot = at.slot});
      }
      return false;
    }
  };
};

#endif

namespace {

std::string needs_multicast(const device::DeviceInfo& device, const Point& point) {
  const std::string why = hopper_has("tensor copies need")(device, point);
  return why.empty() && device.compute_capability >= 120 ? "multicast is not for compute capability 12" : why;
}

template <bool kMulticast>
Setup cluster_setup(const Point& point, Workbench*) {
  Setup setup = copy_setup(copied_bytes(point), kStageBytes, kStages);
  setup.args = {};
  setup.warps_per_slot = kCopyWarps;
  setup.shared_bytes = kStages * (kStageBytes + kBarrierBytes);
  setup.placement.cluster = point.number("cluster");
  Box copied = whole();
  if (kMulticast) copied.size[1] /= static_cast<std::uint32_t>(setup.placement.cluster);
  setup.fill = fill_tensor<2>(copied);
  setup.observe = [](std::span<const Stamp>, const ReadResult&, int, Measurement& out) {
    out.others[tag::kBlocks] = out.blocks;
  };
  return setup;
}

template <bool kMulticast>
Benchmark cluster_copies(const char* name) {
  Benchmark benchmark = {
      .name = name,
      .family = "Tensor copies into clusters",
      .place = 274,
      .axes = {kScopeAxis, kWarpsAxis, kLevelAxis, kClusterAxis},
      .whole_gpu = true,
      .sass = {{kMulticast ? "UTMALDG.2D.MULTICAST" : "UTMALDG.2D"}, 1},
      .exists =
          [](const Point& point) {
            return point.number("warps") == kCopyWarps && level_of(point) != Level::first &&
                   (!kMulticast || point.number("cluster") > 1);
          },
      .work = [](const Point&) { return Work{.bytes = kStageBytes}; },
      .why_not = hopper_has("tensor copies need"),
      .kernel = [](const Point&) { return timed_kernel<ClusterCopy<kMulticast>, 1, kCopyTurn>(); },
      .setup = cluster_setup<kMulticast>};
  if (kMulticast) benchmark.why_not = needs_multicast;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_multicast_copy() {
  return {cluster_copies<true>("cp.async.bulk.tensor.2d.multicast::cluster"),
          cluster_copies<false>("cp.async.bulk.tensor.2d+cluster")};
}

}  // namespace mmaudit::sweeps
