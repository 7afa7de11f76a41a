#pragma once
// Boxes of tensors, copied from global to shared memory by the copy engine. Source: PTX ISA 9.0,
// "cp.async.bulk.tensor" and "fence.proxy.tensormap". Addresses of shared memory are 32-bit ones.
#include <cstdint>

namespace mmaudit::device {

/// Whether the target being compiled is one that ".multicast::cluster" is meant for, as ptxas says: 90a and
/// the architecture-specific targets of compute capability 10 and 11.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200)
inline constexpr bool kTargetMulticasts = true;
#else
inline constexpr bool kTargetMulticasts = false;
#endif

/// The box whose first element has these coordinates, the fastest first; `barrier` counts the bytes. The
/// tensor map is a parameter of the kernel, or global memory that acquire_map() has seen.
template <int kRank>
__device__ __forceinline__ void copy_box(std::uint32_t to, const void* map, const int (&at)[kRank],
                                         std::uint32_t barrier) {
  static_assert(kRank >= 1 && kRank <= 3);
  if constexpr (kRank == 1)
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], "
        "[%3];" ::"r"(to),
        "l"(map), "r"(at[0]), "r"(barrier)
        : "memory");
  else if constexpr (kRank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(to),
        "l"(map), "r"(at[0]), "r"(at[1]), "r"(barrier)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
        "%4}], [%5];" ::"r"(to),
        "l"(map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(barrier)
        : "memory");
}

/// The same to each block of the cluster whose bit of `blocks` is set, at the same place of its shared
/// memory; the barrier at the same place as `barrier` counts the bytes there.
__device__ __forceinline__ void copy_box_to_cluster(std::uint32_t to, const void* map, const int (&at)[2],
                                                    std::uint32_t barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(at[0]), "r"(at[1]), "r"(barrier), "h"(blocks)
      : "memory");
}

/// Before a block's first copy by a tensor map in global memory that the host has written.
__device__ __forceinline__ void acquire_map(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}
__device__ __forceinline__ void prefetch_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

}  // namespace mmaudit::device
