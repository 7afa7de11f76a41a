#pragma once
// wgmma.mma_async and wgmma.mma_async.sp on a batch of tiles: one warpgroup (one block) per tile, the grid
// strides over the batch. One kernel serves every n: it loads and stores only the accumulators that n has,
// and the instruction is a case of a switch. A sparse A is half as deep as B, whose lines in shared memory
// have twice as many core matrices along k. Where a sparse instruction without modifiers has two values of
// the selector, it changes from tile to tile.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/fragments.cuh"
#include "kernels/metadata.cuh"
#include "kernels/shared_layout.hpp"
#include "ptx/wgmma_sp.cuh"

namespace mmaudit::device {

/// The instruction at its largest n: the fragments of smaller n are the first values of its fragments.
constexpr Instruction at_largest_n(Instruction instruction) {
  instruction.n = kWgmmaMaxN;
  return instruction;
}

template <typename Line>
struct AtLargestN {
  static constexpr Instruction kInstruction = at_largest_n(Line::kInstruction);
  static constexpr bool kSparse = is_sparse(kInstruction.op);
  static constexpr int kStoredK = kInstruction.stored_k();  ///< of A
  static constexpr FragmentMap kMapA = fragment_a(kInstruction), kMapC = fragment_c(kInstruction);
  static constexpr int kRunA = run_of(kMapA, kInstruction.a), kRunC = run_of(kMapC, kInstruction.c);
  static constexpr Packing kPackingA = packing_of(kInstruction, kInstruction.a),
                           kPackingC = packing_of(kInstruction, kInstruction.c);
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
    using Largest = AtLargestN<Line>;
    constexpr FragmentMap kMapA = Largest::kMapA, kMapC = Largest::kMapC;
    constexpr int kStoredK = Largest::kStoredK;
    using A = ElementOf<kIs.a>;
    using B = ElementOf<kIs.b>;
    using C = ElementOf<kIs.c>;
    constexpr int kBytesA = kStoredK * kRegisterBits<kIs.a> / 8, kBytesB = kIs.k * kRegisterBits<kIs.b> / 8;
    constexpr int kCoresA = kBytesA / kLineBytes, kCoresB = kBytesB / kLineBytes;
    static_assert(kCoresA == kDenseCores && kCoresB == (Largest::kSparse ? 2 : 1) * kDenseCores);
    __shared__ alignas(kCoreBytes) unsigned char shared_a[kIs.m * kBytesA];
    __shared__ alignas(kCoreBytes) unsigned char shared_b[kWgmmaMaxN * kBytesB];

    const int lane = static_cast<int>(threadIdx.x), n = args.n;
    const int values_c = kIs.m * n / kWarpgroupLanes;
    const bool transpose_a = (args.modifiers & kTransposeA) != 0,
               transpose_b = (args.modifiers & kTransposeB) != 0;
    const int scale_d = (args.modifiers & kScaleDZero) == 0 ? 1 : 0;
    for (unsigned i = blockIdx.x; i < args.tiles; i += gridDim.x) {
      const TileIndices tile = tile_indices(args, args.tile_index != nullptr ? args.tile_index[i] : i);
      const A* tile_a = static_cast<const A*>(args.a) + tile.a * kIs.m * kStoredK;
      std::uint32_t d[Line::kRegisters];
      load_fragment<Largest::kPackingC, Largest::kRunC>(kMapC,
                                                        static_cast<const C*>(args.c) + tile.c * kIs.m * n, n,
                                                        lane, args.c != nullptr ? values_c : 0, d);
      const B* tile_b = static_cast<const B*>(args.b) + tile.b * kIs.k * n;
      if constexpr (kIs.a == Format::b1)
        fill_shared_bits(shared_b, tile_b, n, kIs.k, true);
      else
        fill_shared(shared_b, tile_b, kIs.k, n, true, transpose_b, kCoresB);
      WgmmaA a;
      if constexpr (kRegistersA) {
        std::uint32_t registers[4];
        load_fragment<Largest::kPackingA, Largest::kRunA>(kMapA, tile_a, kStoredK, lane, kMapA.values,
                                                          registers);
        a.low = registers[0] | std::uint64_t{registers[1]} << 32;
        a.high = registers[2] | std::uint64_t{registers[3]} << 32;
      } else {
        if constexpr (kIs.a == Format::b1)
          fill_shared_bits(shared_a, tile_a, kIs.m, kStoredK, false);
        else
          fill_shared(shared_a, tile_a, kIs.m, kStoredK, false, transpose_a);
        a.low = descriptor_of(shared_a, transpose_a && args.swap_offsets);
      }
      const std::uint64_t b = descriptor_of(shared_b, transpose_b && args.swap_offsets, kCoresB);
      int which = wgmma_case(n, args.modifiers);
      std::uint64_t steps = static_cast<std::uint32_t>(args.repetitions);
      if constexpr (Largest::kSparse) {
        constexpr MetadataLayout kLayout = MetadataOf<Line>::kLayout;
        const bool plain = (args.modifiers & kImmediateModifiers) == 0;
        const int selector =
            plain ? static_cast<int>(tile.d % static_cast<unsigned>(kLayout.selectors())) : 0;
        const std::uint32_t metadata =
            load_metadata<Line>(args.metadata + tile.a * kIs.m * kStoredK, lane, selector);
        which = wgmma_sp_case(n, args.modifiers, selector);
        steps |= std::uint64_t{metadata} << 32;
      }
      // The tensor cores read shared memory through another proxy than the stores above went.
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      if constexpr (kRegistersA)
        Line::from_registers(which, d, a, b, scale_d, steps);
      else
        Line::from_shared(which, d, a, b, scale_d, steps);
      store_fragment<Largest::kRunC>(kMapC, static_cast<C*>(args.d) + tile.d * kIs.m * n, n, lane, values_c,
                                     d);
      __syncthreads();  // every warp is done with this tile's shared memory
    }
  }
}

template <typename Line>
KernelEntry wgmma_entry() {
  return {Line::kInstruction, 1,
          [](const KernelArgs& args, unsigned blocks) {
            if ((args.modifiers & kAFromRegisters) != 0)
              wgmma_kernel<Line, true><<<blocks, kWarpgroupLanes>>>(args);
            else
              wgmma_kernel<Line, false><<<blocks, kWarpgroupLanes>>>(args);
          },
          reinterpret_cast<const void*>(wgmma_kernel<Line, false>)};
}

}  // namespace mmaudit::device
