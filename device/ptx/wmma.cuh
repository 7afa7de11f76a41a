#pragma once
// wmma: load, multiply, store. The instruction's text comes in three pieces, so that layouts need no lines of
// their own; the register counts of a line pick one of the overloads below. Which element a register holds is
// unspecified: nothing here knows it. Source: PTX ISA 9.0, "wmma.load", "wmma.mma", "wmma.store".
#include <cstdint>

#include "ptx/line.cuh"

// The text of one operand's load or store around its layout.
#define MMAUDIT_WMMA_OPERAND(NAME, VERB, SHAPE, TYPE)                \
  struct NAME {                                                      \
    static constexpr char kBefore[] = "wmma." VERB ".sync.aligned."; \
    static constexpr char kAfter[] = "." SHAPE ".shared." TYPE;      \
  };

// X for the list of a family: each line makes a struct. TYPES and OPERATION are the ends of the text of
// wmma.mma.
#define MMAUDIT_WMMA_STRUCT(NAME, M, N, K, D, A, C, TYPES, OPERATION, ...)                         \
  struct NAME {                                                                                    \
    static constexpr Instruction kInstruction = listed_instruction(                                \
        Op::wmma, M, N, K, Format::D, Format::A, Format::A, Format::C __VA_OPT__(, ) __VA_ARGS__); \
    static constexpr char kBefore[] = "wmma.mma" OPERATION ".sync.aligned.";                       \
    static constexpr char kAfter[] = ".m" #M "n" #N "k" #K TYPES;                                  \
    MMAUDIT_WMMA_OPERAND(LoadA, "load.a", "m" #M "n" #N "k" #K, #A)                                \
    MMAUDIT_WMMA_OPERAND(LoadB, "load.b", "m" #M "n" #N "k" #K, #A)                                \
    MMAUDIT_WMMA_OPERAND(LoadC, "load.c", "m" #M "n" #N "k" #K, #C)                                \
    MMAUDIT_WMMA_OPERAND(StoreD, "store.d", "m" #M "n" #N "k" #K, #D)                              \
  };

#define MMAUDIT_WMMA_HALF_NAME(M, N, K, D, C) Wmma_m##M##n##N##k##K##_##D##_f16_##C
#define MMAUDIT_WMMA_HALF_LINE(M, N, K, D, C) \
  MMAUDIT_WMMA_STRUCT(MMAUDIT_WMMA_HALF_NAME(M, N, K, D, C), M, N, K, D, f16, C, "." #D "." #C, "")
#define MMAUDIT_WMMA_NAME(M, N, K, D, A) Wmma_m##M##n##N##k##K##_##D##_##A
#define MMAUDIT_WMMA_LINE(M, N, K, D, A) \
  MMAUDIT_WMMA_STRUCT(MMAUDIT_WMMA_NAME(M, N, K, D, A), M, N, K, D, A, D, "." #D "." #A "." #A "." #D, "")
#define MMAUDIT_WMMA_INT_NAME(M, N, K, Q, A) Wmma_m##M##n##N##k##K##_##Q##_##A
#define MMAUDIT_WMMA_INT_LINE(M, N, K, Q, A)                                      \
  MMAUDIT_WMMA_STRUCT(MMAUDIT_WMMA_INT_NAME(M, N, K, Q, A), M, N, K, s32, A, s32, \
                      ".s32." #A "." #A ".s32" MMAUDIT_TEXT_##Q, "", MMAUDIT_CLAMPS_##Q)
#define MMAUDIT_WMMA_BIT_NAME(M, N, K, OPERATION) Wmma_m##M##n##N##k##K##_##OPERATION
#define MMAUDIT_WMMA_BIT_LINE(M, N, K, OPERATION)                                                         \
  MMAUDIT_WMMA_STRUCT(MMAUDIT_WMMA_BIT_NAME(M, N, K, OPERATION), M, N, K, s32, b1, s32, ".s32.b1.b1.s32", \
                      "." #OPERATION ".popc", false, Multiply::OPERATION##_popc)

// `address` in shared memory; `stride` from line to line in elements.
#define MMAUDIT_WMMA_LOAD(WORD, CLASS, N, TEXT)                                               \
  template <typename Operand, typename Layout>                                                \
  __device__ __forceinline__ void wmma_load(WORD(&x)[N], std::uint32_t address, int stride) { \
    asm volatile(TEXT                                                                         \
                 : MMAUDIT_READ_##N("=" CLASS, x)                                             \
                 : "r"(address), "r"(stride), "C"(Operand::kBefore), "C"(Layout::kText),      \
                   "C"(Operand::kAfter)                                                       \
                 : "memory");                                                                 \
  }
#define MMAUDIT_WMMA_STORE(WORD, CLASS, N, TEXT)                                                     \
  template <typename Operand, typename Layout>                                                       \
  __device__ __forceinline__ void wmma_store(const WORD(&x)[N], std::uint32_t address, int stride) { \
    asm volatile(TEXT                                                                                \
                 :                                                                                   \
                 : MMAUDIT_READ_##N(CLASS, x), "r"(address), "r"(stride), "C"(Operand::kBefore),     \
                   "C"(Layout::kText), "C"(Operand::kAfter)                                          \
                 : "memory");                                                                        \
  }
// D = A * B + C.
#define MMAUDIT_WMMA_REGISTERS(WORD, CLASS, ND, NA, NB, NC, TEXT)                                         \
  template <typename Line, typename LayoutA, typename LayoutB>                                            \
  __device__ __forceinline__ void wmma_mma(WORD(&d)[ND], const WORD(&a)[NA], const WORD(&b)[NB],          \
                                           const WORD(&c)[NC]) {                                          \
    asm volatile(TEXT                                                                                     \
                 : MMAUDIT_READ_##ND("=" CLASS, d)                                                        \
                 : MMAUDIT_READ_##NA(CLASS, a), MMAUDIT_READ_##NB(CLASS, b), MMAUDIT_READ_##NC(CLASS, c), \
                   "C"(Line::kBefore), "C"(LayoutA::kText), "C"(LayoutB::kText), "C"(Line::kAfter));      \
  }

#ifdef __CUDACC__  // the lists above serve the host too
namespace mmaudit::device {

struct RowMajor {
  static constexpr char kText[] = "row";
};
struct ColumnMajor {
  static constexpr char kText[] = "col";
};

// clang-format off
MMAUDIT_WMMA_LOAD(std::uint32_t, "r", 1, "%3%4%5 {%0}, [%1], %2;")
MMAUDIT_WMMA_LOAD(std::uint32_t, "r", 2, "%4%5%6 {%0,%1}, [%2], %3;")
MMAUDIT_WMMA_LOAD(std::uint32_t, "r", 4, "%6%7%8 {%0,%1,%2,%3}, [%4], %5;")
MMAUDIT_WMMA_LOAD(std::uint32_t, "r", 8, "%10%11%12 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;")
MMAUDIT_WMMA_LOAD(std::uint64_t, "l", 1, "%3%4%5 {%0}, [%1], %2;")
MMAUDIT_WMMA_LOAD(std::uint64_t, "l", 2, "%4%5%6 {%0,%1}, [%2], %3;")
MMAUDIT_WMMA_STORE(std::uint32_t, "r", 2, "%4%5%6 [%2], {%0,%1}, %3;")
MMAUDIT_WMMA_STORE(std::uint32_t, "r", 4, "%6%7%8 [%4], {%0,%1,%2,%3}, %5;")
MMAUDIT_WMMA_STORE(std::uint32_t, "r", 8, "%10%11%12 [%8], {%0,%1,%2,%3,%4,%5,%6,%7}, %9;")
MMAUDIT_WMMA_STORE(std::uint64_t, "l", 2, "%4%5%6 [%2], {%0,%1}, %3;")
//                      word           class d  a  b  c
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 8, 8, 8,
    "%32%33.%34%35 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
    "{%16,%17,%18,%19,%20,%21,%22,%23}, {%24,%25,%26,%27,%28,%29,%30,%31};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 4, 8, 8, 4,
    "%24%25.%26%27 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
    "{%12,%13,%14,%15,%16,%17,%18,%19}, {%20,%21,%22,%23};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 8, 8, 4,
    "%28%29.%30%31 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
    "{%16,%17,%18,%19,%20,%21,%22,%23}, {%24,%25,%26,%27};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 4, 8, 8, 8,
    "%28%29.%30%31 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
    "{%12,%13,%14,%15,%16,%17,%18,%19}, {%20,%21,%22,%23,%24,%25,%26,%27};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 4, 4, 8,
    "%24%25.%26%27 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, "
    "{%12,%13,%14,%15}, {%16,%17,%18,%19,%20,%21,%22,%23};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 2, 8, 8,
    "%26%27.%28%29 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
    "{%10,%11,%12,%13,%14,%15,%16,%17}, {%18,%19,%20,%21,%22,%23,%24,%25};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 8, 2, 8,
    "%26%27.%28%29 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
    "{%16,%17}, {%18,%19,%20,%21,%22,%23,%24,%25};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 2, 2, 8,
    "%20%21.%22%23 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
    "{%10,%11}, {%12,%13,%14,%15,%16,%17,%18,%19};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 1, 4, 8,
    "%21%22.%23%24 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8}, "
    "{%9,%10,%11,%12}, {%13,%14,%15,%16,%17,%18,%19,%20};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 8, 4, 1, 8,
    "%21%22.%23%24 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, "
    "{%12}, {%13,%14,%15,%16,%17,%18,%19,%20};")
MMAUDIT_WMMA_REGISTERS(std::uint32_t, "r", 2, 1, 1, 2,
    "%6%7.%8%9 {%0,%1}, {%2}, "
    "{%3}, {%4,%5};")
MMAUDIT_WMMA_REGISTERS(std::uint64_t, "l", 2, 1, 1, 2,
    "%6%7.%8%9 {%0,%1}, {%2}, "
    "{%3}, {%4,%5};")
// clang-format on

}  // namespace mmaudit::device
#endif
