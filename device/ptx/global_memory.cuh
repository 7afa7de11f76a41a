#pragma once
// Loads and stores of global memory. Source: PTX ISA 9.0, "ld", "st", "Cache Operators". Volatile here and
// strong in PTX (relaxed): a timed load must neither move nor vanish nor be merged with one of the same
// address.
#include <cstdint>

#include "ptx/line.cuh"

namespace mmaudit::device {

/// The caches that a load may hit. A relaxed load of the block's scope may hit the first level, one of the
/// GPU's scope may not.
enum class Cached : std::uint8_t { all, second_level };

template <Cached kCached>
__device__ std::uint64_t load_address(std::uint64_t address);
template <Cached kCached>
__device__ void load_global(std::uint32_t (&r)[1], std::uint64_t address);
template <Cached kCached>
__device__ void load_global(std::uint32_t (&r)[4], std::uint64_t address);

#define MMAUDIT_GLOBAL_LOADS(CACHED, LOAD)                                                           \
  template <>                                                                                        \
  __device__ __forceinline__ std::uint64_t load_address<CACHED>(std::uint64_t address) {             \
    std::uint64_t word = 0;                                                                          \
    asm volatile(LOAD ".u64 %0, [%1];" : "=l"(word) : "l"(address) : "memory");                      \
    return word;                                                                                     \
  }                                                                                                  \
  template <>                                                                                        \
  __device__ __forceinline__ void load_global<CACHED>(std::uint32_t(&r)[1], std::uint64_t address) { \
    asm volatile(LOAD ".u32 %0, [%1];" : "=r"(r[0]) : "l"(address));                                 \
  }                                                                                                  \
  template <>                                                                                        \
  __device__ __forceinline__ void load_global<CACHED>(std::uint32_t(&r)[4], std::uint64_t address) { \
    asm volatile(LOAD ".v4.u32 {%0,%1,%2,%3}, [%4];" : MMAUDIT_READ_4("=r", r) : "l"(address));      \
  }

MMAUDIT_GLOBAL_LOADS(Cached::all, "ld.relaxed.cta.global")
MMAUDIT_GLOBAL_LOADS(Cached::second_level, "ld.relaxed.gpu.global")

__device__ __forceinline__ void store_global(std::uint64_t address, const std::uint32_t (&r)[1]) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(r[0]) : "memory");
}
__device__ __forceinline__ void store_global(std::uint64_t address, const std::uint32_t (&r)[4]) {
  asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(address), MMAUDIT_READ_4("r", r) : "memory");
}

}  // namespace mmaudit::device
