// FP8 as libraries run it where its accumulator is too narrow: after every so much of k the sum is added to a
// binary32 total in registers, and the next one starts from zero.
#include "sweeps/kernels/wgmma_timed.cuh"

// kGroup instructions, the first without an addend, then all of them waited for. Operands as those of
// MMAUDIT_WGMMA_LOOP; %4 unused.
#define MMAUDIT_WGMMA_SUM(R, FIRST, REST)                                        \
  asm volatile(                                                                  \
      "{\n"                                                                      \
      ".reg .pred accumulate;\n"                                                 \
      "setp.ne.b32 accumulate, %3, 0;\n"                                         \
      "wgmma.fence.sync.aligned;\n" FIRST "setp.eq.b32 accumulate, 0, 0;\n" REST \
      "wgmma.commit_group.sync.aligned;\n"                                       \
      "wgmma.wait_group.sync.aligned 0;\n"                                       \
      "}"                                                                        \
      : "+l"(a.low), "+l"(a.high), "+l"(b), "+r"(scale_d), "+r"(unused),         \
        "+r"(d[0])MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                           \
      :                                                                          \
      : "memory")
#define MMAUDIT_THREE(TEXT) TEXT TEXT TEXT
#define MMAUDIT_SEVEN(TEXT) MMAUDIT_THREE(TEXT) MMAUDIT_THREE(TEXT) TEXT
#define MMAUDIT_PROMOTED(N, R, NAME, TEXT)                                                                   \
  struct NAME##_n##N {                                                                                       \
    static constexpr int kN = N, kRegisters = R, kLive = 2 * R;                                              \
    static constexpr Instruction kInstruction = with_n(NAME::kInstruction, N);                               \
    template <int kGroup>                                                                                    \
    static __device__ __forceinline__ void from_shared(std::uint32_t (&total)[R], WgmmaA a, std::uint64_t b, \
                                                       std::uint64_t steps) {                                \
      std::uint32_t d[R] = {};                                                                               \
      for (int left = static_cast<int>(steps); left > 0; left -= kGroup) {                                   \
        int scale_d = 0, unused = 0;                                                                         \
        if constexpr (kGroup == 1)                                                                           \
          MMAUDIT_WGMMA_SUM(R, TEXT, "");                                                                    \
        else if constexpr (kGroup == 2)                                                                      \
          MMAUDIT_WGMMA_SUM(R, TEXT, TEXT);                                                                  \
        else if constexpr (kGroup == 4)                                                                      \
          MMAUDIT_WGMMA_SUM(R, TEXT, MMAUDIT_THREE(TEXT));                                                   \
        else if constexpr (kGroup == 8)                                                                      \
          MMAUDIT_WGMMA_SUM(R, TEXT, MMAUDIT_SEVEN(TEXT));                                                   \
        else                                                                                                 \
          MMAUDIT_WGMMA_SUM(R, TEXT, MMAUDIT_SEVEN(TEXT) MMAUDIT_EIGHT(TEXT));                               \
        for (int i = 0; i < R; ++i)                                                                          \
          total[i] = __float_as_uint(__fadd_rn(__uint_as_float(total[i]), __uint_as_float(d[i])));           \
      }                                                                                                      \
    }                                                                                                        \
  };

namespace mmaudit::sweeps {

struct Promoted {
  static constexpr Instruction kInstruction =
      device::instruction_row(Op::wgmma, 64, 0, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32);
};
// clang-format off
MMAUDIT_PROMOTED( 64, 32, Promoted, MMAUDIT_WGMMA_TEXT( 64, 32, "k32.f32.e4m3.e4m3", "%0", ", 1, 1"))
MMAUDIT_PROMOTED(128, 64, Promoted, MMAUDIT_WGMMA_TEXT(128, 64, "k32.f32.e4m3.e4m3", "%0", ", 1, 1"))
// clang-format on

namespace {

template <typename Chain, int kGroup>
TimedKernel promoted_row() {
  TimedKernel row = wgmma_timed_row<Chain, false, kGroup>();
  row.group = 8;  // the axis is not one of these kernels
  row.promote = kGroup * Chain::kInstruction.k;
  return row;
}

}  // namespace

std::span<const TimedKernel> timed_wgmma_promoted() {
  static const TimedKernel kRows[] = {promoted_row<Promoted_n64, 1>(),  promoted_row<Promoted_n64, 2>(),
                                      promoted_row<Promoted_n64, 4>(),  promoted_row<Promoted_n64, 8>(),
                                      promoted_row<Promoted_n64, 16>(), promoted_row<Promoted_n128, 1>(),
                                      promoted_row<Promoted_n128, 2>(), promoted_row<Promoted_n128, 4>(),
                                      promoted_row<Promoted_n128, 8>(), promoted_row<Promoted_n128, 16>()};
  return kRows;
}

}  // namespace mmaudit::sweeps
