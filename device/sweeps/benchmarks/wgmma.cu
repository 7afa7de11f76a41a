// wgmma and wgmma.sp: each type, n from 8 to 256, A from shared memory or from registers. k of a sparse
// instruction counts in full.
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

// The n that are timed: X(n, accumulator registers of 32 bits, of binary16, ...).
#ifdef MMAUDIT_CENSUS  // n changes no opcode
#define MMAUDIT_TIMED_N(X, ...) X(64, 32, 16, __VA_ARGS__)
#else
#define MMAUDIT_TIMED_N(X, ...) \
  X(8, 4, 2, __VA_ARGS__)       \
  X(16, 8, 4, __VA_ARGS__)      \
  X(32, 16, 8, __VA_ARGS__)     \
  X(64, 32, 16, __VA_ARGS__) X(128, 64, 32, __VA_ARGS__) X(256, 128, 64, __VA_ARGS__)
#endif
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

#define MMAUDIT_TIMED(...) benchmark_of<MMAUDIT_DENSE_NAME(__VA_ARGS__)>(),
#define MMAUDIT_TIMED_SP(...) benchmark_of<MMAUDIT_SPARSE_NAME(__VA_ARGS__)>(),

namespace mmaudit::sweeps {

/// Of a Line and n.
template <typename Line, int kN>
struct Chain;
MMAUDIT_TIMED_DENSE(MMAUDIT_DENSE_LINE)
MMAUDIT_TIMED_SPARSE(MMAUDIT_SPARSE_LINE)

namespace {

template <typename Line, int kN>
TimedKernel kernel_of(const Point& point) {
  // The instruction on which papers look at a commit after each instruction.
  constexpr Instruction kIs = Line::kInstruction;
  constexpr bool kSingle = kIs.op == Op::wgmma && kIs.a == Format::f16 && kIs.d == Format::f32;
  using Shared = Wgmma<Chain<Line, kN>, false>;
  using Registers = Wgmma<Chain<Line, kN>, true>;
  const bool registers = point.axis("a") == "registers";
  if (point.axis("group") == "8")
    return registers ? timed_kernel<Registers, 1, 8>() : timed_kernel<Shared, 1, 8>();
  if constexpr (kSingle) return registers ? timed_kernel<Registers, 1, 1>() : timed_kernel<Shared, 1, 1>();
  return {};
}

template <typename Line>
TimedKernel kernel_at(const Point& point) {
  switch (point.number("n")) {
#define MMAUDIT_AT(N, ...) \
  case N:                  \
    return kernel_of<Line, N>(point);
    MMAUDIT_TIMED_N(MMAUDIT_AT)
#undef MMAUDIT_AT
    default:
      return {};
  }
}

template <typename Line>
Benchmark benchmark_of() {
  const bool sparse = is_sparse(Line::kInstruction.op);
  Benchmark benchmark = wgmma_benchmark(Line::kInstruction);
  benchmark.family = sparse ? "wgmma.sp" : "wgmma";
  benchmark.place = sparse ? 45 : 40;
  benchmark.axes.insert(benchmark.axes.end(), {kSourceAxis, kGroupAxis});
  benchmark.published = {sparse ? "Luo X" : "Luo IX", "Luo XI", "Luo XIII"};
  benchmark.kernel = kernel_at<Line>;
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_wgmma() {
  return {MMAUDIT_TIMED_DENSE(MMAUDIT_TIMED) MMAUDIT_TIMED_SPARSE(MMAUDIT_TIMED_SP)};
}

}  // namespace mmaudit::sweeps
