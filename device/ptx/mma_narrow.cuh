#pragma once
// mma.sync with a kind: f8f6f4, and the block-scaled mxf8f6f4, mxf4 and mxf4nvf4. They exist for sm_120a,
// sm_121a and sm_120f alone. Elements of 8, 6 and 4 bits travel one per byte in the first two kinds
// (register_shift() says where in it), two elements of 4 bits per byte in the other two.
#include "ptx/mma.cuh"

// clang-format off
#define MMAUDIT_EVERY_MIX(X, D) \
  X(D, e5m2, e5m2) X(D, e5m2, e4m3) X(D, e5m2, e3m2) X(D, e5m2, e2m3) X(D, e5m2, e2m1) \
  X(D, e4m3, e5m2) X(D, e4m3, e4m3) X(D, e4m3, e3m2) X(D, e4m3, e2m3) X(D, e4m3, e2m1) \
  X(D, e3m2, e5m2) X(D, e3m2, e4m3) X(D, e3m2, e3m2) X(D, e3m2, e2m3) X(D, e3m2, e2m1) \
  X(D, e2m3, e5m2) X(D, e2m3, e4m3) X(D, e2m3, e3m2) X(D, e2m3, e2m3) X(D, e2m3, e2m1) \
  X(D, e2m1, e5m2) X(D, e2m1, e4m3) X(D, e2m1, e3m2) X(D, e2m1, e2m3) X(D, e2m1, e2m1)

// One line per instruction: X(D, A, B); C is of D's format.
#define MMAUDIT_MMA_F8F6F4(X) MMAUDIT_EVERY_MIX(X, f32) MMAUDIT_EVERY_MIX(X, f16)
// The same, block-scaled.
#define MMAUDIT_MMA_MX8(X) MMAUDIT_EVERY_MIX(X, f32)
// X(k, kind, scale_vec, A, B, scale format, block).
#define MMAUDIT_MMA_SCALED_E2M1(X) \
  X(64, mxf4, 2X, e2m1, e2m1, ue8m0, 32) \
  X(64, mxf4nvf4, 2X, e2m1, e2m1, ue8m0, 32) \
  X(64, mxf4nvf4, 4X, e2m1, e2m1, ue4m3, 16)
// clang-format on

// The struct NAME of an instruction with a kind: OP of m16n8kK.
#define MMAUDIT_F8F6F4_STRUCT(NAME, OP, K, D, A, B)                                              \
  MMAUDIT_LINE_STRUCT(NAME, Op::OP, 16, 8, K, Format::D, Format::A, Format::B, Format::D, false, \
                      Multiply::product, MmaKind::f8f6f4)
#define MMAUDIT_SCALED_STRUCT(NAME, OP, K, KIND, A, B, SCALE, BLOCK)                                 \
  MMAUDIT_LINE_STRUCT(NAME, Op::OP, 16, 8, K, Format::f32, Format::A, Format::B, Format::f32, false, \
                      Multiply::product, MmaKind::KIND, Format::SCALE, BLOCK)

// X for the lists: each line makes a struct.
#define MMAUDIT_F8F6F4_NAME(D, A, B) MmaF8f6f4_##D##_##A##_##B
#define MMAUDIT_F8F6F4_LINE(D, A, B) MMAUDIT_F8F6F4_STRUCT(MMAUDIT_F8F6F4_NAME(D, A, B), mma, 32, D, A, B)
#define MMAUDIT_SCALED_NAME(K, KIND, VEC, A, B, SCALE, BLOCK) MmaScaled_##KIND##_##VEC##_##A##_##B##_##SCALE
#define MMAUDIT_SCALED_LINE(K, KIND, VEC, A, B, SCALE, BLOCK)                                             \
  MMAUDIT_SCALED_STRUCT(MMAUDIT_SCALED_NAME(K, KIND, VEC, A, B, SCALE, BLOCK), mma, K, KIND, A, B, SCALE, \
                        BLOCK)
#define MMAUDIT_MX8_LINE(D, A, B) MMAUDIT_SCALED_LINE(32, mxf8f6f4, 1X, A, B, ue8m0, 32)
#define MMAUDIT_MX8_NAME(D, A, B) MMAUDIT_SCALED_NAME(32, mxf8f6f4, 1X, A, B, ue8m0, 32)

#ifdef __CUDACC__  // the lists above serve the host too
namespace mmaudit::device {

/// D = A * B + D with scales: registers of scale_fragment.hpp, which says what the selectors mean. Source:
/// PTX ISA 9.0, "Block Scaling for mma.sync".
template <typename Line, int kByteA, int kThreadA, int kByteB, int kThreadB>
__device__ __forceinline__ void mma_scaled(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                           const std::uint32_t (&b)[2], std::uint32_t scale_a,
                                           std::uint32_t scale_b) {
  asm volatile(
      "%12 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, {%10}, {%13, %14}, {%11}, {%15, %16};"
      : MMAUDIT_READ_4("+r", d)
      : MMAUDIT_READ_4("r", a), MMAUDIT_READ_2("r", b), "r"(scale_a), "r"(scale_b), "C"(TextOf<Line>::kText),
        "n"(kByteA), "n"(kThreadA), "n"(kByteB), "n"(kThreadB));
}

}  // namespace mmaudit::device
#endif
