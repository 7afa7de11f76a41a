#pragma once
// Sizes of the images of wgmma operands: k is 32 bytes long whatever the type, and 64 of a sparse
// instruction's B. Source: PTX ISA 9.0, shapes of wgmma.mma_async.

namespace mmaudit::sweeps {

inline constexpr int kBytesA = 64 * 32;
constexpr int bytes_per_column(bool sparse) { return sparse ? 64 : 32; }

/// Warpgroups of a block that have registers enough, with 40 beside the accumulators.
template <int Accumulators>
inline constexpr int kMostWarpgroups = Accumulators > 80 ? 2 : 4;

}  // namespace mmaudit::sweeps
