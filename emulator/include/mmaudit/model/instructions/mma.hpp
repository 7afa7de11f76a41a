#pragma once
// Rows of mma of floating-point types. Source: PTX ISA 9.0, "mma".
#include "mmaudit/model/instruction_row.hpp"

namespace mmaudit::rows {

// clang-format off
inline constexpr Instruction kMma[] = {
    {Op::mma, 16, 8,  8, Format::f32, Format::f16,  Format::f16,  Format::f32, MatrixUnit::mma_f16,  75},
    {Op::mma, 16, 8, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, MatrixUnit::mma_f16,  80},
    {Op::mma, 16, 8,  8, Format::f16, Format::f16,  Format::f16,  Format::f16, MatrixUnit::mma_f16,  75},
    {Op::mma, 16, 8, 16, Format::f16, Format::f16,  Format::f16,  Format::f16, MatrixUnit::mma_f16,  80},
    {Op::mma, 16, 8,  8, Format::f32, Format::bf16, Format::bf16, Format::f32, MatrixUnit::mma_f16,  80},
    {Op::mma, 16, 8, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, MatrixUnit::mma_f16,  80},
    {Op::mma, 16, 8,  4, Format::f32, Format::tf32, Format::tf32, Format::f32, MatrixUnit::mma_tf32, 80},
    {Op::mma, 16, 8,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, MatrixUnit::mma_tf32, 80},
    {Op::mma, 16, 8, 16, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e4m3, Format::e4m3, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e4m3, Format::e5m2, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e5m2, Format::e4m3, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 16, Format::f16, Format::e5m2, Format::e5m2, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e4m3, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e5m2, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e4m3, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e5m2, Format::f16, MatrixUnit::mma_fp8,  89},
    {Op::mma,  8, 8,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, MatrixUnit::mma_f64,  80},
    {Op::mma, 16, 8,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, MatrixUnit::mma_f64,  90},
    {Op::mma, 16, 8,  8, Format::f64, Format::f64,  Format::f64,  Format::f64, MatrixUnit::mma_f64,  90},
    {Op::mma, 16, 8, 16, Format::f64, Format::f64,  Format::f64,  Format::f64, MatrixUnit::mma_f64,  90},
    {Op::mma,  8, 8,  4, Format::f32, Format::f16,  Format::f16,  Format::f32, MatrixUnit::mma_884,  70},
    {Op::mma,  8, 8,  4, Format::f32, Format::f16,  Format::f16,  Format::f16, MatrixUnit::mma_884,  70},
    {Op::mma,  8, 8,  4, Format::f16, Format::f16,  Format::f16,  Format::f16, MatrixUnit::mma_884,  70},
};
// clang-format on

}  // namespace mmaudit::rows
