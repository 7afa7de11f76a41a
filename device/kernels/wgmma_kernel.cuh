#pragma once
// wgmma.mma_async on a batch of tiles: one warpgroup (one block) per tile, the grid strides over the batch.
// One kernel serves every n: it loads and stores only the accumulators that n has, and the instruction is a
// case of a switch.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/fragments.cuh"
#include "kernels/shared_layout.hpp"
#include "ptx/wgmma.cuh"

namespace mmaudit::device {

/// The instruction at its largest n: the fragments of smaller n are the first values of its fragments.
constexpr Instruction at_largest_n(Instruction instruction) {
  instruction.n = kWgmmaMaxN;
  return instruction;
}

template <typename Line>
struct AtLargestN {
  static constexpr Instruction kInstruction = at_largest_n(Line::kInstruction);
  static constexpr FragmentMap kMapA = fragment_a(kInstruction), kMapC = fragment_c(kInstruction);
  static constexpr int kRunA = run_of(kMapA, kInstruction.a), kRunC = run_of(kMapC, kInstruction.c);
  static_assert(bijective(kMapA) && bijective(kMapC));
  static_assert(kMapC.values == Line::kRegisters * elements_per_register(kInstruction.c));
};

/// A row-major global tile, (mn, k) or (k, mn), into the layout of shared_layout.hpp.
template <typename Element>
__device__ __forceinline__ void fill_shared(unsigned char* shared, const Element* tile, int rows, int cols,
                                            bool rows_are_k, bool mn_major, int cores = kDenseCores) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * cols; i += kWarpgroupLanes) {
    const int row = i / cols, col = i % cols;
    const int offset = rows_are_k ? shared_offset(col, row, sizeof(Element), mn_major, cores)
                                  : shared_offset(row, col, sizeof(Element), mn_major, cores);
    *reinterpret_cast<Element*>(shared + offset) = tile[i];
  }
}

/// The same for single bits: one per byte in global memory, eight per byte in shared, K-major, low bit first.
__device__ __forceinline__ void fill_shared_bits(unsigned char* shared, const std::uint8_t* tile, int mns,
                                                 int ks, bool rows_are_k) {
  for (int i = static_cast<int>(threadIdx.x); i < mns * ks / 8; i += kWarpgroupLanes) {
    // Neighbouring lanes take neighbouring columns of B, and neighbouring bytes of a row of A.
    const int mn = rows_are_k ? i % mns : i / (ks / 8), byte = rows_are_k ? i / mns : i % (ks / 8);
    unsigned packed = 0;
    for (int bit = 0; bit < 8; ++bit) {
      const int k = 8 * byte + bit;
      packed |= (tile[rows_are_k ? k * mns + mn : mn * ks + k] & 1U) << bit;
    }
    shared[shared_offset(mn, byte, 1, false)] = static_cast<unsigned char>(packed);
  }
}

__device__ __forceinline__ std::uint64_t descriptor_of(const unsigned char* shared, bool swap,
                                                       int cores = kDenseCores) {
  return shared_descriptor(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)),
                           swap ? next_along_mn(cores) : kNextAlongK,
                           swap ? kNextAlongK : next_along_mn(cores));
}

template <typename Line, bool kRegistersA>
__global__ void __launch_bounds__(kWarpgroupLanes) wgmma_kernel(const KernelArgs args) {
  if constexpr (!kTargetHasWgmma) {
    __trap();
  } else {
    constexpr Instruction kIs = Line::kInstruction;
    constexpr FragmentMap kMapA = AtLargestN<Line>::kMapA, kMapC = AtLargestN<Line>::kMapC;
    using A = ElementOf<kIs.a>;
    using B = ElementOf<kIs.b>;
    using C = ElementOf<kIs.c>;
    __shared__ alignas(kCoreBytes) unsigned char shared_a[kIs.m * kIs.k * kRegisterBits<kIs.a> / 8];
    __shared__ alignas(kCoreBytes) unsigned char shared_b[kWgmmaMaxN * kIs.k * kRegisterBits<kIs.b> / 8];

    const int lane = static_cast<int>(threadIdx.x), n = args.n;
    const int values_c = kIs.m * n / kWarpgroupLanes;
    const bool transpose_a = (args.modifiers & kTransposeA) != 0,
               transpose_b = (args.modifiers & kTransposeB) != 0;
    const int scale_d = (args.modifiers & kScaleDZero) == 0 ? 1 : 0;
    for (unsigned i = blockIdx.x; i < args.tiles; i += gridDim.x) {
      const TileIndices tile = tile_indices(args, args.tile_index != nullptr ? args.tile_index[i] : i);
      const A* tile_a = static_cast<const A*>(args.a) + tile.a * kIs.m * kIs.k;
      std::uint32_t d[Line::kRegisters];
      load_fragment<kRegisterBits<kIs.c>, AtLargestN<Line>::kRunC>(
          kMapC, static_cast<const C*>(args.c) + tile.c * kIs.m * n, n, lane,
          args.c != nullptr ? values_c : 0, d);
      const B* tile_b = static_cast<const B*>(args.b) + tile.b * kIs.k * n;
      if constexpr (kIs.a == Format::b1)
        fill_shared_bits(shared_b, tile_b, n, kIs.k, true);
      else
        fill_shared(shared_b, tile_b, kIs.k, n, true, transpose_b);
      WgmmaA a;
      if constexpr (kRegistersA) {
        std::uint32_t registers[4];
        load_fragment<kRegisterBits<kIs.a>, AtLargestN<Line>::kRunA>(kMapA, tile_a, kIs.k, lane, kMapA.values,
                                                                     registers);
        a.low = registers[0] | std::uint64_t{registers[1]} << 32;
        a.high = registers[2] | std::uint64_t{registers[3]} << 32;
      } else {
        if constexpr (kIs.a == Format::b1)
          fill_shared_bits(shared_a, tile_a, kIs.m, kIs.k, false);
        else
          fill_shared(shared_a, tile_a, kIs.m, kIs.k, false, transpose_a);
        a.low = descriptor_of(shared_a, transpose_a && args.swap_offsets);
      }
      const std::uint64_t b = descriptor_of(shared_b, transpose_b && args.swap_offsets);
      // The tensor cores read shared memory through another proxy than the stores above went.
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      const int which = wgmma_case(n, args.modifiers);
      if constexpr (kRegistersA) {
        Line::from_registers(which, d, a, b, scale_d, args.repetitions);
      } else {
        Line::from_shared(which, d, a, b, scale_d, args.repetitions);
      }
      store_fragment<AtLargestN<Line>::kRunC>(kMapC, static_cast<C*>(args.d) + tile.d * kIs.m * n, n, lane,
                                              values_c, d);
      __syncthreads();  // every warp is done with this tile's shared memory
    }
  }
}

template <typename Line>
void launch_wgmma(const KernelArgs& args, unsigned blocks) {
  if ((args.modifiers & kAFromRegisters) != 0)
    wgmma_kernel<Line, true><<<blocks, kWarpgroupLanes>>>(args);
  else
    wgmma_kernel<Line, false><<<blocks, kWarpgroupLanes>>>(args);
}

template <typename Line>
KernelEntry wgmma_entry() {
  return {Line::kInstruction, 1, launch_wgmma<Line>,
          reinterpret_cast<const void*>(wgmma_kernel<Line, false>)};
}

}  // namespace mmaudit::device

// X for the list of a family: an entry of its table.
#define MMAUDIT_WGMMA_KERNEL(...) wgmma_entry<MMAUDIT_WGMMA_NAME(__VA_ARGS__)>(),
