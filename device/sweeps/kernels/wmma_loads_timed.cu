// wmma.load of A and B chases a pointer: every word of the matrix is the matrix's address, so that whatever
// word the first register holds is where the next load reads. wmma.store has no result to wait for. A load of
// C becomes several loads, of which ptxas keeps those that the chain reads: it can't be timed like this.
#include "ptx/wmma_lists.cuh"
#include "sweeps/kernels/load_timed.cuh"

namespace mmaudit::sweeps {

using device::instruction_row;
// clang-format off
#define MMAUDIT_TIMED_WMMA_LOADS(X) X(16, 16, 16, f32, f32) X(16, 16, 16, f16, f16)
// clang-format on
MMAUDIT_TIMED_WMMA_LOADS(MMAUDIT_WMMA_HALF_LINE)

namespace {

using Wide = MMAUDIT_WMMA_HALF_NAME(16, 16, 16, f32, f32);
using Half = MMAUDIT_WMMA_HALF_NAME(16, 16, 16, f16, f16);

constexpr int kLineElements = 16;

/// kWords: of the matrix, a lane's share; kRegisters: that a lane gets, which for A and B is twice as much.
template <typename Operand, typename Layout, int kWords, int kRegisters, int kIlp>
__global__ void wmma_load_timed(const TimedArgs args) {
  if constexpr (device::kTargetCapability < 70) {
    __trap();
  } else {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int slot = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
    for (int word = static_cast<int>(threadIdx.x); word < kFragmentBytes / 4;
         word += static_cast<int>(blockDim.x))
      reinterpret_cast<std::uint32_t*>(memory)[word] = base_address();
    __syncthreads();
    std::uint32_t r[kIlp][kRegisters];
#pragma unroll
    for (int chain = 0; chain < kIlp; ++chain) r[chain][0] = base_address();
    Stamp stamp;
    start(stamp);
#pragma unroll 1
    for (int i = 0; i < args.iterations; i += kUnroll) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j)
#pragma unroll
        for (int chain = 0; chain < kIlp; ++chain)
          device::wmma_load<Operand, Layout>(r[chain], r[chain][0], kLineElements);
    }
    stop(stamp);
    std::uint32_t differ = 0, seen[kWords];
#pragma unroll
    for (int chain = 1; chain < kIlp; ++chain)
#pragma unroll
      for (int w = 0; w < kRegisters; ++w) differ |= r[chain][w] ^ r[0][w];
#pragma unroll
    for (int w = 0; w < kWords; ++w) seen[w] = r[0][w] - (w == 0 ? 0 : base_address());
    finish(args, stamp, lane, slot, seen, differ);
  }
}

template <typename Operand, int kWords, int kIlp>
__global__ void wmma_store_timed(const TimedArgs args) {
  if constexpr (device::kTargetCapability < 70) {
    __trap();
  } else {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int slot = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    auto* words = reinterpret_cast<std::uint32_t*>(memory) + kFragmentBytes / 4 * warp;
    for (int w = 0; w < kWords; ++w) words[kLanes * w + lane] = 0;
    std::uint32_t r[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) r[w] = pattern_word(0);
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
    Stamp stamp;
    start(stamp);
#pragma unroll 1
    for (int i = 0; i < args.iterations; i += kUnroll) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j)
#pragma unroll
        for (int chain = 0; chain < kIlp; ++chain)
          device::wmma_store<Operand, device::RowMajor>(r, address, kLineElements);
    }
    __syncthreads();  // the stores have been taken
    stop(stamp);
    std::uint32_t seen[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) seen[w] = words[kLanes * w + lane];
    seen[0] += base_address();  // finish() takes it away again
    finish(args, stamp, lane, slot, seen, 0);
  }
}

template <typename Operand, typename Layout, int kWords, int kRegisters, int kIlp>
TimedLoad wmma_load_row(std::string_view name) {
  return {name, kIlp,
          [](const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) {
            wmma_load_timed<Operand, Layout, kWords, kRegisters, kIlp><<<blocks, threads, shared>>>(args);
          },
          reinterpret_cast<const void*>(wmma_load_timed<Operand, Layout, kWords, kRegisters, kIlp>)};
}

template <typename Operand, int kWords, int kIlp>
TimedLoad wmma_store_row(std::string_view name) {
  return {name, kIlp,
          [](const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) {
            wmma_store_timed<Operand, kWords, kIlp><<<blocks, threads, shared>>>(args);
          },
          reinterpret_cast<const void*>(wmma_store_timed<Operand, kWords, kIlp>)};
}

}  // namespace

std::span<const TimedLoad> timed_wmma_loads() {
  using device::ColumnMajor;
  using device::RowMajor;
  static const TimedLoad kRows[] = {
      MMAUDIT_EVERY_ILP(wmma_load_row, "wmma.load.a.m16n16k16.f16", Wide::LoadA, RowMajor, 4, 8)     //
      MMAUDIT_EVERY_ILP(wmma_load_row, "wmma.load.b.m16n16k16.f16", Wide::LoadB, ColumnMajor, 4, 8)  //
      MMAUDIT_EVERY_ILP(wmma_store_row, "wmma.store.d.m16n16k16.f32", Wide::StoreD, 8)               //
      MMAUDIT_EVERY_ILP(wmma_store_row, "wmma.store.d.m16n16k16.f16", Half::StoreD, 4)               //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
