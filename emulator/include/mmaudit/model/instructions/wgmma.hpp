#pragma once
// Rows of wgmma; n = 0 stands for every n. Source: PTX ISA 9.0, "wgmma.mma_async".
#include "mmaudit/model/instruction_row.hpp"

namespace mmaudit::rows {

// clang-format off
inline constexpr Instruction kWgmma[] = {
    {Op::wgmma, 64, 0, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, MatrixUnit::wgmma_f16,  90},
    {Op::wgmma, 64, 0, 16, Format::f16, Format::f16,  Format::f16,  Format::f16, MatrixUnit::wgmma_f16,  90},
    {Op::wgmma, 64, 0, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, MatrixUnit::wgmma_f16,  90},
    {Op::wgmma, 64, 0,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, MatrixUnit::wgmma_tf32, 90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e4m3, Format::e4m3, Format::f16, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e4m3, Format::e5m2, Format::f16, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e5m2, Format::e4m3, Format::f16, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::f16, Format::e5m2, Format::e5m2, Format::f16, MatrixUnit::wgmma_fp8,  90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::wgmma_i8, 90},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 32, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::wgmma_i8, 90, true},
    {Op::wgmma, 64, 0, 256, Format::s32, Format::b1, Format::b1, Format::s32, MatrixUnit::wgmma_b1, 90, false, Multiply::and_popc},
};
// clang-format on

}  // namespace mmaudit::rows
