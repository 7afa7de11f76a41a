#pragma once
// wgmma.mma_async: the text of an instruction for every n, with A from shared memory or from registers, and
// with its immediate modifiers. A family's file lists the lines.
#include <cstdint>

#include "kernels/variants.hpp"
#include "mmaudit/fragment.hpp"
#include "ptx/line.cuh"
#include "ptx/wgmma_registers.cuh"

// The n of wgmma: X(n, accumulator registers of 32 bits, of binary16, ...) for each that integers and single
// bits have too, Y(...) for the others.
// clang-format off
#define MMAUDIT_WGMMA_EVERY_N(X, Y, ...) \
  X(8, 4, 2, __VA_ARGS__) X(16, 8, 4, __VA_ARGS__) X(24, 12, 6, __VA_ARGS__) X(32, 16, 8, __VA_ARGS__) \
  Y(40, 20, 10, __VA_ARGS__) X(48, 24, 12, __VA_ARGS__) Y(56, 28, 14, __VA_ARGS__) X(64, 32, 16, __VA_ARGS__) \
  Y(72, 36, 18, __VA_ARGS__) X(80, 40, 20, __VA_ARGS__) Y(88, 44, 22, __VA_ARGS__) X(96, 48, 24, __VA_ARGS__) \
  Y(104, 52, 26, __VA_ARGS__) X(112, 56, 28, __VA_ARGS__) Y(120, 60, 30, __VA_ARGS__) X(128, 64, 32, __VA_ARGS__) \
  Y(136, 68, 34, __VA_ARGS__) X(144, 72, 36, __VA_ARGS__) Y(152, 76, 38, __VA_ARGS__) X(160, 80, 40, __VA_ARGS__) \
  Y(168, 84, 42, __VA_ARGS__) X(176, 88, 44, __VA_ARGS__) Y(184, 92, 46, __VA_ARGS__) X(192, 96, 48, __VA_ARGS__) \
  Y(200, 100, 50, __VA_ARGS__) X(208, 104, 52, __VA_ARGS__) Y(216, 108, 54, __VA_ARGS__) X(224, 112, 56, __VA_ARGS__) \
  Y(232, 116, 58, __VA_ARGS__) X(240, 120, 60, __VA_ARGS__) Y(248, 124, 62, __VA_ARGS__) X(256, 128, 64, __VA_ARGS__)
#define MMAUDIT_WIDE(N, REGISTERS, HALF, X, ...) X(N, REGISTERS, __VA_ARGS__)
#define MMAUDIT_HALF(N, WIDE, REGISTERS, X, ...) X(N, REGISTERS, __VA_ARGS__)
#define MMAUDIT_NONE(...)
// X(n, accumulator registers, ...) for every n of D's format; and for the n that has_modifiers() names.
#define MMAUDIT_WGMMA_EVERY_N_f32(...) MMAUDIT_WGMMA_EVERY_N(MMAUDIT_WIDE, MMAUDIT_WIDE, __VA_ARGS__)
#define MMAUDIT_WGMMA_EVERY_N_f16(...) MMAUDIT_WGMMA_EVERY_N(MMAUDIT_HALF, MMAUDIT_HALF, __VA_ARGS__)
#define MMAUDIT_WGMMA_EVERY_N_s32(...) MMAUDIT_WGMMA_EVERY_N(MMAUDIT_WIDE, MMAUDIT_NONE, __VA_ARGS__)
#define MMAUDIT_WGMMA_SOME_N_f32(X, ...) X(8, 4, __VA_ARGS__) X(64, 32, __VA_ARGS__) X(256, 128, __VA_ARGS__)
#define MMAUDIT_WGMMA_SOME_N_f16(X, ...) X(8, 2, __VA_ARGS__) X(64, 16, __VA_ARGS__) X(256, 64, __VA_ARGS__)
// clang-format on

#define MMAUDIT_ACC_OPERAND(I, NUMBER) , "+r"(d[I])
#define MMAUDIT_ACC_TEXT(I, NUMBER) ",%" #NUMBER

