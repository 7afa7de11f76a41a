#pragma once
// The types of wgmma and wgmma.sp that are timed and screened: a Line each, and a Chain for each n: the loop
// of wgmma.cuh around the text of that instruction, with A from shared memory or from registers.
#include "sweeps/matrix/wgmma.cuh"

// X(k, D and C, A, B, modifiers). Of FP8 and integers one line per type: what else B may be does not change
// the unit.
// clang-format off
#define MMAUDIT_TIMED_DENSE(X) \
  X( 16, f32, f16,  f16,  any_major) \
  X( 16, f16, f16,  f16,  any_major) \
  X( 16, f32, bf16, bf16, any_major) \
  X(  8, f32, tf32, tf32, k_major) \
  X( 32, f32, e4m3, e4m3, k_major) \
  X( 32, f32, e5m2, e5m2, k_major) \
  X( 32, f16, e4m3, e4m3, k_major) \
  X( 32, f16, e5m2, e5m2, k_major) \
  X( 32, s32, s8,   s8,   none) \
  X( 32, s32, u8,   u8,   none) \
  X(256, s32, b1,   b1,   bits)
#define MMAUDIT_TIMED_SPARSE(X) \
  X( 32, f32, f16,  f16,  any_major) \
  X( 32, f16, f16,  f16,  any_major) \
  X( 32, f32, bf16, bf16, any_major) \
  X( 16, f32, tf32, tf32, k_major) \
  X( 64, f32, e4m3, e4m3, k_major) \
  X( 64, f16, e4m3, e4m3, k_major) \
  X( 64, s32, s8,   s8,   none)

// The modifiers: what stands for a product, the end of the types, and the immediates with A from shared memory
// and from registers.
#define MMAUDIT_any_major product,  "",          ", 1, 1, 0, 0", ", 1, 1, 0"
#define MMAUDIT_k_major   product,  "",          ", 1, 1",       ", 1, 1"
#define MMAUDIT_none      product,  "",          "",             ""
#define MMAUDIT_bits      and_popc, ".and.popc", "",             ""

// A Line, and a Chain for each n that is timed.
#define MMAUDIT_DENSE_NAME(K, D, A, B, MODIFIERS)  Wgmma_k##K##_##D##_##A##_##B
#define MMAUDIT_SPARSE_NAME(K, D, A, B, MODIFIERS) WgmmaSp_k##K##_##D##_##A##_##B
// clang-format on
#define MMAUDIT_DENSE_LINE(K, D, A, B, MODIFIERS)                                                \
  MMAUDIT_LINE(wgmma, MMAUDIT_WGMMA_TEXT, MMAUDIT_DENSE_NAME(K, D, A, B, MODIFIERS), K, D, A, B, \
               MMAUDIT_##MODIFIERS)
#define MMAUDIT_SPARSE_LINE(K, D, A, B, MODIFIERS)                                                    \
  MMAUDIT_LINE(wgmma_sp, MMAUDIT_SPARSE_TEXT, MMAUDIT_SPARSE_NAME(K, D, A, B, MODIFIERS), K, D, A, B, \
               MMAUDIT_##MODIFIERS)
#define MMAUDIT_LINE(...) MMAUDIT_STRUCTS(__VA_ARGS__)
#define MMAUDIT_STRUCTS(OP, TEXT, NAME, K, D, A, B, MULTIPLY, END, SHARED, REGISTERS)             \
  struct NAME {                                                                                   \
    static constexpr Instruction kInstruction = device::listed_instruction(                       \
        Op::OP, 64, 0, K, Format::D, Format::A, Format::B, Format::D, false, Multiply::MULTIPLY); \
  };                                                                                              \
  MMAUDIT_CHAINS_##D(TEXT, NAME, "k" #K "." #D "." #A "." #B END, SHARED, REGISTERS)
#define MMAUDIT_SPARSE_TEXT(N, R, TYPES, A, IMMEDIATES) MMAUDIT_WGMMA_SP_TEXT(N, R, TYPES, A, "0", IMMEDIATES)

// Who includes this defines MMAUDIT_TIMED_N(X, ...): X(n, accumulator registers of 32 bits, of binary16, ...)
// for each n that it wants a Chain of.
#ifdef __CUDACC__
#define MMAUDIT_CHAINS_f32(...) MMAUDIT_TIMED_N(MMAUDIT_WIDE, MMAUDIT_CHAIN, __VA_ARGS__)
#define MMAUDIT_CHAINS_f16(...) MMAUDIT_TIMED_N(MMAUDIT_HALF, MMAUDIT_CHAIN, __VA_ARGS__)
#else
#define MMAUDIT_CHAINS_f32(...)
#define MMAUDIT_CHAINS_f16(...)
#endif
#define MMAUDIT_CHAINS_s32 MMAUDIT_CHAINS_f32

#define MMAUDIT_CHAIN(N, R, TEXT, LINE, TYPES, SHARED, REGISTERS)                                           \
  template <>                                                                                               \
  struct Chain<LINE, N> {                                                                                   \
    static constexpr int kRegisters = R, kLive = R;                                                         \
    static constexpr Instruction kInstruction = with_n(LINE::kInstruction, N);                              \
    template <int kGroup>                                                                                   \
    static __device__ __forceinline__ void from_shared(std::uint32_t (&d)[R], WgmmaA a, std::uint64_t b,    \
                                                       std::uint64_t steps) {                               \
      MMAUDIT_GROUP(TEXT, N, R, TYPES, "%0", SHARED)                                                        \
    }                                                                                                       \
    template <int kGroup>                                                                                   \
    static __device__ __forceinline__ void from_registers(std::uint32_t (&d)[R], WgmmaA a, std::uint64_t b, \
                                                          std::uint64_t steps) {                            \
      MMAUDIT_GROUP(TEXT, N, R, TYPES, "{a0,a1,a2,a3}", REGISTERS)                                          \
    }                                                                                                       \
  };
#define MMAUDIT_GROUP(TEXT, N, R, TYPES, A, IMMEDIATES)               \
  int scale_d = 1;                                                    \
  if constexpr (kGroup == 1)                                          \
    MMAUDIT_WGMMA_LOOP(R, "1", TEXT(N, R, TYPES, A, IMMEDIATES), ""); \
  else                                                                \
    MMAUDIT_WGMMA_LOOP(R, "8", MMAUDIT_EIGHT(TEXT(N, R, TYPES, A, IMMEDIATES)), "");

namespace mmaudit::sweeps {

/// Of a Line and n.
template <typename Line, int kN>
struct Chain;
MMAUDIT_TIMED_DENSE(MMAUDIT_DENSE_LINE)
MMAUDIT_TIMED_SPARSE(MMAUDIT_SPARSE_LINE)

}  // namespace mmaudit::sweeps
