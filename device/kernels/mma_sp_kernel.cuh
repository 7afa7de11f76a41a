#pragma once
// mma.sp on a batch of tiles: one warp per tile, the grid strides over the batch. The selector
// changes from tile to tile, so that every value is used.
#include <cstdint>

#include "kernels/metadata.cuh"
#include "kernels/mma_kernel.cuh"
#include "ptx/mma_sp.cuh"

namespace mmaudit::device {

template <typename Line, int kSelector = 0, typename D, typename A, typename B>
__device__ __forceinline__ void mma_sp_with(int selector, D& d, const A& a, const B& b,
                                            std::uint32_t metadata) {
  constexpr MetadataLayout kLayout = MetadataOf<Line>::kLayout;
  if (selector == kSelector) {
    mma_sp<Line, kSelector>(d, a, b, metadata);
  } else if constexpr (kSelector + 1 < kLayout.selectors()) {
    mma_sp_with<Line, kSelector + 1>(selector, d, a, b, metadata);
  }
}

template <typename Line>
__global__ void __launch_bounds__(kMmaWarps* kWarpLanes) mma_sp_kernel(const KernelArgs args) {
  constexpr Instruction kIs = Line::kInstruction;
  if constexpr (kTargetCapability < kIs.min_compute_capability) {
    __trap();
  } else {
    using F = Fragments<Line>;
    constexpr FragmentMap kMapA = F::kMapA, kMapB = F::kMapB, kMapC = F::kMapC;
    constexpr MetadataLayout kLayout = MetadataOf<Line>::kLayout;
    constexpr int kStored = MetadataOf<Line>::kStored;
    using A = ElementOf<kIs.a>;
    using B = ElementOf<kIs.b>;
    using C = ElementOf<kIs.c>;
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    for (unsigned i = warp; i < args.tiles; i += gridDim.x * kMmaWarps) {
      const TileIndices tile = tile_indices(args, args.tile_index != nullptr ? args.tile_index[i] : i);
      const int selector = static_cast<int>(tile.d % static_cast<unsigned>(kLayout.selectors()));
      std::uint32_t a[F::kRegistersA];
      std::uint32_t b[F::kRegistersB];
      std::uint32_t d[F::kRegistersC];
      load_fragment<kRegisterBits<kIs.a>, F::kRunA>(
          kMapA, static_cast<const A*>(args.a) + tile.a * kIs.m * kStored, kStored, lane, kMapA.values, a);
      load_fragment<kRegisterBits<kIs.b>, F::kRunB>(
          kMapB, static_cast<const B*>(args.b) + tile.b * kIs.k * kIs.n, kIs.n, lane, kMapB.values, b);
      load_fragment<kRegisterBits<kIs.c>, F::kRunC>(kMapC,
                                                    static_cast<const C*>(args.c) + tile.c * kIs.m * kIs.n,
                                                    kIs.n, lane, args.c != nullptr ? kMapC.values : 0, d);
      const std::uint32_t metadata =
          load_metadata<Line>(args.metadata + tile.a * kIs.m * kStored, lane, selector);
#pragma unroll 1
      for (int r = 0; r < args.repetitions; ++r) mma_sp_with<Line>(selector, d, a, b, metadata);
      store_fragment<F::kRunC>(kMapC, static_cast<C*>(args.d) + tile.d * kIs.m * kIs.n, kIs.n, lane,
                               kMapC.values, d);
    }
  }
}

template <typename Line>
void launch_mma_sp(const KernelArgs& args, unsigned blocks) {
  mma_sp_kernel<Line><<<blocks, kMmaWarps * kWarpLanes>>>(args);
}

template <typename Line>
KernelEntry mma_sp_entry() {
  return {Line::kInstruction, kMmaWarps, launch_mma_sp<Line>,
          reinterpret_cast<const void*>(mma_sp_kernel<Line>)};
}

}  // namespace mmaudit::device
