#pragma once
// Operands of whole products whose D tells plans apart. In even rows of A the second half of K is the
// negative of the first half, elsewhere placed, and B is the same in both halves: their exact sums are 0, and
// D is what the roundings leave. Odd rows are ordinary sums. Exponents spread over 8 values (FP8: 4), so that
// alignment cuts bits.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::gen {

enum class GemmSide : std::uint8_t { a, b };

/// The bits of A's element (outer, k) or B's (k, outer), `format` one of f16, bf16, tf32 (all bits of a
/// binary32), e4m3, e5m2, s8.
std::uint64_t gemm_operand(std::uint64_t seed, GemmSide side, Format format, std::uint64_t outer,
                           std::uint64_t k, std::uint64_t depth);

/// The bits of C's element (row, column) in a format of D; those of the bias have the row kBiasRow.
std::uint64_t gemm_addend(std::uint64_t seed, Format format, std::uint64_t row, std::uint64_t column);
inline constexpr std::uint64_t kBiasRow = ~std::uint64_t{0};

/// Rows `outer` of A, (rows, k), or columns of B, (k, columns), contiguous, in storage width.
std::vector<std::byte> gemm_operands(std::uint64_t seed, GemmSide side, Format format,
                                     const std::vector<std::uint64_t>& outer, std::uint64_t depth);

}  // namespace mmaudit::gen
