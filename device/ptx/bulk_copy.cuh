#pragma once
// Copies of contiguous bytes by the copy engine. Source: PTX ISA 9.0, "cp.async.bulk",
// "cp.reduce.async.bulk", "fence.proxy.async". Addresses of shared memory are 32-bit ones.
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

/// The same from shared to global memory, in the group that commit_stores() closes.
__device__ __forceinline__ void store_bulk(std::uint64_t to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
}
/// The same, each 32-bit word added to the word in global memory.
__device__ __forceinline__ void add_bulk(std::uint64_t to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),
               "r"(from), "r"(bytes)
               : "memory");
}
/// Makes what this thread wrote to shared memory visible to the copy engine.
__device__ __forceinline__ void show_to_engine() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until the sources of all but kPending groups of this thread have been read.
template <int kPending>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
/// Waits until all groups of this thread have been written.
__device__ __forceinline__ void wait_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

}  // namespace mmaudit::device
