#pragma once
// Which products the kernels of gemm_kernels.hpp can do.

namespace mmaudit::sweeps {

/// Every size is a multiple of this.
inline constexpr int kGemmMultiple = 256;
inline constexpr int kMostGemmSize = 16384;

}  // namespace mmaudit::sweeps
