#pragma once
// Copies of contiguous bytes by the copy engine. Source: PTX ISA 9.0, "cp.async.bulk". Addresses of shared
// memory are 32-bit ones.
#include <cstdint>

namespace mmaudit::device {

/// `bytes`, a multiple of 16, from global to shared memory, both aligned to 16; `barrier` counts them.
__device__ __forceinline__ void copy_bulk(std::uint32_t to, std::uint64_t from, std::uint32_t bytes,
                                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

}  // namespace mmaudit::device
