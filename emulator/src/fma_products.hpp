#pragma once
// Products by chains of fma without a matrix instruction: the same bits on every CPU.
#include <cstdint>

namespace mmaudit {

/// What: total (rows, columns) = A (rows, k) B (k, columns), row-major, each element a chain of fma in
/// ascending k from +0; every `stride` of k the chain is added to the total and starts again, where it is
/// below k. Range and rounding: any; every step to nearest even. `threads`: 0: one per core.
void fma_product(const float* a, const float* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
                 std::uint64_t stride, float* total, unsigned threads);
void fma_product(const double* a, const double* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
                 std::uint64_t stride, double* total, unsigned threads);

}  // namespace mmaudit
