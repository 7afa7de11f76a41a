#pragma once
// Rows of mma.sp and wgmma.sp: half of A is stored, metadata says where it stands (sparse.hpp). n = 0 stands
// for every n of wgmma. Source: PTX ISA 9.0, "mma.sp", "wgmma.mma_async.sp".
#include "mmaudit/model/instruction_row.hpp"

namespace mmaudit::rows {

// clang-format off
inline constexpr Instruction kMmaSparse[] = {
    {Op::mma_sp, 16, 8, 16, Format::f32, Format::f16, Format::f16, Format::f32, MatrixUnit::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 32, Format::f32, Format::f16, Format::f16, Format::f32, MatrixUnit::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 16, Format::f16, Format::f16, Format::f16, Format::f16, MatrixUnit::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 32, Format::f16, Format::f16, Format::f16, Format::f16, MatrixUnit::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, MatrixUnit::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 32, Format::f32, Format::bf16, Format::bf16, Format::f32, MatrixUnit::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 8, Format::f32, Format::tf32, Format::tf32, Format::f32, MatrixUnit::mma_sp_tf32, 80},
    {Op::mma_sp, 16, 8, 16, Format::f32, Format::tf32, Format::tf32, Format::f32, MatrixUnit::mma_sp_tf32, 80},
    {Op::mma_sp, 16, 8, 64, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::mma_sp_fp8, 89},
    {Op::mma_sp, 16, 8, 64, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::mma_sp_fp8, 89},
    {Op::mma_sp, 16, 8, 64, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::mma_sp_fp8, 89},
    {Op::mma_sp, 16, 8, 64, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::mma_sp_fp8, 89},
    {Op::mma_sp, 16, 8, 64, Format::f16, Format::e4m3, Format::e4m3, Format::f16, MatrixUnit::mma_sp_fp8, 120},
    {Op::mma_sp, 16, 8, 64, Format::f16, Format::e4m3, Format::e5m2, Format::f16, MatrixUnit::mma_sp_fp8, 120},
    {Op::mma_sp, 16, 8, 64, Format::f16, Format::e5m2, Format::e4m3, Format::f16, MatrixUnit::mma_sp_fp8, 120},
    {Op::mma_sp, 16, 8, 64, Format::f16, Format::e5m2, Format::e5m2, Format::f16, MatrixUnit::mma_sp_fp8, 120},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 32, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::mma_sp_i8, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::s4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 64, Format::s32, Format::u4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::s4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::s4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::u4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::u4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::s4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::s4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::u4, Format::s4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
    {Op::mma_sp, 16, 8, 128, Format::s32, Format::u4, Format::u4, Format::s32, MatrixUnit::mma_sp_i4, 80, true},
};

inline constexpr Instruction kWgmmaSparse[] = {
    {Op::wgmma_sp, 64, 0, 32, Format::f32, Format::f16, Format::f16, Format::f32, MatrixUnit::wgmma_sp_f16, 90},
    {Op::wgmma_sp, 64, 0, 32, Format::f16, Format::f16, Format::f16, Format::f16, MatrixUnit::wgmma_sp_f16, 90},
    {Op::wgmma_sp, 64, 0, 32, Format::f32, Format::bf16, Format::bf16, Format::f32, MatrixUnit::wgmma_sp_f16, 90},
    {Op::wgmma_sp, 64, 0, 16, Format::f32, Format::tf32, Format::tf32, Format::f32, MatrixUnit::wgmma_sp_tf32, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f32, Format::e4m3, Format::e4m3, Format::f32, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f32, Format::e4m3, Format::e5m2, Format::f32, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f32, Format::e5m2, Format::e4m3, Format::f32, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f32, Format::e5m2, Format::e5m2, Format::f32, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f16, Format::e4m3, Format::e4m3, Format::f16, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f16, Format::e4m3, Format::e5m2, Format::f16, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f16, Format::e5m2, Format::e4m3, Format::f16, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::f16, Format::e5m2, Format::e5m2, Format::f16, MatrixUnit::wgmma_sp_fp8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::wgmma_sp_i8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::wgmma_sp_i8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::wgmma_sp_i8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::wgmma_sp_i8, 90},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::s8, Format::s8, Format::s32, MatrixUnit::wgmma_sp_i8, 90, true},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::s8, Format::u8, Format::s32, MatrixUnit::wgmma_sp_i8, 90, true},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::u8, Format::s8, Format::s32, MatrixUnit::wgmma_sp_i8, 90, true},
    {Op::wgmma_sp, 64, 0, 64, Format::s32, Format::u8, Format::u8, Format::s32, MatrixUnit::wgmma_sp_i8, 90, true},
};
// clang-format on

}  // namespace mmaudit::rows
