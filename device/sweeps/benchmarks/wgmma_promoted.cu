// FP8 as libraries run it where its accumulator is too narrow: after every so much of k the sum is added to a
// binary32 total in registers, and the next one starts from zero.
#include "sweeps/matrix/wgmma.cuh"

namespace mmaudit::sweeps {

namespace {

constexpr AxisSpec kPromoteAxis =
    number_axis("promote", 32, 512, "[32,64,128,256,512]", "[128]",
                "k after which an FP8 sum is added to a binary32 total", "32,64,128,256,512");
constexpr Instruction kPromoted =
    device::listed_instruction(Op::wgmma, 64, 0, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32);

}  // namespace

/// The Chain of n: totals and sums fit into the registers for these.
template <int kN>
struct Promoted;

#ifdef __CUDACC__

// kGroup instructions, the first without an addend, then a wait for all of them. Operands as in
// MMAUDIT_WGMMA_LOOP; %4 unused.
#define MMAUDIT_SUM(R, FIRST, REST)                                              \
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
#define MMAUDIT_PROMOTED(N, R, TEXT)                                                                         \
  template <>                                                                                                \
  struct Promoted<N> {                                                                                       \
    static constexpr int kRegisters = R, kLive = 2 * R;                                                      \
    static constexpr Instruction kInstruction = with_n(kPromoted, N);                                        \
    template <int kGroup>                                                                                    \
    static __device__ __forceinline__ void from_shared(std::uint32_t (&total)[R], WgmmaA a, std::uint64_t b, \
                                                       std::uint64_t steps) {                                \
      std::uint32_t d[R] = {};                                                                               \
      for (int left = static_cast<int>(steps); left > 0; left -= kGroup) {                                   \
        int scale_d = 0, unused = 0;                                                                         \
        if constexpr (kGroup == 1)                                                                           \
          MMAUDIT_SUM(R, TEXT, "");                                                                          \
        else if constexpr (kGroup == 2)                                                                      \
          MMAUDIT_SUM(R, TEXT, TEXT);                                                                        \
        else if constexpr (kGroup == 4)                                                                      \
          MMAUDIT_SUM(R, TEXT, MMAUDIT_THREE(TEXT));                                                         \
        else if constexpr (kGroup == 8)                                                                      \
          MMAUDIT_SUM(R, TEXT, MMAUDIT_SEVEN(TEXT));                                                         \
        else                                                                                                 \
          MMAUDIT_SUM(R, TEXT, MMAUDIT_SEVEN(TEXT) MMAUDIT_EIGHT(TEXT));                                     \
        for (int i = 0; i < R; ++i)                                                                          \
          total[i] = __float_as_uint(__fadd_rn(__uint_as_float(total[i]), __uint_as_float(d[i])));           \
      }                                                                                                      \
    }                                                                                                        \
  };
// clang-format off
MMAUDIT_PROMOTED( 64, 32, MMAUDIT_WGMMA_TEXT( 64, 32, "k32.f32.e4m3.e4m3", "%0", ", 1, 1"))
MMAUDIT_PROMOTED(128, 64, MMAUDIT_WGMMA_TEXT(128, 64, "k32.f32.e4m3.e4m3", "%0", ", 1, 1"))
// clang-format on

#endif

namespace {

template <int kN>
TimedKernel promoted_kernel(int group) {
  return kernel_for<1, 2, 4, 8, 16>(
      group, [&]<int kGroup>() { return timed_kernel<Wgmma<Promoted<kN>, false>, 1, kGroup>(); });
}

}  // namespace

std::vector<Benchmark> benchmark_wgmma_promoted() {
  Benchmark benchmark = wgmma_benchmark(kPromoted);
  benchmark.name += "+promote";
  benchmark.family = "wgmma with promotion";
  benchmark.place = 50;
  benchmark.axes.push_back(kPromoteAxis);
  benchmark.exists = [exists = benchmark.exists](const Point& point) {
    const int n = point.number("n");
    return exists(point) && (n == 64 || n == 128);
  };
  benchmark.kernel = [](const Point& point) {
    const int group = point.number("promote") / kPromoted.k;
    return point.number("n") == 64 ? promoted_kernel<64>(group) : promoted_kernel<128>(group);
  };
  return {benchmark};
}

}  // namespace mmaudit::sweeps
