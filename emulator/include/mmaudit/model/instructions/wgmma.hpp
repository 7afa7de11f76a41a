#pragma once
// wgmma; n = 0 stands for every n. Source: PTX ISA 9.0, "wgmma.mma_async".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit wgmma_f16 = {"wgmma.f16"};
inline constexpr MatrixUnit wgmma_tf32 = {"wgmma.tf32"};
inline constexpr MatrixUnit wgmma_fp8 = {"wgmma.fp8"};
inline constexpr MatrixUnit wgmma_i8 = {"wgmma.int8"};
inline constexpr MatrixUnit wgmma_b1 = {"wgmma.b1"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

// clang-format off
inline constexpr Instruction kWgmmaHalf[] = {
    {Op::wgmma, 64, 0, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, units::wgmma_f16,  90},
    {Op::wgmma, 64, 0, 16, Format::f16, Format::f16,  Format::f16,  Format::f16, units::wgmma_f16,  90},
    {Op::wgmma, 64, 0, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::wgmma_f16,  90},
    {Op::wgmma, 64, 0,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, units::wgmma_tf32, 90},
};
inline constexpr Instruction kWgmmaBits[] = {
    {Op::wgmma, 64, 0, 256, Format::s32, Format::b1, Format::b1, Format::s32, units::wgmma_b1, 90, false, Multiply::and_popc},
};
// clang-format on

constexpr auto wgmma_fp8(Format d) {
  return every_pair({Op::wgmma, 64, 0, 32, d, {}, {}, d, units::wgmma_fp8, 90}, kFp8);
}

inline constexpr auto kWgmma = detail::joined<Instruction>(
    kWgmmaHalf, wgmma_fp8(Format::f32), wgmma_fp8(Format::f16),
    every_integer_pair({Op::wgmma, 64, 0, 32, Format::s32, {}, {}, Format::s32, units::wgmma_i8, 90}, kInt8),
    kWgmmaBits);

}  // namespace mmaudit::instructions
