#pragma once
// Products by chains of fma without a matrix instruction: the same bits on every CPU.
#include <cstdint>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit {

/// What: total (rows, columns) = A (rows, k) B (k, columns), row-major, each element a chain of fma in
/// ascending k; every `stride` of k the chain is added to the total and starts again from +0, where it is
/// below k. The chain, or the total, begins with the element of `start` (rows, columns), null: +0. Range and
/// rounding: any; every step to nearest even. `threads`: 0: one per core. `running`: of f16 and bf16 every
/// fma is rounded once, to that format, subnormals kept; A, B and the start of a chain hold numbers of it.
void fma_product(const float* a, const float* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
                 std::uint64_t stride, const float* start, float* total, unsigned threads,
                 Format running = Format::f32);
void fma_product(const double* a, const double* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
                 std::uint64_t stride, const double* start, double* total, unsigned threads);

}  // namespace mmaudit
