#pragma once
// Loads and stores between shared memory and the registers of a warp. Addresses are 32-bit shared ones.
// Volatile: a timed instruction must not move or vanish.
#include <cstdint>

namespace mmaudit::device {

#define MMAUDIT_MATRIX_LOAD(TRANS, TEXT)                                                           \
  template <bool kTrans>                                                                           \
  requires(kTrans == TRANS) __device__ __forceinline__ void load_matrices(std::uint32_t(&r)[1],    \
                                                                          std::uint32_t address) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" TEXT ".shared.b16 {%0}, [%1];"                    \
                 : "=r"(r[0])                                                                      \
                 : "r"(address)                                                                    \
                 : "memory");                                                                      \
  }                                                                                                \
  template <bool kTrans>                                                                           \
  requires(kTrans == TRANS) __device__ __forceinline__ void load_matrices(std::uint32_t(&r)[2],    \
                                                                          std::uint32_t address) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TEXT ".shared.b16 {%0,%1}, [%2];"                 \
                 : "=r"(r[0]), "=r"(r[1])                                                          \
                 : "r"(address)                                                                    \
                 : "memory");                                                                      \
  }                                                                                                \
  template <bool kTrans>                                                                           \
  requires(kTrans == TRANS) __device__ __forceinline__ void load_matrices(std::uint32_t(&r)[4],    \
                                                                          std::uint32_t address) { \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TEXT ".shared.b16 {%0,%1,%2,%3}, [%4];"           \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                  \
                 : "r"(address)                                                                    \
                 : "memory");                                                                      \
  }

MMAUDIT_MATRIX_LOAD(false, "")
MMAUDIT_MATRIX_LOAD(true, ".trans")

#define MMAUDIT_MATRIX_STORE(TRANS, TEXT)                                                                 \
  template <bool kTrans>                                                                                  \
  requires(kTrans == TRANS) __device__ __forceinline__ void store_matrices(std::uint32_t address,         \
                                                                           const std::uint32_t(&r)[1]) {  \
    asm volatile("stmatrix.sync.aligned.m8n8.x1" TEXT ".shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0]) \
                 : "memory");                                                                             \
  }                                                                                                       \
  template <bool kTrans>                                                                                  \
  requires(kTrans == TRANS) __device__ __forceinline__ void store_matrices(std::uint32_t address,         \
                                                                           const std::uint32_t(&r)[2]) {  \
    asm volatile("stmatrix.sync.aligned.m8n8.x2" TEXT ".shared.b16 [%0], {%1,%2};" ::"r"(address),        \
                 "r"(r[0]), "r"(r[1])                                                                     \
                 : "memory");                                                                             \
  }                                                                                                       \
  template <bool kTrans>                                                                                  \
  requires(kTrans == TRANS) __device__ __forceinline__ void store_matrices(std::uint32_t address,         \
                                                                           const std::uint32_t(&r)[4]) {  \
    asm volatile("stmatrix.sync.aligned.m8n8.x4" TEXT ".shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address),  \
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])                                               \
                 : "memory");                                                                             \
  }

MMAUDIT_MATRIX_STORE(false, "")
MMAUDIT_MATRIX_STORE(true, ".trans")

/// 4, 8 and 16 bytes per lane.
__device__ __forceinline__ void load_words(std::uint32_t (&r)[1], std::uint32_t address) {
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_words(std::uint32_t (&r)[2], std::uint32_t address) {
  asm volatile("{.reg .b64 both; ld.shared.u64 both, [%2]; mov.b64 {%0,%1}, both;}"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_words(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

}  // namespace mmaudit::device
