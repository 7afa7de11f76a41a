#pragma once
// Block-scaled mma. Elements travel one per byte, e2m1 too. Source: PTX ISA 9.0, "mma", "Block Scaling".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit mma_mxf8f6f4 = {"mma.mxf8f6f4"};
inline constexpr MatrixUnit mma_mxf4 = {"mma.mxf4"};
inline constexpr MatrixUnit mma_mxf4nvf4 = {"mma.mxf4nvf4"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

inline constexpr Instruction kMmaMx8 = {
    Op::mma, 16, 8, 32, Format::f32, {}, {}, Format::f32, units::mma_mxf8f6f4, 120};
constexpr Instruction mma_fp4(MatrixUnit unit) {
  return {Op::mma, 16, 8, 64, Format::f32, Format::e2m1, Format::e2m1, Format::f32, unit, 120};
}
inline constexpr Instruction kMmaFp4[] = {
    of_kind(mma_fp4(units::mma_mxf4), MmaKind::mxf4, Format::ue8m0, 32),
    of_kind(mma_fp4(units::mma_mxf4nvf4), MmaKind::mxf4nvf4, Format::ue8m0, 32),
    of_kind(mma_fp4(units::mma_mxf4nvf4), MmaKind::mxf4nvf4, Format::ue4m3, 16),
};

inline constexpr auto kMmaMx8Pairs =
    every_pair(of_kind(kMmaMx8, MmaKind::mxf8f6f4, Format::ue8m0, 32), kF8f6f4);

inline constexpr auto kMmaScaled = detail::joined<Instruction>(kMmaMx8Pairs, kMmaFp4);

}  // namespace mmaudit::instructions
