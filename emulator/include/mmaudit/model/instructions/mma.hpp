#pragma once
// mma of floating-point types. Source: PTX ISA 9.0, "mma".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit mma_f16 = {"mma.f16"};
inline constexpr MatrixUnit mma_tf32 = {"mma.tf32"};
inline constexpr MatrixUnit mma_fp8 = {"mma.fp8"};
inline constexpr MatrixUnit mma_f64 = {"mma.f64"};
/// mma.m8n8k4 of f16: a separate unit on the GPUs that have it; later ones emulate it.
inline constexpr MatrixUnit mma_884 = {"mma.884"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

// clang-format off
inline constexpr Instruction kMmaHalf[] = {
    {Op::mma, 16, 8,  8, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mma_f16,  75},
    {Op::mma, 16, 8, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mma_f16,  80},
    {Op::mma, 16, 8,  8, Format::f16, Format::f16,  Format::f16,  Format::f16, units::mma_f16,  75},
    {Op::mma, 16, 8, 16, Format::f16, Format::f16,  Format::f16,  Format::f16, units::mma_f16,  80},
    {Op::mma, 16, 8,  8, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mma_f16,  80},
    {Op::mma, 16, 8, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mma_f16,  80},
    {Op::mma, 16, 8,  4, Format::f32, Format::tf32, Format::tf32, Format::f32, units::mma_tf32, 80},
    {Op::mma, 16, 8,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, units::mma_tf32, 80},
};
inline constexpr Instruction kMmaDouble[] = {
    {Op::mma,  8, 8,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, units::mma_f64,  80},
    {Op::mma, 16, 8,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, units::mma_f64,  90},
    {Op::mma, 16, 8,  8, Format::f64, Format::f64,  Format::f64,  Format::f64, units::mma_f64,  90},
    {Op::mma, 16, 8, 16, Format::f64, Format::f64,  Format::f64,  Format::f64, units::mma_f64,  90},
};
inline constexpr Instruction kMma884[] = {
    {Op::mma,  8, 8,  4, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mma_884,  70},
    {Op::mma,  8, 8,  4, Format::f32, Format::f16,  Format::f16,  Format::f16, units::mma_884,  70},
    {Op::mma,  8, 8,  4, Format::f16, Format::f16,  Format::f16,  Format::f16, units::mma_884,  70},
};
// clang-format on

constexpr auto mma_fp8(std::int16_t k, Format d) {
  return every_pair({Op::mma, 16, 8, k, d, {}, {}, d, units::mma_fp8, 89}, kFp8);
}

inline constexpr auto kMma =
    detail::joined<Instruction>(kMmaHalf, mma_fp8(16, Format::f32), mma_fp8(32, Format::f32),
                                mma_fp8(16, Format::f16), mma_fp8(32, Format::f16), kMmaDouble, kMma884);

}  // namespace mmaudit::instructions
