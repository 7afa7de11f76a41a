#pragma once
// wgmma.mma_async.sp: as wgmma.cuh, with the metadata register and its selector. Fewer n and modifiers are
// compiled: has_modifiers() in kernels/variants.hpp names them. One line per instruction:
// X(k, D and C, A, B, majors), integers X(qualifier, A, B).
#include <cstdint>

#include "ptx/wgmma_float.cuh"

// clang-format off
#define MMAUDIT_WGMMA_SP_N_f32(X, ...) \
  X(8, 4, __VA_ARGS__) X(64, 32, __VA_ARGS__) X(128, 64, __VA_ARGS__) X(256, 128, __VA_ARGS__)
#define MMAUDIT_WGMMA_SP_N_f16(X, ...) \
  X(8, 2, __VA_ARGS__) X(64, 16, __VA_ARGS__) X(128, 32, __VA_ARGS__) X(256, 64, __VA_ARGS__)
#define MMAUDIT_WGMMA_SP_SOME_N_f32(X, ...) X(8, 4, __VA_ARGS__) X(64, 32, __VA_ARGS__)
#define MMAUDIT_WGMMA_SP_SOME_N_f16(X, ...) X(8, 2, __VA_ARGS__) X(64, 16, __VA_ARGS__)
// clang-format on

#define MMAUDIT_WGMMA_SP_TEXT(N, R, TYPES, A, SELECTOR, IMMEDIATES)                                      \
  "wgmma.mma_async.sp.sync.aligned.m64n" #N TYPES                                                        \
  " {%5" MMAUDIT_ACC_##R(MMAUDIT_ACC_TEXT) "}, " A ", %2, metadata, " SELECTOR ", accumulate" IMMEDIATES \
                                           ";\n"

#define MMAUDIT_WGMMA_SP_CASE(N, R, MODIFIERS, TYPES, A, SELECTOR, IMMEDIATES)            \
  case wgmma_sp_case(N, MODIFIERS, SELECTOR[0] - '0'):                                    \
    MMAUDIT_WGMMA_REPEAT(R, MMAUDIT_WGMMA_SP_TEXT(N, R, TYPES, A, SELECTOR, IMMEDIATES)); \
    break;

// Every n with every value of the selector (0 and 1; one, where all lanes supply metadata).
#define MMAUDIT_WGMMA_SP_PLAIN_two(D, TYPES, A, TEXT)                            \
  MMAUDIT_WGMMA_SP_N_##D(MMAUDIT_WGMMA_SP_CASE, 0, TYPES, A, "0", ", 1, 1" TEXT) \
      MMAUDIT_WGMMA_SP_N_##D(MMAUDIT_WGMMA_SP_CASE, 0, TYPES, A, "1", ", 1, 1" TEXT)
#define MMAUDIT_WGMMA_SP_PLAIN_one(D, TYPES, A, TEXT) \
  MMAUDIT_WGMMA_SP_N_##D(MMAUDIT_WGMMA_SP_CASE, 0, TYPES, A, "0", ", 1, 1" TEXT)
// Modifiers with selector 0.
#define MMAUDIT_WGMMA_SP_SOME(D, MODIFIERS, TYPES, A, TEXT) \
  MMAUDIT_WGMMA_SP_SOME_N_##D(MMAUDIT_WGMMA_SP_CASE, MODIFIERS, TYPES, A, "0", TEXT)
#define MMAUDIT_WGMMA_SP_NEGATED(D, TYPES, A, TEXT)            \
  MMAUDIT_WGMMA_SP_SOME(D, kNegateA, TYPES, A, ", -1, 1" TEXT) \
  MMAUDIT_WGMMA_SP_SOME(D, kNegateB, TYPES, A, ", 1, -1" TEXT) \
  MMAUDIT_WGMMA_SP_SOME(D, kNegateA | kNegateB, TYPES, A, ", -1, -1" TEXT)

#define MMAUDIT_WGMMA_SP_K_MAJOR(SELECTORS, D, TYPES, A, TEXT) \
  MMAUDIT_WGMMA_SP_PLAIN_##SELECTORS(D, TYPES, A, TEXT) MMAUDIT_WGMMA_SP_NEGATED(D, TYPES, A, TEXT)

