#pragma once
// Loads and stores between shared memory and the registers of a warp. Addresses are 32-bit shared ones.
// Volatile: a timed instruction must not move or vanish.
#include <cstdint>

#include "ptx/line.cuh"

namespace mmaudit::device {

// ldmatrix and stmatrix of COUNT 8 x 8 matrices, whose words are the operands WORDS of a load, before
// the address, and STORED of a store, after it.
#define MMAUDIT_MATRIX_LOAD(COUNT, WORDS, TRANS)                                                     \
  asm volatile("ldmatrix.sync.aligned.m8n8.x" #COUNT TRANS ".shared.b16 {" WORDS "}, [%" #COUNT "];" \
               : MMAUDIT_READ_##COUNT("=r", r)                                                       \
               : "r"(address)                                                                        \
               : "memory")
#define MMAUDIT_MATRICES(COUNT, WORDS, STORED)                                                            \
  template <bool kTrans>                                                                                  \
  __device__ __forceinline__ void load_matrices(std::uint32_t(&r)[COUNT], std::uint32_t address) {        \
    if constexpr (kTrans)                                                                                 \
      MMAUDIT_MATRIX_LOAD(COUNT, WORDS, ".trans");                                                        \
    else                                                                                                  \
      MMAUDIT_MATRIX_LOAD(COUNT, WORDS, "");                                                              \
  }                                                                                                       \
  __device__ __forceinline__ void store_matrices(std::uint32_t address, const std::uint32_t(&r)[COUNT]) { \
    asm volatile("stmatrix.sync.aligned.m8n8.x" #COUNT ".shared.b16 [%0], {" STORED "};"                  \
                 :                                                                                        \
                 : "r"(address), MMAUDIT_READ_##COUNT("r", r)                                             \
                 : "memory");                                                                             \
  }

MMAUDIT_MATRICES(1, "%0", "%1")
MMAUDIT_MATRICES(2, "%0,%1", "%1,%2")
MMAUDIT_MATRICES(4, "%0,%1,%2,%3", "%1,%2,%3,%4")

// 4, 8 and 16 bytes per lane.
#define MMAUDIT_WORD_LOADS(NAME, LOAD)                                                                     \
  __device__ __forceinline__ void NAME(std::uint32_t(&r)[1], std::uint32_t address) {                      \
    asm volatile(LOAD ".u32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory");                            \
  }                                                                                                        \
  __device__ __forceinline__ void NAME(std::uint32_t(&r)[2], std::uint32_t address) {                      \
    asm volatile(LOAD ".v2.u32 {%0,%1}, [%2];" : MMAUDIT_READ_2("=r", r) : "r"(address) : "memory");       \
  }                                                                                                        \
  __device__ __forceinline__ void NAME(std::uint32_t(&r)[4], std::uint32_t address) {                      \
    asm volatile(LOAD ".v4.u32 {%0,%1,%2,%3}, [%4];" : MMAUDIT_READ_4("=r", r) : "r"(address) : "memory"); \
  }

MMAUDIT_WORD_LOADS(load_words, "ld.shared")
/// ptxas loads no word less because the kernel ignores it, and none again from registers: a timed load.
MMAUDIT_WORD_LOADS(load_all_words, "ld.volatile.shared")

}  // namespace mmaudit::device