// The instruction itself.
#define MMAUDIT_WGMMA_TEXT(N, R, TYPES, A, IMMEDIATES) \
  "wgmma.mma_async.sync.aligned.m64n" #N TYPES         \
  " {%5" MMAUDIT_ACC_##R(MMAUDIT_ACC_TEXT) "}, " A ", %2, accumulate" IMMEDIATES ";\n"

// TEXT, which is STEPS instructions, again and again. One statement from fence to wait: the accumulators are
// in flight in between, and no compiler may place an access to them there. Fence and commit are inside the
// loop: ptxas wants both in the block of the instruction, or adds its own (C7519). Operands: %0, %1 A (a
// descriptor, or four registers), %2 B's descriptor, %3 scale_d, %4 steps left and above them metadata, %5
// on: d. All are read-write only so that they come before the accumulators, whose number varies.
#define MMAUDIT_WGMMA_LOOP(R, STEPS, TEXT, AFTER)                                   \
  asm volatile(                                                                     \
      "{\n"                                                                         \
      ".reg .pred accumulate, more;\n"                                              \
      ".reg .b32 a<4>, metadata, left;\n"                                           \
      "mov.b64 {a0,a1}, %0;\n"                                                      \
      "mov.b64 {a2,a3}, %1;\n"                                                      \
      "mov.b64 {left,metadata}, %4;\n"                                              \
      "setp.ne.b32 accumulate, %3, 0;\n"                                            \
      "AGAIN:\n"                                                                    \
      "wgmma.fence.sync.aligned;\n" TEXT "wgmma.commit_group.sync.aligned;\n" AFTER \
      "add.s32 left, left, -" STEPS                                                 \
      ";\n"                                                                         \
      "setp.gt.s32 more, left, 0;\n"                                                \
      "@more bra AGAIN;\n"                                                          \
      "wgmma.wait_group.sync.aligned 0;\n"                                          \
      "}"                                                                           \
      : "+l"(a.low), "+l"(a.high), "+l"(b), "+r"(scale_d), "+l"(steps),             \
        "+r"(d[0])MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                              \
      :                                                                             \
      : "memory")

// d = A * B + (scale_d ? d : 0), then again and again d = A * B + d.
#define MMAUDIT_WGMMA_REPEAT(R, TEXT) MMAUDIT_WGMMA_LOOP(R, "1", TEXT, "setp.eq.b32 accumulate, 0, 0;\n")
#define MMAUDIT_WGMMA_CASE(N, R, MODIFIERS, TYPES, A, IMMEDIATES)            \
  case wgmma_case(N, MODIFIERS):                                             \
    MMAUDIT_WGMMA_REPEAT(R, MMAUDIT_WGMMA_TEXT(N, R, TYPES, A, IMMEDIATES)); \
    break;

#define MMAUDIT_WGMMA_NEGATED(D, TYPES, A, MAJORS, MAJOR_TEXT)                                        \
  MMAUDIT_WGMMA_SOME_N_##D(MMAUDIT_WGMMA_CASE, MAJORS | kNegateA, TYPES, A, ", -1, 1" MAJOR_TEXT)     \
      MMAUDIT_WGMMA_SOME_N_##D(MMAUDIT_WGMMA_CASE, MAJORS | kNegateB, TYPES, A, ", 1, -1" MAJOR_TEXT) \
          MMAUDIT_WGMMA_SOME_N_##D(MMAUDIT_WGMMA_CASE, MAJORS | kNegateA | kNegateB, TYPES, A,        \
                                   ", -1, -1" MAJOR_TEXT)
#define MMAUDIT_WGMMA_K_MAJOR(D, TYPES, A, MAJOR_TEXT)                            \
  MMAUDIT_WGMMA_EVERY_N_##D(MMAUDIT_WGMMA_CASE, 0, TYPES, A, ", 1, 1" MAJOR_TEXT) \
      MMAUDIT_WGMMA_NEGATED(D, TYPES, A, 0, MAJOR_TEXT)
