#include "conversions.hpp"

#include "mmaudit/error.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr CastRule kRn{CastRounding::nearest_even, false}, kRnSat{CastRounding::nearest_even, true},
    kRz{CastRounding::toward_zero, false}, kRzSat{CastRounding::toward_zero, true},
    kRna{CastRounding::nearest_away, false}, kRnaSat{CastRounding::nearest_away, true};

struct Result {
  unsigned long long mismatches, input, hardware, model;
};

// One struct a line: what the instruction makes of an input, by hardware and by the model.
#define MMAUDIT_TO_NARROW(NAME, PTX, FORMAT, RULE, STORAGE, CLASS, WORD)                                  \
  struct NAME {                                                                                           \
    static constexpr const char* kText = PTX;                                                             \
    static constexpr std::uint64_t kInputs = std::uint64_t{1} << 32;                                      \
    static constexpr Format kFormat = Format::FORMAT;                                                     \
    static constexpr CastRule kRule = RULE;                                                               \
    static __device__ std::uint64_t hardware(std::uint64_t input) {                                       \
      WORD out;                                                                                           \
      asm volatile(PTX " %0, %1;" : "=" CLASS(out) : "f"(__uint_as_float(static_cast<unsigned>(input)))); \
      return out;                                                                                         \
    }                                                                                                     \
    static __device__ double value(std::uint64_t input) {                                                 \
      return decode_value(input, FormatSpec{Format::f32, 32, 0, 8, 23, 127, Specials::ieee});             \
    }                                                                                                     \
  };
// Two inputs a time: the one under test in the low half, a constant in the high half.
#define MMAUDIT_TO_FP8(NAME, PTX, FORMAT)                                                     \
  struct NAME {                                                                               \
    static constexpr const char* kText = PTX;                                                 \
    static constexpr std::uint64_t kInputs = std::uint64_t{1} << 32;                          \
    static constexpr Format kFormat = Format::FORMAT;                                         \
    static constexpr CastRule kRule = kRnSat;                                                 \
    static __device__ std::uint64_t hardware(std::uint64_t input) {                           \
      unsigned short out;                                                                     \
      asm volatile(PTX " %0, %1, %2;"                                                         \
                   : "=h"(out)                                                                \
                   : "f"(1.0F), "f"(__uint_as_float(static_cast<unsigned>(input))));          \
      return out & 0xFFU;                                                                     \
    }                                                                                         \
    static __device__ double value(std::uint64_t input) {                                     \
      return decode_value(input, FormatSpec{Format::f32, 32, 0, 8, 23, 127, Specials::ieee}); \
    }                                                                                         \
  };
#define MMAUDIT_HALF_TO_FP8(NAME, PTX, FORMAT)                                                    \
  struct NAME {                                                                                   \
    static constexpr const char* kText = PTX;                                                     \
    static constexpr std::uint64_t kInputs = std::uint64_t{1} << 16;                              \
    static constexpr Format kFormat = Format::FORMAT;                                             \
    static constexpr CastRule kRule = kRnSat;                                                     \
    static __device__ std::uint64_t hardware(std::uint64_t input) {                               \
      unsigned short out;                                                                         \
      asm volatile(PTX " %0, %1;" : "=h"(out) : "r"(static_cast<unsigned>(input) | 0x3C000000U)); \
      return out & 0xFFU;                                                                         \
    }                                                                                             \
    static __device__ double value(std::uint64_t input) {                                         \
      return decode_value(input, FormatSpec{Format::f16, 16, 0, 5, 10, 15, Specials::ieee});      \
    }                                                                                             \
  };
// FP8 to binary16 is exact: the model decodes and encodes.
#define MMAUDIT_FROM_FP8(NAME, PTX, SPEC)                                                     \
  struct NAME {                                                                               \
    static constexpr const char* kText = PTX;                                                 \
    static constexpr std::uint64_t kInputs = std::uint64_t{1} << 8;                           \
    static constexpr Format kFormat = Format::f16;                                            \
    static constexpr CastRule kRule = kRn;                                                    \
    static __device__ std::uint64_t hardware(std::uint64_t input) {                           \
      unsigned out;                                                                           \
      asm volatile(PTX " %0, %1;" : "=r"(out) : "h"(static_cast<unsigned short>(input)));     \
      return out & 0xFFFFU;                                                                   \
    }                                                                                         \
    static __device__ double value(std::uint64_t input) { return decode_value(input, SPEC); } \
  };

