#pragma once
// tcgen05.mma, dense and sparse; m = n = 0 stands for every shape. Source: PTX ISA 9.0, "tcgen05.mma",
// "tcgen05.mma.sp", Table 39.
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit tcgen05_f16 = {"tcgen05.f16"};
inline constexpr MatrixUnit tcgen05_tf32 = {"tcgen05.tf32"};
inline constexpr MatrixUnit tcgen05_f8f6f4 = {"tcgen05.f8f6f4"};
inline constexpr MatrixUnit tcgen05_i8 = {"tcgen05.int8"};
inline constexpr MatrixUnit tcgen05_mxf8f6f4 = {"tcgen05.mxf8f6f4"};
inline constexpr MatrixUnit tcgen05_mxf4 = {"tcgen05.mxf4"};
inline constexpr MatrixUnit tcgen05_mxf4nvf4 = {"tcgen05.mxf4nvf4"};
// The sparse forms are assumed to add like the dense ones; recordings may say otherwise.
inline constexpr MatrixUnit tcgen05_sp_f16 = {"tcgen05.sp.f16"};
inline constexpr MatrixUnit tcgen05_sp_tf32 = {"tcgen05.sp.tf32"};
inline constexpr MatrixUnit tcgen05_sp_f8f6f4 = {"tcgen05.sp.f8f6f4"};
inline constexpr MatrixUnit tcgen05_sp_i8 = {"tcgen05.sp.int8"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

constexpr Instruction tcgen05(MatrixUnit unit, MmaKind kind, std::int16_t k, Format d,
                              Format ab = Format::none) {
  return of_kind({Op::tcgen05, 0, 0, k, d, ab, ab, d, unit, 100}, kind);
}
constexpr auto tcgen05_f8f6f4(Format d) {
  return every_pair(tcgen05(units::tcgen05_f8f6f4, MmaKind::f8f6f4, 32, d), kF8f6f4);
}
constexpr Instruction tcgen05_fp4(MatrixUnit unit, MmaKind kind, Format scale, std::int16_t scale_block) {
  return of_kind(tcgen05(unit, kind, 64, Format::f32, Format::e2m1), kind, scale, scale_block);
}

inline constexpr Instruction kTcgen05Half[] = {
    tcgen05(units::tcgen05_f16, MmaKind::f16, 16, Format::f32, Format::f16),
    tcgen05(units::tcgen05_f16, MmaKind::f16, 16, Format::f16, Format::f16),
    tcgen05(units::tcgen05_f16, MmaKind::f16, 16, Format::f32, Format::bf16),
    tcgen05(units::tcgen05_tf32, MmaKind::tf32, 8, Format::f32, Format::tf32),
};
inline constexpr Instruction kTcgen05Int8 = tcgen05(units::tcgen05_i8, MmaKind::i8, 32, Format::s32);
inline constexpr Instruction kTcgen05Mx8 =
    of_kind(tcgen05(units::tcgen05_mxf8f6f4, MmaKind::mxf8f6f4, 32, Format::f32), MmaKind::mxf8f6f4,
            Format::ue8m0, 32);
inline constexpr Instruction kTcgen05Fp4[] = {
    tcgen05_fp4(units::tcgen05_mxf4, MmaKind::mxf4, Format::ue8m0, 32),
    tcgen05_fp4(units::tcgen05_mxf4nvf4, MmaKind::mxf4nvf4, Format::ue8m0, 32),
    tcgen05_fp4(units::tcgen05_mxf4nvf4, MmaKind::mxf4nvf4, Format::ue8m0, 16),
    tcgen05_fp4(units::tcgen05_mxf4nvf4, MmaKind::mxf4nvf4, Format::ue4m3, 16),
};

inline constexpr auto kTcgen05 = detail::joined<Instruction>(
    kTcgen05Half, tcgen05_f8f6f4(Format::f32), tcgen05_f8f6f4(Format::f16),
    every_integer_pair(kTcgen05Int8, kInt8), every_pair(kTcgen05Mx8, kF8f6f4), kTcgen05Fp4);

inline constexpr Instruction kTcgen05SparseHalf[] = {
    sparse_of(kTcgen05Half[0], units::tcgen05_sp_f16),
    sparse_of(kTcgen05Half[1], units::tcgen05_sp_f16),
    sparse_of(kTcgen05Half[2], units::tcgen05_sp_f16),
    sparse_of(kTcgen05Half[3], units::tcgen05_sp_tf32),
};
/// Without the block-scaled kinds: no source says how their sparse forms add.
inline constexpr auto kTcgen05Sparse = detail::joined<Instruction>(
    kTcgen05SparseHalf, sparse_of(tcgen05_f8f6f4(Format::f32), units::tcgen05_sp_f8f6f4),
    sparse_of(tcgen05_f8f6f4(Format::f16), units::tcgen05_sp_f8f6f4),
    sparse_of(every_integer_pair(kTcgen05Int8, kInt8), units::tcgen05_sp_i8));

}  // namespace mmaudit::instructions