#define MMAUDIT_WGMMA_SP_SHARED_tf32(D, TYPES) MMAUDIT_WGMMA_SP_K_MAJOR(two, D, TYPES, "%0", "")
#define MMAUDIT_WGMMA_SP_REGISTERS_tf32(D, TYPES) MMAUDIT_WGMMA_SP_K_MAJOR(two, D, TYPES, "{a0,a1,a2,a3}", "")
#define MMAUDIT_WGMMA_SP_SHARED_fp8(D, TYPES) MMAUDIT_WGMMA_SP_K_MAJOR(one, D, TYPES, "%0", "")
#define MMAUDIT_WGMMA_SP_REGISTERS_fp8(D, TYPES) MMAUDIT_WGMMA_SP_K_MAJOR(one, D, TYPES, "{a0,a1,a2,a3}", "")
#define MMAUDIT_WGMMA_SP_SHARED_any_major(D, TYPES)                  \
  MMAUDIT_WGMMA_SP_K_MAJOR(two, D, TYPES, "%0", ", 0, 0")            \
  MMAUDIT_WGMMA_SP_SOME(D, kTransposeA, TYPES, "%0", ", 1, 1, 1, 0") \
  MMAUDIT_WGMMA_SP_SOME(D, kTransposeB, TYPES, "%0", ", 1, 1, 0, 1") \
  MMAUDIT_WGMMA_SP_SOME(D, kTransposeA | kTransposeB, TYPES, "%0", ", 1, 1, 1, 1")
#define MMAUDIT_WGMMA_SP_REGISTERS_any_major(D, TYPES)            \
  MMAUDIT_WGMMA_SP_K_MAJOR(two, D, TYPES, "{a0,a1,a2,a3}", ", 0") \
  MMAUDIT_WGMMA_SP_SOME(D, kTransposeB, TYPES, "{a0,a1,a2,a3}", ", 1, 1, 1")
// Integers have no immediates.
#define MMAUDIT_WGMMA_SP_INTEGERS(TYPES, A) \
  MMAUDIT_WGMMA_SP_N_f32(MMAUDIT_WGMMA_SP_CASE, 0, TYPES, A, "0", "")

#define MMAUDIT_WGMMA_SP_LINE(K, D, A, B, KIND)                                                  \
  MMAUDIT_WGMMA_STRUCT(                                                                          \
      MMAUDIT_WGMMA_SP_NAME(K, D, A, B, KIND),                                                   \
      listed_instruction(Op::wgmma_sp, 64, 0, K, Format::D, Format::A, Format::B, Format::D), D, \
      MMAUDIT_WGMMA_SP_SHARED_##KIND(D, "k" #K "." #D "." #A "." #B),                            \
      MMAUDIT_WGMMA_SP_REGISTERS_##KIND(D, "k" #K "." #D "." #A "." #B))
#define MMAUDIT_WGMMA_SP_NAME(K, D, A, B, KIND) WgmmaSp_k##K##_##D##_##A##_##B

#define MMAUDIT_WGMMA_SP_INT_LINE(Q, A, B)                                                             \
  MMAUDIT_WGMMA_STRUCT(MMAUDIT_WGMMA_SP_INT_NAME(Q, A, B),                                             \
                       listed_instruction(Op::wgmma_sp, 64, 0, 64, Format::s32, Format::A, Format::B,  \
                                          Format::s32, MMAUDIT_CLAMPS_##Q),                            \
                       s32, MMAUDIT_WGMMA_SP_INTEGERS("k64" MMAUDIT_TEXT_##Q ".s32." #A "." #B, "%0"), \
                       MMAUDIT_WGMMA_SP_INTEGERS("k64" MMAUDIT_TEXT_##Q ".s32." #A "." #B, "{a0,a1,a2,a3}"))
#define MMAUDIT_WGMMA_SP_INT_NAME(Q, A, B) WgmmaSp_##Q##_##A##_##B

// clang-format off
#define MMAUDIT_WGMMA_SP_F16(X) \
  X(32, f32, f16,  f16,  any_major) \
  X(32, f16, f16,  f16,  any_major) \
  X(32, f32, bf16, bf16, any_major) \
  X(16, f32, tf32, tf32, tf32)

#define MMAUDIT_WGMMA_SP_FP8(X) \
  MMAUDIT_WGMMA_EVERY_FP8(X, 64, f32, fp8) \
  MMAUDIT_WGMMA_EVERY_FP8(X, 64, f16, fp8)

#define MMAUDIT_WGMMA_SP_I8(X) \
  X(wrapping,  s8, s8) X(wrapping,  s8, u8) X(wrapping,  u8, s8) X(wrapping,  u8, u8) \
  X(satfinite, s8, s8) X(satfinite, s8, u8) X(satfinite, u8, s8) X(satfinite, u8, u8)
// clang-format on