#define MMAUDIT_WGMMA_MN_MAJOR(D, TYPES, A, MAJORS, MAJOR_TEXT)                       \
  MMAUDIT_WGMMA_SOME_N_##D(MMAUDIT_WGMMA_CASE, MAJORS, TYPES, A, ", 1, 1" MAJOR_TEXT) \
      MMAUDIT_WGMMA_NEGATED(D, TYPES, A, MAJORS, MAJOR_TEXT)

// Formats that are read from shared memory K-major only, and those that are read either way.
#define MMAUDIT_WGMMA_SHARED_k_major(D, TYPES) MMAUDIT_WGMMA_K_MAJOR(D, TYPES, "%0", "")
#define MMAUDIT_WGMMA_REGISTERS_k_major(D, TYPES) MMAUDIT_WGMMA_K_MAJOR(D, TYPES, "{a0,a1,a2,a3}", "")
#define MMAUDIT_WGMMA_SHARED_any_major(D, TYPES)                \
  MMAUDIT_WGMMA_K_MAJOR(D, TYPES, "%0", ", 0, 0")               \
  MMAUDIT_WGMMA_MN_MAJOR(D, TYPES, "%0", kTransposeA, ", 1, 0") \
  MMAUDIT_WGMMA_MN_MAJOR(D, TYPES, "%0", kTransposeB, ", 0, 1") \
  MMAUDIT_WGMMA_MN_MAJOR(D, TYPES, "%0", kTransposeA | kTransposeB, ", 1, 1")
#define MMAUDIT_WGMMA_REGISTERS_any_major(D, TYPES)       \
  MMAUDIT_WGMMA_K_MAJOR(D, TYPES, "{a0,a1,a2,a3}", ", 0") \
  MMAUDIT_WGMMA_MN_MAJOR(D, TYPES, "{a0,a1,a2,a3}", kTransposeB, ", 1")

// The struct of a line, with D's format. `steps`: repetitions, and above them metadata.
#define MMAUDIT_WGMMA_STRUCT(NAME, INSTRUCTION, D, SHARED, REGISTERS)                                       \
  struct NAME {                                                                                             \
    static constexpr Instruction kInstruction = INSTRUCTION;                                                \
    static constexpr int kRegisters = kWgmmaMaxN / 2 / elements_per_register(Format::D);                    \
    static __device__ __forceinline__ void from_shared(int which, std::uint32_t (&d)[kRegisters], WgmmaA a, \
                                                       std::uint64_t b, int scale_d, std::uint64_t steps) { \
      switch (which) { SHARED default : __trap(); }                                                         \
    }                                                                                                       \
    static __device__ __forceinline__ void from_registers(int which, std::uint32_t (&d)[kRegisters],        \
                                                          WgmmaA a, std::uint64_t b, int scale_d,           \
                                                          std::uint64_t steps) {                            \
      switch (which) { REGISTERS default : __trap(); }                                                      \
    }                                                                                                       \
  };

// X for the list of a family. D's format is C's too; MAJORS is k_major or any_major.
#define MMAUDIT_WGMMA_LINE(K, D, A, B, MAJORS)                                                              \
  MMAUDIT_WGMMA_STRUCT(MMAUDIT_WGMMA_NAME(K, D, A, B, MAJORS),                                              \
                       listed_instruction(Op::wgmma, 64, 0, K, Format::D, Format::A, Format::B, Format::D), \
                       D, MMAUDIT_WGMMA_SHARED_##MAJORS(D, "k" #K "." #D "." #A "." #B),                    \
                       MMAUDIT_WGMMA_REGISTERS_##MAJORS(D, "k" #K "." #D "." #A "." #B))
// X for a family's list: that struct's name.
#define MMAUDIT_WGMMA_NAME(K, D, A, B, MAJORS) Wgmma_k##K##_##D##_##A##_##B

namespace mmaudit::device {

/// A as two 64-bit words: a descriptor and nothing, or four registers.
struct WgmmaA {
  std::uint64_t low = 0, high = 0;
};

}  // namespace mmaudit::device
