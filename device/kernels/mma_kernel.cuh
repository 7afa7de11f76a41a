#pragma once
// mma.sync and mma.sp on a batch of tiles: one warp per tile, the grid strides over the batch. The selectors
// of sparse and of block-scaled instructions change from tile to tile, so that every value is used.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "kernels/fragments.cuh"
#include "kernels/metadata.cuh"
#include "ptx/mma_sp_narrow.cuh"

namespace mmaudit::device {

inline constexpr int kMmaWarps = 4;

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

/// Runs once(selectors of A and of B) with the selection `number`: the selectors are immediates, so there is
/// an instruction for each.
template <int kBlocks, int kNumber = 0, typename Once>
__device__ __forceinline__ void with_scale_selection(int number, const Once& once) {
  if (number == kNumber) {
    once.template operator()<kNumber>();
  } else if constexpr (kNumber + 1 < scale_selections(kBlocks)) {
    with_scale_selection<kBlocks, kNumber + 1>(number, once);
  }
}

/// `metadata` is read where the instruction is sparse.
template <typename Line, typename B>
__device__ __forceinline__ void mma_scaled_with(int number, std::uint32_t (&d)[4],
                                                const std::uint32_t (&a)[4], const B& b,
                                                std::uint32_t metadata, std::uint32_t scale_a,
                                                std::uint32_t scale_b) {
  constexpr int kBlocks = Fragments<Line>::kBlocks;
  with_scale_selection<kBlocks>(number, [&]<int kNumber>() {
    constexpr ScaleSelector kA = scale_selection(ScaleOwner::a, kBlocks, kNumber),
                            kB = scale_selection(ScaleOwner::b, kBlocks, kNumber);
    if constexpr (Fragments<Line>::kSparse)
      mma_sp_scaled<Line, kA.byte, kA.thread, kB.byte, kB.thread>(d, a, b, metadata, scale_a, scale_b);
    else
      mma_scaled<Line, kA.byte, kA.thread, kB.byte, kB.thread>(d, a, b, scale_a, scale_b);
  });
}

template <typename Line>
__global__ void __launch_bounds__(kMmaWarps* kWarpLanes) mma_kernel(const KernelArgs args) {
  constexpr Instruction kIs = Line::kInstruction;
  if constexpr (!kTargetHas<Line>) {
    __trap();
  } else {
    using F = Fragments<Line>;
    constexpr FragmentMap kMapA = F::kMapA, kMapB = F::kMapB, kMapC = F::kMapC, kMapD = F::kMapD;
    using A = ElementOf<kIs.a>;
    using B = ElementOf<kIs.b>;
    using C = ElementOf<kIs.c>;
    using D = ElementOf<kIs.d>;
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    for (unsigned i = warp; i < args.tiles; i += gridDim.x * kMmaWarps) {
      const TileIndices tile = tile_indices(args, args.tile_index != nullptr ? args.tile_index[i] : i);
      RegisterOf<kIs.a> a[F::kRegistersA];
      RegisterOf<kIs.b> b[F::kRegistersB];
      RegisterOf<kIs.c> c[F::kRegistersC];
      RegisterOf<kIs.d> wide[kIs.c == kIs.d ? 1 : F::kRegistersD];
      load_fragment<F::kPackingA, F::kRunA>(kMapA,
                                            static_cast<const A*>(args.a) + tile.a * kIs.m * F::kStoredK,
                                            F::kStoredK, lane, kMapA.values, a);
      load_fragment<F::kPackingB, F::kRunB>(kMapB, static_cast<const B*>(args.b) + tile.b * kIs.k * kIs.n,
                                            kIs.n, lane, kMapB.values, b);
      load_fragment<F::kPackingC, F::kRunC>(kMapC, static_cast<const C*>(args.c) + tile.c * kIs.m * kIs.n,
                                            kIs.n, lane, args.c != nullptr ? kMapC.values : 0, c);
      std::uint32_t metadata = 0;
      int selector = 0;
      if constexpr (F::kSparse) {
        constexpr MetadataLayout kLayout = MetadataOf<Line>::kLayout;
        selector = static_cast<int>(tile.d % static_cast<unsigned>(kLayout.selectors()));
        metadata = load_metadata<Line>(args.metadata + tile.a * kIs.m * F::kStoredK, lane, selector);
      }
      if constexpr (F::kBlocks != 0) {
        constexpr std::uint8_t kOne = F::kScaleOfOne;
        constexpr int kBlocks = F::kBlocks;
        const int number = static_cast<int>(tile.d % static_cast<unsigned>(scale_selections(kBlocks)));
        const auto load = [&](ScaleOwner owner, const std::uint8_t* scales, std::size_t first) {
          return load_scales(owner, kBlocks, kIs.n, number, scales == nullptr ? nullptr : scales + first,
                             kOne, lane);
        };
        const std::uint32_t scale_a = load(ScaleOwner::a, args.scale_a, tile.a * kIs.m * kBlocks);
        const std::uint32_t scale_b = load(ScaleOwner::b, args.scale_b, tile.b * kBlocks * kIs.n);
#pragma unroll 1
        for (int r = 0; r < args.repetitions; ++r)
          mma_scaled_with<Line>(number, c, a, b, metadata, scale_a, scale_b);
      } else if constexpr (F::kSparse) {
#pragma unroll 1
        for (int r = 0; r < args.repetitions; ++r) mma_sp_with<Line>(selector, c, a, b, metadata);
      } else {
        // Where C is not of D's format there is nothing to go on from: every repetition starts from C.
#pragma unroll 1
        for (int r = 0; r < args.repetitions; ++r) {
          if constexpr (kIs.c == kIs.d)
            mma<Line>(c, a, b);
          else
            mma<Line>(wide, a, b, c);
        }
      }
      D* const out = static_cast<D*>(args.d) + tile.d * kIs.m * kIs.n;
      if constexpr (kIs.c == kIs.d)
        store_fragment<F::kRunD>(kMapD, out, kIs.n, lane, kMapD.values, c);
      else
        store_fragment<F::kRunD>(kMapD, out, kIs.n, lane, kMapD.values, wide);
    }
  }
}

template <typename Line>
KernelEntry mma_entry() {
  return {Line::kInstruction, kMmaWarps,
          [](const KernelArgs& args, unsigned blocks) {
            mma_kernel<Line><<<blocks, kMmaWarps * kWarpLanes>>>(args);
          },
          reinterpret_cast<const void*>(mma_kernel<Line>)};
}

}  // namespace mmaudit::device
