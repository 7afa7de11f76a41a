#pragma once
// mma.sync: the text of an instruction apart from its registers. A family's file lists the lines; the
// register counts of a line follow from its fragments and pick one of the overloads below.
#include <cstdint>

#include "ptx/line.cuh"

// X for the list of a family: each line makes a struct.
#define MMAUDIT_MMA_LINE(M, N, K, D, A, B, C)                                                        \
  MMAUDIT_LINE_STRUCT(MMAUDIT_MMA_NAME(M, N, K, D, A, B, C), Op::mma, M, N, K, Format::D, Format::A, \
                      Format::B, Format::C)
// X for the list of a family: the name of that struct.
#define MMAUDIT_MMA_NAME(M, N, K, D, A, B, C) Mma_m##M##n##N##k##K##_##D##_##A##_##B##_##C

// D = A * B + D, with ND, NA and NB registers of class CLASS. "C" splices the text of the instruction in.
// Accumulators travel as untyped bits, so that no conversion can touch a NaN. Volatile: a timed instruction
// must not move or vanish.
#define MMAUDIT_MMA_REGISTERS(WORD, CLASS, ND, NA, NB, TEXT)                                            \
  template <typename Line>                                                                              \
  __device__ __forceinline__ void mma(WORD(&d)[ND], const WORD(&a)[NA], const WORD(&b)[NB]) {           \
    asm volatile(TEXT                                                                                   \
                 : MMAUDIT_READ_##ND("+" CLASS, d)                                                      \
                 : MMAUDIT_READ_##NA(CLASS, a), MMAUDIT_READ_##NB(CLASS, b), "C"(TextOf<Line>::kText)); \
  }

#ifdef __CUDACC__  // the lists above serve the host too
namespace mmaudit::device {

// clang-format off
//                     word           class d  a  b
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  2, 1, 1, "%4 {%0,%1}, {%2}, {%3}, {%0,%1};")
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  2, 2, 1, "%5 {%0,%1}, {%2,%3}, {%4}, {%0,%1};")
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  2, 4, 2, "%8 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};")
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  4, 2, 1, "%7 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};")
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  4, 4, 2,
    "%10 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};")
MMAUDIT_MMA_REGISTERS(std::uint64_t, "l",  2, 1, 1, "%4 {%0,%1}, {%2}, {%3}, {%0,%1};")
MMAUDIT_MMA_REGISTERS(std::uint64_t, "l",  4, 2, 1, "%7 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};")
MMAUDIT_MMA_REGISTERS(std::uint64_t, "l",  4, 4, 2,
    "%10 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};")
MMAUDIT_MMA_REGISTERS(std::uint64_t, "l",  4, 8, 4,
    "%16 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};")
// m8n8k4 of f16, per octet.
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  4, 2, 2,
    "%8 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3};")
MMAUDIT_MMA_REGISTERS(std::uint32_t, "r",  8, 2, 2,
    "%12 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};")
// clang-format on

/// D = A * B + C where C is narrower than D.
template <typename Line>
__device__ __forceinline__ void mma(std::uint32_t (&d)[8], const std::uint32_t (&a)[2],
                                    const std::uint32_t (&b)[2], const std::uint32_t (&c)[4]) {
  asm volatile("%16 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%12,%13,%14,%15};"
               : MMAUDIT_READ_8("=r", d)
               : MMAUDIT_READ_2("r", a), MMAUDIT_READ_2("r", b), MMAUDIT_READ_4("r", c),
                 "C"(TextOf<Line>::kText));
}

}  // namespace mmaudit::device
#endif
