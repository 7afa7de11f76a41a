#pragma once
// mma.sp with a kind, on sm_120a, sm_121a and sm_120f: the lines of mma_narrow.cuh over twice the depth, half
// of which A stores, with ordered metadata.
#include "ptx/mma_narrow.cuh"
#include "ptx/mma_sp.cuh"

// X(k, kind, scale_vec, A, B, scale format, elements of k per scale).
#define MMAUDIT_MMA_SP_SCALED_E2M1(X)         \
  X(128, mxf4, 2X, e2m1, e2m1, ue8m0, 64)     \
  X(128, mxf4nvf4, 2X, e2m1, e2m1, ue8m0, 64) \
  X(128, mxf4nvf4, 4X, e2m1, e2m1, ue4m3, 32)

// X for MMAUDIT_MMA_F8F6F4, MMAUDIT_MMA_MX8 and the list above: each line makes a struct.
#define MMAUDIT_SP_F8F6F4_NAME(D, A, B) MmaSpF8f6f4_##D##_##A##_##B
#define MMAUDIT_SP_F8F6F4_LINE(D, A, B) \
  MMAUDIT_F8F6F4_STRUCT(MMAUDIT_SP_F8F6F4_NAME(D, A, B), mma_sp, 64, D, A, B)
#define MMAUDIT_SP_SCALED_NAME(K, KIND, VEC, A, B, SCALE, BLOCK) \
  MmaSpScaled_##KIND##_##VEC##_##A##_##B##_##SCALE
#define MMAUDIT_SP_SCALED_LINE(K, KIND, VEC, A, B, SCALE, BLOCK)                                         \
  MMAUDIT_SCALED_STRUCT(MMAUDIT_SP_SCALED_NAME(K, KIND, VEC, A, B, SCALE, BLOCK), mma_sp, K, KIND, A, B, \
                        SCALE, BLOCK)
#define MMAUDIT_SP_MX8_LINE(D, A, B) MMAUDIT_SP_SCALED_LINE(64, mxf8f6f4, 1X, A, B, ue8m0, 64)
#define MMAUDIT_SP_MX8_NAME(D, A, B) MMAUDIT_SP_SCALED_NAME(64, mxf8f6f4, 1X, A, B, ue8m0, 64)

#ifdef __CUDACC__  // the lists above serve the host too
namespace mmaudit::device {

/// As mma_scaled(), with metadata that all lanes hold: the sparsity selector is 0. Source: PTX ISA 9.0,
/// "mma.sp".
template <typename Line, int kByteA, int kThreadA, int kByteB, int kThreadB>
__device__ __forceinline__ void mma_sp_scaled(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[4], std::uint32_t metadata,
                                              std::uint32_t scale_a, std::uint32_t scale_b) {
  asm volatile(
      "%15 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0, {%13}, {%16, %17}, {%14}, "
      "{%18, %19};"
      : MMAUDIT_READ_4("+r", d)
      : MMAUDIT_READ_4("r", a), MMAUDIT_READ_4("r", b), "r"(metadata), "r"(scale_a), "r"(scale_b),
        "C"(TextOf<Line>::kText), "n"(kByteA), "n"(kThreadA), "n"(kByteB), "n"(kThreadB));
}

}  // namespace mmaudit::device
#endif
