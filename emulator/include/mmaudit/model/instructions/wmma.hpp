#pragma once
// wmma, the load, multiply and store of whole tiles. A and B have one type. Source: PTX ISA 9.0,
// "wmma.mma".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit wmma_f16 = {"wmma.f16"};
inline constexpr MatrixUnit wmma_tf32 = {"wmma.tf32"};
inline constexpr MatrixUnit wmma_f64 = {"wmma.f64"};
inline constexpr MatrixUnit wmma_i8 = {"wmma.int8"};
inline constexpr MatrixUnit wmma_i4 = {"wmma.int4"};
inline constexpr MatrixUnit wmma_b1 = {"wmma.b1"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

// clang-format off
inline constexpr Instruction kWmma[] = {
    {Op::wmma, 16, 16,  16, Format::f32, Format::f16,  Format::f16,  Format::f32, units::wmma_f16,  70},
    {Op::wmma, 16, 16,  16, Format::f32, Format::f16,  Format::f16,  Format::f16, units::wmma_f16,  70},
    {Op::wmma, 16, 16,  16, Format::f16, Format::f16,  Format::f16,  Format::f32, units::wmma_f16,  70},
    {Op::wmma, 16, 16,  16, Format::f16, Format::f16,  Format::f16,  Format::f16, units::wmma_f16,  70},
    {Op::wmma, 32,  8,  16, Format::f32, Format::f16,  Format::f16,  Format::f32, units::wmma_f16,  70},
    {Op::wmma, 32,  8,  16, Format::f32, Format::f16,  Format::f16,  Format::f16, units::wmma_f16,  70},
    {Op::wmma, 32,  8,  16, Format::f16, Format::f16,  Format::f16,  Format::f32, units::wmma_f16,  70},
    {Op::wmma, 32,  8,  16, Format::f16, Format::f16,  Format::f16,  Format::f16, units::wmma_f16,  70},
    {Op::wmma,  8, 32,  16, Format::f32, Format::f16,  Format::f16,  Format::f32, units::wmma_f16,  70},
    {Op::wmma,  8, 32,  16, Format::f32, Format::f16,  Format::f16,  Format::f16, units::wmma_f16,  70},
    {Op::wmma,  8, 32,  16, Format::f16, Format::f16,  Format::f16,  Format::f32, units::wmma_f16,  70},
    {Op::wmma,  8, 32,  16, Format::f16, Format::f16,  Format::f16,  Format::f16, units::wmma_f16,  70},
    {Op::wmma, 16, 16,  16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::wmma_f16,  80},
    {Op::wmma, 32,  8,  16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::wmma_f16,  80},
    {Op::wmma,  8, 32,  16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::wmma_f16,  80},
    {Op::wmma, 16, 16,   8, Format::f32, Format::tf32, Format::tf32, Format::f32, units::wmma_tf32, 80},
    {Op::wmma,  8,  8,   4, Format::f64, Format::f64,  Format::f64,  Format::f64, units::wmma_f64,  80},
    {Op::wmma, 16, 16,  16, Format::s32, Format::s8,   Format::s8,   Format::s32, units::wmma_i8,   72},
    {Op::wmma, 16, 16,  16, Format::s32, Format::s8,   Format::s8,   Format::s32, units::wmma_i8,   72, true},
    {Op::wmma, 16, 16,  16, Format::s32, Format::u8,   Format::u8,   Format::s32, units::wmma_i8,   72},
    {Op::wmma, 16, 16,  16, Format::s32, Format::u8,   Format::u8,   Format::s32, units::wmma_i8,   72, true},
    {Op::wmma, 32,  8,  16, Format::s32, Format::s8,   Format::s8,   Format::s32, units::wmma_i8,   72},
    {Op::wmma, 32,  8,  16, Format::s32, Format::s8,   Format::s8,   Format::s32, units::wmma_i8,   72, true},
    {Op::wmma, 32,  8,  16, Format::s32, Format::u8,   Format::u8,   Format::s32, units::wmma_i8,   72},
    {Op::wmma, 32,  8,  16, Format::s32, Format::u8,   Format::u8,   Format::s32, units::wmma_i8,   72, true},
    {Op::wmma,  8, 32,  16, Format::s32, Format::s8,   Format::s8,   Format::s32, units::wmma_i8,   72},
    {Op::wmma,  8, 32,  16, Format::s32, Format::s8,   Format::s8,   Format::s32, units::wmma_i8,   72, true},
    {Op::wmma,  8, 32,  16, Format::s32, Format::u8,   Format::u8,   Format::s32, units::wmma_i8,   72},
    {Op::wmma,  8, 32,  16, Format::s32, Format::u8,   Format::u8,   Format::s32, units::wmma_i8,   72, true},
    {Op::wmma,  8,  8,  32, Format::s32, Format::s4,   Format::s4,   Format::s32, units::wmma_i4,   75},
    {Op::wmma,  8,  8,  32, Format::s32, Format::s4,   Format::s4,   Format::s32, units::wmma_i4,   75, true},
    {Op::wmma,  8,  8,  32, Format::s32, Format::u4,   Format::u4,   Format::s32, units::wmma_i4,   75},
    {Op::wmma,  8,  8,  32, Format::s32, Format::u4,   Format::u4,   Format::s32, units::wmma_i4,   75, true},
    {Op::wmma,  8,  8, 128, Format::s32, Format::b1,   Format::b1,   Format::s32, units::wmma_b1,   75, false, Multiply::xor_popc},
    {Op::wmma,  8,  8, 128, Format::s32, Format::b1,   Format::b1,   Format::s32, units::wmma_b1,   80, false, Multiply::and_popc},
};
// clang-format on

}  // namespace mmaudit::instructions
