#pragma once
// Integers and single bits, one line per instruction: X(name, k, qualifier, A, B, multiply, end of the text).
// D and C are s32. They have scale-d and no other modifier.
#include "ptx/wgmma.cuh"

#define MMAUDIT_WGMMA_INT_CASES(K, Q, A, B, END, FROM) \
  MMAUDIT_WGMMA_EVERY_N_s32(MMAUDIT_WGMMA_CASE, 0, "k" #K MMAUDIT_TEXT_##Q ".s32." #A "." #B END, FROM, "")

#define MMAUDIT_WGMMA_INT_LINE(NAME, K, Q, A, B, MULTIPLY, END)                                   \
  MMAUDIT_WGMMA_STRUCT(NAME,                                                                      \
                       listed_instruction(Op::wgmma, 64, 0, K, Format::s32, Format::A, Format::B, \
                                          Format::s32, MMAUDIT_CLAMPS_##Q, Multiply::MULTIPLY),   \
                       s32, MMAUDIT_WGMMA_INT_CASES(K, Q, A, B, END, "%0"),                       \
                       MMAUDIT_WGMMA_INT_CASES(K, Q, A, B, END, "{a0,a1,a2,a3}"))
#define MMAUDIT_WGMMA_INT_NAME(NAME, ...) NAME

// clang-format off
#define MMAUDIT_WGMMA_I8(X) \
  X(Wgmma_s8_s8, 32, wrapping, s8, s8, product, "") \
  X(Wgmma_s8_u8, 32, wrapping, s8, u8, product, "") \
  X(Wgmma_u8_s8, 32, wrapping, u8, s8, product, "") \
  X(Wgmma_u8_u8, 32, wrapping, u8, u8, product, "")

#define MMAUDIT_WGMMA_I8_SATFINITE(X) \
  X(Wgmma_satfinite_s8_s8, 32, satfinite, s8, s8, product, "") \
  X(Wgmma_satfinite_s8_u8, 32, satfinite, s8, u8, product, "") \
  X(Wgmma_satfinite_u8_s8, 32, satfinite, u8, s8, product, "") \
  X(Wgmma_satfinite_u8_u8, 32, satfinite, u8, u8, product, "")

#define MMAUDIT_WGMMA_B1(X) X(Wgmma_b1_b1, 256, wrapping, b1, b1, and_popc, ".and.popc")
// clang-format on
