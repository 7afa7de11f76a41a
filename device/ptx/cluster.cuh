#pragma once
// Blocks of a cluster and loads of one another's shared memory. Source: PTX ISA 9.0, "mapa", "ld",
// "mbarrier.arrive", "barrier.cluster". Addresses are 32-bit ones of shared::cluster.
#include <cstdint>

#include "ptx/line.cuh"

namespace mmaudit::device {

__device__ __forceinline__ int block_rank() {
  int rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ int cluster_blocks() {
  int blocks = 0;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}
/// The address in the block of that rank which corresponds to one of the own block.
__device__ __forceinline__ std::uint32_t address_in(std::uint32_t own, int rank) {
  std::uint32_t there = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
  return there;
}
/// Every thread of every block of the cluster calls this.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
/// Arrives at the barrier of any block of the cluster, an address of shared::cluster. Orders nothing: a
/// release would wait for every access of the thread before it, and so would fence_cluster().
__device__ __forceinline__ void arrive_in_cluster(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// What this thread read and wrote before comes before what it does next, for every thread of the cluster.
__device__ __forceinline__ void fence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
__device__ __forceinline__ void load_cluster(std::uint32_t& r, std::uint32_t address) {
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(r) : "r"(address) : "memory");
}
/// Volatile, so that the same word is loaded again.
__device__ __forceinline__ void load_cluster_words(std::uint32_t (&r)[1], std::uint32_t address) {
  asm volatile("ld.volatile.shared::cluster.u32 %0, [%1];" : "=r"(r[0]) : "r"(address));
}
__device__ __forceinline__ void load_cluster_words(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ld.volatile.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
               : MMAUDIT_READ_4("=r", r)
               : "r"(address));
}

/// Adds to a word of the own block; to a word of any block of the cluster.
__device__ __forceinline__ void add_shared(std::uint32_t address, std::uint32_t value) {
  asm volatile("red.relaxed.cta.shared::cta.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ __forceinline__ void add_cluster(std::uint32_t address, std::uint32_t value) {
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

}  // namespace mmaudit::device