MMAUDIT_TO_NARROW(RnF16, "cvt.rn.f16.f32", f16, kRn, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RzF16, "cvt.rz.f16.f32", f16, kRz, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RnSatF16, "cvt.rn.satfinite.f16.f32", f16, kRnSat, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RzSatF16, "cvt.rz.satfinite.f16.f32", f16, kRzSat, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RnBf16, "cvt.rn.bf16.f32", bf16, kRn, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RzBf16, "cvt.rz.bf16.f32", bf16, kRz, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RnSatBf16, "cvt.rn.satfinite.bf16.f32", bf16, kRnSat, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RzSatBf16, "cvt.rz.satfinite.bf16.f32", bf16, kRzSat, 16, "h", unsigned short)
MMAUDIT_TO_NARROW(RnTf32, "cvt.rn.tf32.f32", tf32, kRn, 32, "r", unsigned)
MMAUDIT_TO_NARROW(RzTf32, "cvt.rz.tf32.f32", tf32, kRz, 32, "r", unsigned)
MMAUDIT_TO_NARROW(RnaTf32, "cvt.rna.tf32.f32", tf32, kRna, 32, "r", unsigned)
MMAUDIT_TO_NARROW(RnaSatTf32, "cvt.rna.satfinite.tf32.f32", tf32, kRnaSat, 32, "r", unsigned)
MMAUDIT_TO_FP8(RnE4m3, "cvt.rn.satfinite.e4m3x2.f32", e4m3)
MMAUDIT_TO_FP8(RnE5m2, "cvt.rn.satfinite.e5m2x2.f32", e5m2)
MMAUDIT_HALF_TO_FP8(HalfE4m3, "cvt.rn.satfinite.e4m3x2.f16x2", e4m3)
MMAUDIT_HALF_TO_FP8(HalfE5m2, "cvt.rn.satfinite.e5m2x2.f16x2", e5m2)
MMAUDIT_FROM_FP8(FromE4m3, "cvt.rn.f16x2.e4m3x2",
                 (FormatSpec{Format::e4m3, 8, 0, 4, 3, 7, Specials::nan_only}))
MMAUDIT_FROM_FP8(FromE5m2, "cvt.rn.f16x2.e5m2x2", (FormatSpec{Format::e5m2, 8, 0, 5, 2, 15, Specials::ieee}))

template <typename Line>
__global__ void __launch_bounds__(256) conversion_kernel(FormatSpec to, CastRule rule, Result* result) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t input = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; input < Line::kInputs;
       input += step) {
    const std::uint64_t hardware = Line::hardware(input);
    const double value = Line::value(input);
    const bool rna = Line::kRule.rounding == CastRounding::nearest_away;
    const std::uint64_t model = rna && value != value
                                    ? rna_tf32_of_nan(static_cast<std::uint32_t>(input), rule.saturate)
                                    : encode_value(value, to, rule);
    if (hardware == model) continue;
    if (atomicAdd(&result->mismatches, 1ULL) != 0) continue;
    result->input = input;
    result->hardware = hardware;
    result->model = model;
  }
}

template <typename Line>
ConversionResult check(bool flip_a_rounding) {
  Result* result = nullptr;
  cuda_check(cudaMallocManaged(&result, sizeof *result), "allocating");
  *result = {};
  CastRule rule = Line::kRule;
  if (flip_a_rounding)
    rule.rounding =
        rule.rounding == CastRounding::toward_zero ? CastRounding::nearest_even : CastRounding::toward_zero;
  conversion_kernel<Line><<<4096, 256>>>(spec_of(Line::kFormat), rule, result);
  cuda_check(cudaGetLastError(), Line::kText);
  cuda_check(cudaDeviceSynchronize(), Line::kText);
  const ConversionResult out{Line::kText,   Line::kInputs,    result->mismatches,
                             result->input, result->hardware, result->model};
  cuda_check(cudaFree(result), "freeing");
  return out;
}

template <typename... Lines>
std::vector<ConversionResult> check_all(bool flip_a_rounding) {
  return {check<Lines>(flip_a_rounding)...};
}

}  // namespace

std::vector<ConversionResult> check_conversions(bool flip_a_rounding) {
  return check_all<RnF16, RzF16, RnSatF16, RzSatF16, RnBf16, RzBf16, RnSatBf16, RzSatBf16, RnTf32, RzTf32,
                   RnaTf32, RnaSatTf32, RnE4m3, RnE5m2, HalfE4m3, HalfE5m2, FromE4m3, FromE5m2>(
      flip_a_rounding);
}

}  // namespace mmaudit::device
