#pragma once
// Rows of mma with kind::f8f6f4: elements of 8, 6 and 4 bits in any mix, one a byte. Source: PTX ISA 9.0,
// "mma".
#include "mmaudit/model/instruction_row.hpp"

namespace mmaudit::rows {

// clang-format off
inline constexpr Instruction kMmaF8f6f4[] = {
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e3m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e2m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e2m1, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e3m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e2m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e2m1, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e5m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e4m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e3m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e2m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e2m1, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e5m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e4m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e3m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e2m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e2m1, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e5m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e4m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e3m2, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e2m3, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e2m1, Format::f32, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e5m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e4m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e3m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e2m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e5m2, Format::e2m1, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e5m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e4m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e3m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e2m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e4m3, Format::e2m1, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e3m2, Format::e5m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e3m2, Format::e4m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e3m2, Format::e3m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e3m2, Format::e2m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e3m2, Format::e2m1, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m3, Format::e5m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m3, Format::e4m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m3, Format::e3m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m3, Format::e2m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m3, Format::e2m1, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m1, Format::e5m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m1, Format::e4m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m1, Format::e3m2, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m1, Format::e2m3, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
    {Op::mma, 16, 8, 32, Format::f16, Format::e2m1, Format::e2m1, Format::f16, MatrixUnit::mma_f8f6f4, 120, false, Multiply::product, MmaKind::f8f6f4},
};
// clang-format on

}  // namespace mmaudit::rows
