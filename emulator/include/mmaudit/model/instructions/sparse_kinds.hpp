#pragma once
// mma.sp with a kind, over twice the depth of the dense instruction. A scale of scale_vec 1X, 2X or 4X
// belongs to 64, 64 or 32 elements of k, of which A stores half. Source: PTX ISA 9.0, "mma.sp", "Block
// Scaling"; CUTLASS, mma_sm120_sparse.hpp (elements of k per scale).
#include "mmaudit/model/instructions/mma_f8f6f4.hpp"
#include "mmaudit/model/instructions/mma_scaled.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit mma_sp_f8f6f4 = {"mma.sp.f8f6f4"};
inline constexpr MatrixUnit mma_sp_mxf8f6f4 = {"mma.sp.mxf8f6f4"};
inline constexpr MatrixUnit mma_sp_mxf4 = {"mma.sp.mxf4"};
inline constexpr MatrixUnit mma_sp_mxf4nvf4 = {"mma.sp.mxf4nvf4"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

inline constexpr Instruction kMmaSparseFp4[] = {
    sparse_of(kMmaFp4[0], units::mma_sp_mxf4),
    sparse_of(kMmaFp4[1], units::mma_sp_mxf4nvf4),
    sparse_of(kMmaFp4[2], units::mma_sp_mxf4nvf4),
};

inline constexpr auto kMmaSparseKinds =
    detail::joined<Instruction>(sparse_of(kMmaF8f6f4, units::mma_sp_f8f6f4),
                                sparse_of(kMmaMx8Pairs, units::mma_sp_mxf8f6f4), kMmaSparseFp4);

}  // namespace mmaudit::instructions
