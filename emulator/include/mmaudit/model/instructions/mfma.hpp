#pragma once
// v_mfma of AMD's matrix cores. An instruction of several blocks is listed with one: the blocks are
// independent products. Source: AMD matrix instruction calculator (shapes, names, GPUs).
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit mfma_f32 = {"mfma.f32"};
inline constexpr MatrixUnit mfma_f16 = {"mfma.f16"};
inline constexpr MatrixUnit mfma_bf16 = {"mfma.bf16"};
inline constexpr MatrixUnit mfma_bf16_1k = {"mfma.bf16_1k"};
inline constexpr MatrixUnit mfma_xf32 = {"mfma.xf32"};
inline constexpr MatrixUnit mfma_fp8 = {"mfma.fp8"};
inline constexpr MatrixUnit mfma_f64 = {"mfma.f64"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

// clang-format off
inline constexpr Instruction kMfmaFloat[] = {
    {Op::mfma, 32, 32,  1, Format::f32, Format::f32,  Format::f32,  Format::f32, units::mfma_f32,     908},
    {Op::mfma, 16, 16,  1, Format::f32, Format::f32,  Format::f32,  Format::f32, units::mfma_f32,     908},
    {Op::mfma,  4,  4,  1, Format::f32, Format::f32,  Format::f32,  Format::f32, units::mfma_f32,     908},
    {Op::mfma, 32, 32,  2, Format::f32, Format::f32,  Format::f32,  Format::f32, units::mfma_f32,     908},
    {Op::mfma, 16, 16,  4, Format::f32, Format::f32,  Format::f32,  Format::f32, units::mfma_f32,     908},
    {Op::mfma, 32, 32,  4, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mfma_f16,     908},
    {Op::mfma, 16, 16,  4, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mfma_f16,     908},
    {Op::mfma,  4,  4,  4, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mfma_f16,     908},
    {Op::mfma, 32, 32,  8, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mfma_f16,     908},
    {Op::mfma, 16, 16, 16, Format::f32, Format::f16,  Format::f16,  Format::f32, units::mfma_f16,     908},
    {Op::mfma, 32, 32,  2, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16,    908},
    {Op::mfma, 16, 16,  2, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16,    908},
    {Op::mfma,  4,  4,  2, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16,    908},
    {Op::mfma, 32, 32,  4, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16,    908},
    {Op::mfma, 16, 16,  8, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16,    908},
    {Op::mfma, 32, 32,  4, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16_1k, 910},
    {Op::mfma, 16, 16,  4, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16_1k, 910},
    {Op::mfma,  4,  4,  4, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16_1k, 910},
    {Op::mfma, 32, 32,  8, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16_1k, 910},
    {Op::mfma, 16, 16, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mfma_bf16_1k, 910},
    {Op::mfma, 16, 16,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, units::mfma_f64,     910},
    {Op::mfma,  4,  4,  4, Format::f64, Format::f64,  Format::f64,  Format::f64, units::mfma_f64,     910},
    {Op::mfma, 32, 32,  4, Format::f32, Format::tf32, Format::tf32, Format::f32, units::mfma_xf32,    942},
    {Op::mfma, 16, 16,  8, Format::f32, Format::tf32, Format::tf32, Format::f32, units::mfma_xf32,    942},
};
// clang-format on

inline constexpr Format kFnuz[] = {Format::e4m3fnuz, Format::e5m2fnuz};
constexpr auto mfma_fp8(std::int16_t side, std::int16_t k) {
  return every_pair({Op::mfma, side, side, k, Format::f32, {}, {}, Format::f32, units::mfma_fp8, 942}, kFnuz);
}

inline constexpr auto kMfma = detail::joined<Instruction>(kMfmaFloat, mfma_fp8(32, 16), mfma_fp8(16, 32));

}  // namespace mmaudit::instructions
