#pragma once
// tcgen05.mma, one CTA, A and B from shared memory, the accumulator and the scales in tensor memory. One
// thread issues it; completion is tcgen05.commit's. It exists for the targets 100a and 103a alone. Shape and
// formats are in the instruction descriptor (kernels/tcgen05_descriptor.hpp), so a kind is one line here.
//
// Around it a kernel needs, in this order: tcgen05.alloc of columns for D (and the scales); D, and the scales
// by tcgen05.cp, into tensor memory; A and B into shared memory behind fence.proxy.async; this;
// tcgen05.commit to an mbarrier and a wait on it; tcgen05.ld of D by one warpgroup; tcgen05.dealloc.
#include <cstdint>

#define MMAUDIT_TCGEN05_KINDS(X) X(f16) X(tf32) X(f8f6f4) X(i8)
#define MMAUDIT_TCGEN05_SCALED(X) X(mxf8f6f4, 1X) X(mxf4, 2X) X(mxf4nvf4, 2X) X(mxf4nvf4, 4X)

// D = A * B + (accumulate ? D : 0).
#define MMAUDIT_TCGEN05_LINE(KIND)                                                                      \
  __device__ __forceinline__ void tcgen05_mma_##KIND(std::uint32_t d, std::uint64_t a, std::uint64_t b, \
                                                     std::uint32_t instruction, bool accumulate) {      \
    asm volatile(                                                                                       \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"                                                     \
        "tcgen05.mma.cta_group::1.kind::" #KIND " [%0], %1, %2, %3, p;\n}" ::"r"(d),                    \
        "l"(a), "l"(b), "r"(instruction), "r"(static_cast<std::uint32_t>(accumulate))                   \
        : "memory");                                                                                    \
  }
// The same with the tensor-memory addresses of the scales.
#define MMAUDIT_TCGEN05_SCALED_LINE(KIND, VEC)                                                             \
  __device__ __forceinline__ void tcgen05_mma_##KIND##_##VEC(                                              \
      std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t instruction, std::uint32_t scale_a, \
      std::uint32_t scale_b, bool accumulate) {                                                            \
    asm volatile(                                                                                          \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"                                                        \
        "tcgen05.mma.cta_group::1.kind::" #KIND ".block_scale.scale_vec::" #VEC                            \
        " [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),                                                   \
        "l"(a), "l"(b), "r"(instruction), "r"(scale_a), "r"(scale_b),                                      \
        "r"(static_cast<std::uint32_t>(accumulate))                                                        \
        : "memory");                                                                                       \
  }

namespace mmaudit::device {

MMAUDIT_TCGEN05_KINDS(MMAUDIT_TCGEN05_LINE)
MMAUDIT_TCGEN05_SCALED(MMAUDIT_TCGEN05_SCALED_LINE)

}  // namespace mmaudit::device
