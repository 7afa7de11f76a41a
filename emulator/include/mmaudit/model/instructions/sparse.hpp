#pragma once
// mma.sp and wgmma.sp: half of A is stored, metadata says where it stands (sparse.hpp). n = 0 stands for
// every n of wgmma. Source: PTX ISA 9.0, "mma.sp", "wgmma.mma_async.sp".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
// Sparse instructions run on the dense units but are measured separately.
inline constexpr MatrixUnit mma_sp_f16 = {"mma.sp.f16"};
inline constexpr MatrixUnit mma_sp_tf32 = {"mma.sp.tf32"};
inline constexpr MatrixUnit mma_sp_fp8 = {"mma.sp.fp8"};
inline constexpr MatrixUnit mma_sp_i8 = {"mma.sp.int8"};
inline constexpr MatrixUnit mma_sp_i4 = {"mma.sp.int4"};
inline constexpr MatrixUnit wgmma_sp_f16 = {"wgmma.sp.f16"};
inline constexpr MatrixUnit wgmma_sp_tf32 = {"wgmma.sp.tf32"};
inline constexpr MatrixUnit wgmma_sp_fp8 = {"wgmma.sp.fp8"};
inline constexpr MatrixUnit wgmma_sp_i8 = {"wgmma.sp.int8"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

// clang-format off
inline constexpr Instruction kMmaSparseHalf[] = {
    {Op::mma_sp, 16, 8, 16, Format::f32, Format::f16, Format::f16, Format::f32, units::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 32, Format::f32, Format::f16, Format::f16, Format::f32, units::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 16, Format::f16, Format::f16, Format::f16, Format::f16, units::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 32, Format::f16, Format::f16, Format::f16, Format::f16, units::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 16, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 32, Format::f32, Format::bf16, Format::bf16, Format::f32, units::mma_sp_f16, 80},
    {Op::mma_sp, 16, 8, 8, Format::f32, Format::tf32, Format::tf32, Format::f32, units::mma_sp_tf32, 80},
    {Op::mma_sp, 16, 8, 16, Format::f32, Format::tf32, Format::tf32, Format::f32, units::mma_sp_tf32, 80},
};
inline constexpr Instruction kWgmmaSparseHalf[] = {
    {Op::wgmma_sp, 64, 0, 32, Format::f32, Format::f16, Format::f16, Format::f32, units::wgmma_sp_f16, 90},
    {Op::wgmma_sp, 64, 0, 32, Format::f16, Format::f16, Format::f16, Format::f16, units::wgmma_sp_f16, 90},
    {Op::wgmma_sp, 64, 0, 32, Format::f32, Format::bf16, Format::bf16, Format::f32, units::wgmma_sp_f16, 90},
    {Op::wgmma_sp, 64, 0, 16, Format::f32, Format::tf32, Format::tf32, Format::f32, units::wgmma_sp_tf32, 90},
};
// clang-format on

constexpr auto mma_sparse_fp8(Format d, std::int16_t capability) {
  return every_pair({Op::mma_sp, 16, 8, 64, d, {}, {}, d, units::mma_sp_fp8, capability}, kFp8);
}
constexpr auto mma_sparse_int8(std::int16_t k) {
  return every_integer_pair({Op::mma_sp, 16, 8, k, Format::s32, {}, {}, Format::s32, units::mma_sp_i8, 80},
                            kInt8);
}
constexpr auto mma_sparse_int4(std::int16_t k) {
  return every_integer_pair({Op::mma_sp, 16, 8, k, Format::s32, {}, {}, Format::s32, units::mma_sp_i4, 80},
                            kInt4);
}
constexpr auto wgmma_sparse_fp8(Format d) {
  return every_pair({Op::wgmma_sp, 64, 0, 64, d, {}, {}, d, units::wgmma_sp_fp8, 90}, kFp8);
}

inline constexpr auto kMmaSparse = detail::joined<Instruction>(
    kMmaSparseHalf, mma_sparse_fp8(Format::f32, 89), mma_sparse_fp8(Format::f16, 120), mma_sparse_int8(32),
    mma_sparse_int8(64), mma_sparse_int4(64), mma_sparse_int4(128));

inline constexpr auto kWgmmaSparse = detail::joined<Instruction>(
    kWgmmaSparseHalf, wgmma_sparse_fp8(Format::f32), wgmma_sparse_fp8(Format::f16),
    every_integer_pair({Op::wgmma_sp, 64, 0, 64, Format::s32, {}, {}, Format::s32, units::wgmma_sp_i8, 90},
                       kInt8));

}  // namespace mmaudit::instructions
