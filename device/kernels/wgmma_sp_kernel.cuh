#pragma once
// wgmma.mma_async.sp on a batch of tiles, as wgmma_kernel.cuh. A is half as deep as B, whose lines in shared
// memory have twice as many core matrices along k. Where an instruction without modifiers has two values
// of the selector, it changes from tile to tile.
#include <cstdint>

#include "kernels/metadata.cuh"
#include "kernels/wgmma_kernel.cuh"
#include "ptx/wgmma_sp.cuh"

namespace mmaudit::device {

template <typename Line, bool kRegistersA>
__global__ void __launch_bounds__(kWarpgroupLanes) wgmma_sp_kernel(const KernelArgs args) {
  if constexpr (!kTargetHasWgmma) {
    __trap();
  } else {
    constexpr Instruction kIs = Line::kInstruction;
    constexpr FragmentMap kMapA = AtLargestN<Line>::kMapA, kMapC = AtLargestN<Line>::kMapC;
    constexpr MetadataLayout kLayout = MetadataOf<Line>::kLayout;
    constexpr int kStored = MetadataOf<Line>::kStored;
    using A = ElementOf<kIs.a>;
    using B = ElementOf<kIs.b>;
    using C = ElementOf<kIs.c>;
    constexpr int kCoresA = kStored * static_cast<int>(sizeof(A)) / kLineBytes;
    constexpr int kCoresB = kIs.k * static_cast<int>(sizeof(B)) / kLineBytes;
    static_assert(kCoresA == 2 && kCoresB == 4);
    __shared__ alignas(kCoreBytes) unsigned char shared_a[kIs.m * kStored * sizeof(A)];
    extern __shared__ __align__(kCoreBytes) unsigned char shared_b[];

    const int lane = static_cast<int>(threadIdx.x), n = args.n;
    const int values_c = kIs.m * n / kWarpgroupLanes;
    const bool transpose_a = (args.modifiers & kTransposeA) != 0,
               transpose_b = (args.modifiers & kTransposeB) != 0;
    const int scale_d = (args.modifiers & kScaleDZero) == 0 ? 1 : 0;
    const bool plain = (args.modifiers & kImmediateModifiers) == 0;
    for (unsigned i = blockIdx.x; i < args.tiles; i += gridDim.x) {
      const TileIndices tile = tile_indices(args, args.tile_index != nullptr ? args.tile_index[i] : i);
      const int selector = plain ? static_cast<int>(tile.d % static_cast<unsigned>(kLayout.selectors())) : 0;
      const A* tile_a = static_cast<const A*>(args.a) + tile.a * kIs.m * kStored;
      std::uint32_t d[Line::kRegisters];
      load_fragment<kRegisterBits<kIs.c>, AtLargestN<Line>::kRunC>(
          kMapC, static_cast<const C*>(args.c) + tile.c * kIs.m * n, n, lane,
          args.c != nullptr ? values_c : 0, d);
      fill_shared(shared_b, static_cast<const B*>(args.b) + tile.b * kIs.k * n, kIs.k, n, true, transpose_b,
                  kCoresB);
      WgmmaA a;
      if constexpr (kRegistersA) {
        std::uint32_t registers[4];
        load_fragment<kRegisterBits<kIs.a>, AtLargestN<Line>::kRunA>(kMapA, tile_a, kStored, lane,
                                                                     kMapA.values, registers);
        a.low = registers[0] | std::uint64_t{registers[1]} << 32;
        a.high = registers[2] | std::uint64_t{registers[3]} << 32;
      } else {
        fill_shared(shared_a, tile_a, kIs.m, kStored, false, transpose_a, kCoresA);
        a.low = descriptor_of(shared_a, transpose_a && args.swap_offsets, kCoresA);
      }
      const std::uint64_t b = descriptor_of(shared_b, transpose_b && args.swap_offsets, kCoresB);
      const std::uint32_t metadata =
          load_metadata<Line>(args.metadata + tile.a * kIs.m * kStored, lane, selector);
      const std::uint64_t repetitions_and_metadata =
          static_cast<std::uint32_t>(args.repetitions) | std::uint64_t{metadata} << 32;
      // The tensor cores read shared memory through another proxy than the stores above went.
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      const int which = wgmma_sp_case(n, args.modifiers, selector);
      if constexpr (kRegistersA) {
        Line::from_registers(which, d, a, b, scale_d, repetitions_and_metadata);
      } else {
        Line::from_shared(which, d, a, b, scale_d, repetitions_and_metadata);
      }
      store_fragment<AtLargestN<Line>::kRunC>(kMapC, static_cast<C*>(args.d) + tile.d * kIs.m * n, n, lane,
                                              values_c, d);
      __syncthreads();  // every warp is done with this tile's shared memory
    }
  }
}

template <typename Line>
void launch_wgmma_sp(const KernelArgs& args, unsigned blocks) {
  // 64 bytes of k a column of B.
  const auto shared = static_cast<std::size_t>(args.n) * 4 * kLineBytes;
  if ((args.modifiers & kAFromRegisters) != 0)
    wgmma_sp_kernel<Line, true><<<blocks, kWarpgroupLanes, shared>>>(args);
  else
    wgmma_sp_kernel<Line, false><<<blocks, kWarpgroupLanes, shared>>>(args);
}

template <typename Line>
KernelEntry wgmma_sp_entry() {
  return {Line::kInstruction, 1, launch_wgmma_sp<Line>,
          reinterpret_cast<const void*>(wgmma_sp_kernel<Line, false>)};
}

}  // namespace mmaudit::device
