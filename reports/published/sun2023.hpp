#pragma once
// Element-wise numeric errors as printed by W. Sun, A. Li, T. Geng, S. Stuijk, H. Corporaal, "Dissecting
// Tensor Cores via Microbenchmarks: Latency, Throughput and Numeric Behaviors", IEEE TPDS 34(1), 2023 (arXiv
// 2206.02874), Tables XII to XV: mean absolute error on an A100, mma.m16n8k8. Transcribed digit for digit.
#include <optional>
#include <string_view>

#include "mmaudit/report/result.hpp"

namespace mmaudit::report::sun2023 {

struct PublishedCell {
  std::string_view table;
  Format dtype, output;
  Operation operation;
  Initialisation init;  ///< what the program does, which for one cell is not what the table's row says
  Reference reference;
  std::string_view printed;
};

// clang-format off
inline constexpr auto kMul = Operation::multiplication;
inline constexpr auto kAdd = Operation::inner_product_add;
inline constexpr auto kAcc = Operation::accumulation;
inline constexpr auto kLow = Initialisation::low;
inline constexpr auto kFp32 = Initialisation::fp32;
inline constexpr auto kCpu = Reference::fp32;
inline constexpr auto kCvt = Reference::fp32_as_output;

inline constexpr PublishedCell kCells[] = {
    {"XII",  Format::bf16, Format::f32, kMul, kLow,  kCpu, "0.0"},
    {"XII",  Format::bf16, Format::f32, kMul, kFp32, kCpu, "1.29E-03"},
    {"XII",  Format::bf16, Format::f32, kAdd, kLow,  kCpu, "0.0"},
    {"XII",  Format::bf16, Format::f32, kAdd, kFp32, kCpu, "1.72E-03"},
    // Printed as "init_BF16"; the BF16 program alone leaves C in FP32.
    {"XII",  Format::bf16, Format::f32, kAcc, Initialisation::low_raw_c, kCpu, "1.89E-08"},
    {"XII",  Format::bf16, Format::f32, kAcc, kFp32, kCpu, "1.13E-03"},
    {"XIII", Format::f16,  Format::f32, kMul, kLow,  kCpu, "0.00"},
    {"XIII", Format::f16,  Format::f32, kMul, kFp32, kCpu, "1.59E-04"},
    {"XIII", Format::f16,  Format::f32, kAdd, kLow,  kCpu, "0.00"},
    {"XIII", Format::f16,  Format::f32, kAdd, kFp32, kCpu, "2.18E-04"},
    {"XIII", Format::f16,  Format::f32, kAcc, kLow,  kCpu, "0.00"},
    {"XIII", Format::f16,  Format::f32, kAcc, kFp32, kCpu, "1.36E-04"},
    {"XIV",  Format::f16,  Format::f16, kMul, kLow,  kCpu, "1.22E-04"},
    {"XIV",  Format::f16,  Format::f16, kMul, kFp32, kCpu, "1.94E-04"},
    {"XIV",  Format::f16,  Format::f16, kMul, kLow,  kCvt, "0.00"},
    {"XIV",  Format::f16,  Format::f16, kMul, kFp32, kCvt, "1.67E-04"},
    {"XIV",  Format::f16,  Format::f16, kAdd, kLow,  kCpu, "1.81E-04"},
    {"XIV",  Format::f16,  Format::f16, kAdd, kFp32, kCpu, "2.99E-04"},
    {"XIV",  Format::f16,  Format::f16, kAdd, kLow,  kCvt, "0.00"},
    {"XIV",  Format::f16,  Format::f16, kAdd, kFp32, kCvt, "2.21E-04"},
    {"XIV",  Format::f16,  Format::f16, kAcc, kLow,  kCpu, "1.81E-04"},
    {"XIV",  Format::f16,  Format::f16, kAcc, kFp32, kCpu, "2.99E-04"},
    {"XIV",  Format::f16,  Format::f16, kAcc, kLow,  kCvt, "0.00"},
    {"XIV",  Format::f16,  Format::f16, kAcc, kFp32, kCvt, "2.21E-04"},
    {"XV",   Format::tf32, Format::f32, kMul, kLow,  kCpu, "0.0"},
    {"XV",   Format::tf32, Format::f32, kMul, kFp32, kCpu, "1.59E-04"},
    {"XV",   Format::tf32, Format::f32, kAdd, kLow,  kCpu, "0.0"},
    {"XV",   Format::tf32, Format::f32, kAdd, kFp32, kCpu, "2.17E-04"},
    {"XV",   Format::tf32, Format::f32, kAcc, kLow,  kCpu, "0.0"},
    {"XV",   Format::tf32, Format::f32, kAcc, kFp32, kCpu, "1.36E-04"},
};
// clang-format on
static_assert(sizeof(kCells) / sizeof(kCells[0]) == 30);

inline constexpr std::string_view kSource = "Sun et al. 2023, Table ";

/// The one cell whose value depends on the width of the accumulator, and the range all widths of real units
/// span.
inline constexpr double kRawCLeast = 1.85e-8, kRawCMost = 2.25e-8;
inline constexpr std::string_view kRawCCause =
    "The paper's BF16 program keeps C in FP32, unlike its FP16 and TF32 programs, so this cell is the "
    "truncation of "
    "the accumulator and not a property of BF16: 1.90e-08 with 1 extra bit (A100), 2.17e-08 with 2 (Hopper), "
    "2.23e-08 "
    "for an exact sum rounded toward zero.";

/// Figure 17: the FP16 curves end at this chain length, at the first infinity.
inline constexpr int kF16ChainEnds = 10;

constexpr std::optional<PublishedCell> find(const ProfileCell& cell) {
  for (const PublishedCell& row : kCells)
    if (row.dtype == cell.dtype && row.output == cell.output && row.operation == cell.operation &&
        row.init == cell.init && row.reference == cell.reference)
      return row;
  return std::nullopt;
}

}  // namespace mmaudit::report::sun2023
