#pragma once
// What kernels that copy boxes of a tensor have in common.
#include "sweeps/memory/boxes.hpp"
#include "sweeps/memory/copies.cuh"
#ifdef __CUDACC__
#include "ptx/tensor_copy.cuh"
#include "run/cuda_check.hpp"
#include "run/tensor_map.hpp"
#endif

namespace mmaudit::sweeps {

#ifdef __CUDACC__

/// The tensor that the kernels of a file copy from. Global memory, because it changes from point to point.
static __device__ __align__(128) CUtensorMap tensor_map;

/// Where the boxes come from that one block copies, or one cluster: a first, then each one `stride` further
/// on.
struct BoxTurn {
  std::uint32_t first, stride;
};

/// The coordinates of one box after another, without a division.
template <int kRank>
struct BoxWalk {
  std::uint32_t at[kRank], by[kRank], boxes[kRank], size[kRank];

  __device__ __forceinline__ BoxWalk(const Boxes& tensor, BoxTurn turn) {
#pragma unroll
    for (int axis = 0; axis < kRank; ++axis) {
      at[axis] = tensor.place(turn.first, axis);
      by[axis] = tensor.place(turn.stride, axis);
      boxes[axis] = tensor.along(axis);
      size[axis] = tensor.box.size[axis];
      asm volatile("" : "+r"(boxes[axis]));  // by a constant a coordinate would move like a counter of steps
    }
  }
  /// The first element of this box.
  __device__ __forceinline__ void coordinates(int (&out)[kRank]) const {
#pragma unroll
    for (int axis = 0; axis < kRank; ++axis) out[axis] = static_cast<int>(at[axis] * size[axis]);
  }
  __device__ __forceinline__ void advance() {
    std::uint32_t carry = 0;
#pragma unroll
    for (int axis = 0; axis < kRank; ++axis) {
      at[axis] += by[axis] + carry;
      carry = at[axis] >= boxes[axis] ? 1 : 0;
      if (carry != 0) at[axis] -= boxes[axis];
    }
  }
};

/// Words of a stage, every 32nd four of them, against the box of a step. No part of the loop that is timed:
/// by its number the box is found another way than the copies find it.
template <int kRank>
static __device__ __noinline__ LookedAt looked_at_box(int parameter, std::size_t memory_bytes, BoxTurn turn,
                                                      std::uint32_t step, std::uint32_t at,
                                                      std::uint32_t lane) {
  const auto* fours = reinterpret_cast<const uint4*>(copy_bytes + at);
  const Boxes tensor(kRank, memory_bytes, unpacked(parameter));
  const auto number =
      static_cast<std::uint32_t>((std::uint64_t{step} * turn.stride + turn.first) % tensor.count());
  const std::uint32_t count = tensor.box.elements() * tensor.words / 4;
  BoxWords words(tensor, number, 4 * lane, 4 * 32);
  LookedAt looked;
#pragma unroll 4
  for (std::uint32_t four = lane; four < count; four += 32) {
    const uint4 found = fours[four];
    const std::uint32_t index = words.index();
    const std::uint32_t four_words[] = {found.x, found.y, found.z, found.w};
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      ++looked.compared;
      looked.differing += four_words[i] != copied_word(index + i) ? 1 : 0;
    }
    words.advance();
  }
  return looked;
}

/// Fills memory, and makes it the tensor that is copied from, in boxes of `copied`.
template <int kRank>
static void make_tensor(const TimedArgs& args, const Box& copied) {
  fill_words(args);
  const Boxes tensor(kRank, args.memory_bytes, copied);
  device::TensorLayout layout;
  if (kRank == 1) layout.type = CU_TENSOR_MAP_DATA_TYPE_INT64;
  layout.element_bytes = 4 * tensor.words;
  layout.extents.assign(tensor.extent, tensor.extent + kRank);
  layout.box.assign(copied.size, copied.size + kRank);
  const CUtensorMap map = device::tensor_map_of(args.memory, layout);
  device::cuda_check(cudaMemcpyToSymbol(tensor_map, &map, sizeof(map)), "handing over a tensor map");
}

#endif

/// Setup::fill: that, in boxes of `copied`.
template <int kRank>
std::function<void(const TimedArgs&)> fill_tensor([[maybe_unused]] const Box& copied) {
#ifdef __CUDACC__
  return [copied](const TimedArgs& args) { make_tensor<kRank>(args, copied); };
#else
  return nullptr;
#endif
}

}  // namespace mmaudit::sweeps
