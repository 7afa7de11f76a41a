#pragma once
// Rows of block-scaled mma. Elements travel one a byte, e2m1 too. Source: PTX ISA 9.0, "mma", "Block
// Scaling".
#include "mmaudit/model/instruction_row.hpp"

namespace mmaudit::rows {

// clang-format off
inline constexpr Instruction kMmaScaled[] = {
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e3m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e2m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e5m2, Format::e2m1, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e3m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e2m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e4m3, Format::e2m1, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e5m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e4m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e3m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e2m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e3m2, Format::e2m1, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e5m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e4m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e3m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e2m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m3, Format::e2m1, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e5m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e4m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e3m2, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e2m3, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 32, Format::f32, Format::e2m1, Format::e2m1, Format::f32, MatrixUnit::mma_mxf8f6f4, 120, false, Multiply::product, MmaKind::mxf8f6f4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 64, Format::f32, Format::e2m1, Format::e2m1, Format::f32, MatrixUnit::mma_mxf4, 120, false, Multiply::product, MmaKind::mxf4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 64, Format::f32, Format::e2m1, Format::e2m1, Format::f32, MatrixUnit::mma_mxf4nvf4, 120, false, Multiply::product, MmaKind::mxf4nvf4, Format::ue8m0, 32},
    {Op::mma, 16, 8, 64, Format::f32, Format::e2m1, Format::e2m1, Format::f32, MatrixUnit::mma_mxf4nvf4, 120, false, Multiply::product, MmaKind::mxf4nvf4, Format::ue4m3, 16},
};
// clang-format on

}  // namespace mmaudit::rows
