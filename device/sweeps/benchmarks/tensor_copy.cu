// Boxes of tensors of one, two and three dimensions, copied from memory to shared memory: what copies in
// flight move, by box and blocks per multiprocessor.
#include "sweeps/memory/global_memory.hpp"
#include "sweeps/memory/tensor_copies.cuh"
#ifdef __CUDACC__
#include "ptx/async_copy.cuh"
#include "ptx/line.cuh"
#endif

namespace mmaudit::sweeps {

/// Boxes of so many dimensions, kInFlightMost in flight per block.
template <int kRank>
struct TensorCopy;

#ifdef __CUDACC__

template <int kRank>
struct TensorCopy : OnHopper<32> {
  template <int>
  struct Chains {
    CopyResult result;
    BoxTurn turn;
    BoxWalk<kRank> walk;
    std::uint32_t bytes, stages, barriers, lane, step = 0;
    int parameter;
    std::size_t memory_bytes;
    bool look;

    static __device__ __forceinline__ BoxTurn turn_of(const Boxes& tensor) {
      return {blockIdx.x % tensor.count(), gridDim.x % tensor.count()};
    }
    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at)
        : Chains(args, at, Boxes(kRank, args.memory_bytes, unpacked(args.parameter))) {}
    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at, const Boxes& tensor)
        : turn(turn_of(tensor)), walk(tensor, turn) {
      parameter = args.parameter;
      memory_bytes = args.memory_bytes;
      bytes = static_cast<std::uint32_t>(box_bytes(tensor.box, kRank));
      lane = static_cast<std::uint32_t>(at.lane);
      stages = static_cast<std::uint32_t>(__cvta_generic_to_shared(copy_bytes));
      barriers = stages + kInFlightMost * bytes;
      look = args.steps <= kLookedAtSteps;
      if (at.lane == 0) {
        device::acquire_map(&tensor_map);
        for (int stage = 0; stage < kInFlightMost; ++stage) device::barrier_init(barriers + 8 * stage, 1);
        device::barrier_init_done();
      }
      __syncwarp();
    }
    __device__ __forceinline__ void issue() {
      const std::uint32_t stage = step % kInFlightMost;
      int from[kRank];
      walk.coordinates(from);
      walk.advance();
      if (lane == 0) {
        device::barrier_expect(barriers + 8 * stage, static_cast<int>(bytes));
        device::copy_box(stages + stage * bytes, &tensor_map, from, barriers + 8 * stage);
      }
      ++step;
    }
    /// Waits for the copy of an earlier step.
    __device__ __forceinline__ void wait(std::uint32_t of) {
      device::barrier_wait(barriers + 8 * (of % kInFlightMost), of / kInFlightMost % 2);
      if (look) look_at(of);
    }
    __device__ __forceinline__ void look_at(std::uint32_t of) {
      looked_at_box<kRank>(parameter, memory_bytes, turn, of, of % kInFlightMost * bytes, lane)
          .add_to(result);
      __syncwarp();
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
#pragma unroll 1
      for (int i = 0; i < steps; i += kTurn) {
        if (step >= kInFlightMost) wait(step - kInFlightMost);
        issue();
      }
#pragma unroll
      for (std::uint32_t back = kInFlightMost; back > 0; --back) wait(step - back);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      if (!look)
        for (std::uint32_t back = kInFlightMost; back > 0; --back) look_at(step - back);
      write_result(result, args, at);
      return false;
    }
  };
};

#endif

namespace {

/// The boxes of Luo et al., section 5.2: six of each number of dimensions, and those of 16 KiB that are long
/// along one dimension.
constexpr std::string_view kBoxes =
    "64,96,128,160,192,256,16x16,32x16,32x32,64x32,96x32,64x64,8x8x4,8x8x8,16x8x8,16x16x8,16x16x12,16x16x16,"
    "64x64x1,256x16x1,16x256x1,4x4x256";
constexpr AxisSpec kBoxAxis = word_axis(
    "box", kBoxes,
    "[64,96,128,160,192,256,16x16,32x16,32x32,64x32,96x32,64x64,8x8x4,8x8x8,16x8x8,16x16x8,16x16x12,"
    "16x16x16,64x64x1,256x16x1,16x256x1,4x4x256]",
    "[256,64x64,16x16x16,256x16x1]",
    "box of a tensor copy, fastest dimension first: 32-bit words, of one dimension 64-bit ones");

Box box_of(const Point& point) { return parse_box(point.axis("box")).value_or(Box{}); }

template <int kRank>
Benchmark tensor_copies(const char* name) {
  Benchmark benchmark = {
      .name = name,
      .family = "Tensor copies in flight",
      .place = 272,
      .axes = {kScopeAxis, kWarpsAxis, kLevelAxis, kBoxAxis, kBlocksPerAxis},
      .whole_gpu = true,
      .sass = {{"UTMALDG"}, 1},
      .exists =
          [](const Point& point) {
            return one_warp(point) && level_of(point) == Level::memory && rank_of(point.axis("box")) == kRank;
          },
      .work = [](const Point& point) { return Work{.bytes = 1.0 * box_bytes(box_of(point), kRank)}; },
      .why_not = hopper_has("tensor copies need", needs_all_multiprocessors),
      .kernel = [](const Point&) { return timed_kernel<TensorCopy<kRank>, 1, 1>(); },
      .setup =
          [](const Point& point, Workbench*) {
            const Box box = box_of(point);
            Setup setup = copy_setup(kCopiedMemoryBytes, box_bytes(box, kRank), kInFlightMost);
            setup.args.parameter = packed(box);
            setup.placement.blocks_per_multiprocessor = point.number("ctas");
            setup.fill = fill_tensor<kRank>(box);
            return setup;
          }};
  if (kRank > 1) benchmark.published = {"Luo 5"};
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_tensor_copy() {
  return {tensor_copies<1>("cp.async.bulk.tensor.1d+inflight"),
          tensor_copies<2>("cp.async.bulk.tensor.2d+inflight"),
          tensor_copies<3>("cp.async.bulk.tensor.3d+inflight")};
}

}  // namespace mmaudit::sweeps
