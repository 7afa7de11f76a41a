// Loads chase a pointer: the first word a lane loads is the address it loads from next, its own. Stores have
// no result to wait for: what is timed is their issue.
#include "ptx/shared_memory.cuh"
#include "sweeps/kernels/load_timed.cuh"

namespace mmaudit::sweeps {
namespace {

/// Every word its pattern, and the words that a lane loads first the lane's address.
template <int kMatrices, bool kTrans>
__device__ void fill(int stride, int lane) {
  for (int word = static_cast<int>(threadIdx.x); word < kPatternBytes / 4;
       word += static_cast<int>(blockDim.x))
    reinterpret_cast<std::uint32_t*>(memory)[word] = pattern_word(word);
  __syncthreads();
  if (threadIdx.x < kLanes) {
    const std::uint32_t address = base_address() + static_cast<std::uint32_t>(stride * lane);
    if constexpr (kTrans) {
      auto* halves = reinterpret_cast<std::uint16_t*>(memory);
      halves[transposed_half(lane, 0)] = static_cast<std::uint16_t>(address);
      halves[transposed_half(lane, 1)] = static_cast<std::uint16_t>(address >> 16);
    } else {
      // ldmatrix deals the words of the first matrix out in lane order; ld.shared takes the word at the
      // address.
      const int word = kMatrices > 0 ? lane : stride * lane / 4;
      reinterpret_cast<std::uint32_t*>(memory)[word] = address;
    }
  }
  __syncthreads();
}

/// kMatrices: ldmatrix of so many words; 0: ld.shared of kWords.
template <int kWords, int kMatrices, bool kTrans, int kIlp>
__global__ void load_timed(const TimedArgs args) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int slot = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  fill<kMatrices, kTrans>(args.stride, lane);
  std::uint32_t r[kIlp][kWords];
#pragma unroll
  for (int chain = 0; chain < kIlp; ++chain)
    r[chain][0] = base_address() + static_cast<std::uint32_t>(args.stride * lane);
  Stamp stamp;
  start(stamp);
#pragma unroll 1
  for (int i = 0; i < args.iterations; i += kUnroll) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
#pragma unroll
      for (int chain = 0; chain < kIlp; ++chain) {
        if constexpr (kMatrices > 0)
          device::load_matrices<kTrans>(r[chain], r[chain][0]);
        else
          device::load_words(r[chain], r[chain][0]);
      }
  }
  stop(stamp);
  std::uint32_t differ = 0;
#pragma unroll
  for (int chain = 1; chain < kIlp; ++chain)
#pragma unroll
    for (int w = 0; w < kWords; ++w) differ |= r[chain][w] ^ r[0][w];
  finish(args, stamp, lane, slot, r[0], differ);
}

/// Stores the pattern's first words; what memory holds afterwards goes out.
template <int kWords, bool kTrans, int kIlp>
__global__ void store_timed(const TimedArgs args) {
  if constexpr (device::kTargetCapability < 90) {
    __trap();
  } else {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int slot = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    for (int word = static_cast<int>(threadIdx.x);
         word < kStoreBytesPerWarp / 4 * static_cast<int>(blockDim.x) / kLanes;
         word += static_cast<int>(blockDim.x))
      reinterpret_cast<std::uint32_t*>(memory)[word] = 0;
    std::uint32_t r[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) r[w] = pattern_word(kLanes * w + lane);
    const std::uint32_t address =
        base_address() + static_cast<std::uint32_t>(kStoreBytesPerWarp * warp + args.stride * lane);
    Stamp stamp;
    start(stamp);
#pragma unroll 1
    for (int i = 0; i < args.iterations; i += kUnroll) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j)
#pragma unroll
        for (int chain = 0; chain < kIlp; ++chain) device::store_matrices<kTrans>(address, r);
    }
    __syncthreads();  // the stores have been taken
    stop(stamp);
    std::uint32_t seen[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      seen[w] =
          reinterpret_cast<const std::uint32_t*>(memory)[kStoreBytesPerWarp / 4 * warp + kLanes * w + lane];
    seen[0] += base_address();  // finish() takes it away again
    finish(args, stamp, lane, slot, seen, 0);
  }
}

template <int kWords, int kMatrices, bool kTrans, int kIlp>
TimedLoad load_row(std::string_view name) {
  return {name, kIlp,
          [](const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) {
            load_timed<kWords, kMatrices, kTrans, kIlp><<<blocks, threads, shared>>>(args);
          },
          reinterpret_cast<const void*>(load_timed<kWords, kMatrices, kTrans, kIlp>)};
}

template <int kWords, bool kTrans, int kIlp>
TimedLoad store_row(std::string_view name) {
  return {name, kIlp,
          [](const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) {
            store_timed<kWords, kTrans, kIlp><<<blocks, threads, shared>>>(args);
          },
          reinterpret_cast<const void*>(store_timed<kWords, kTrans, kIlp>)};
}

}  // namespace

std::span<const TimedLoad> timed_loads() {
  static const TimedLoad kRows[] = {
      MMAUDIT_EVERY_ILP(load_row, "ldmatrix.x1", 1, 1, false)       //
      MMAUDIT_EVERY_ILP(load_row, "ldmatrix.x2", 2, 2, false)       //
      MMAUDIT_EVERY_ILP(load_row, "ldmatrix.x4", 4, 4, false)       //
      MMAUDIT_EVERY_ILP(load_row, "ldmatrix.x1.trans", 1, 1, true)  //
      MMAUDIT_EVERY_ILP(load_row, "ldmatrix.x2.trans", 2, 2, true)  //
      MMAUDIT_EVERY_ILP(load_row, "ldmatrix.x4.trans", 4, 4, true)  //
      MMAUDIT_EVERY_ILP(load_row, "ld.shared.u32", 1, 0, false)     //
      MMAUDIT_EVERY_ILP(load_row, "ld.shared.u64", 2, 0, false)     //
      MMAUDIT_EVERY_ILP(load_row, "ld.shared.v4.u32", 4, 0, false)  //
      MMAUDIT_EVERY_ILP(store_row, "stmatrix.x1", 1, false)         //
      MMAUDIT_EVERY_ILP(store_row, "stmatrix.x2", 2, false)         //
      MMAUDIT_EVERY_ILP(store_row, "stmatrix.x4", 4, false)         //
  };
  return kRows;
}

}  // namespace mmaudit::sweeps
