#pragma once
// What becomes of a sum at the end of a product.
#include <cstdint>

#include "mmaudit/matmul.hpp"

namespace mmaudit {

/// Bits of D: fma(alpha, sum, beta * c) of a sum in `sum_format` and a c in the output format, rounded once
/// to the output.
std::uint64_t finished(const Epilogue& epilogue, std::uint64_t sum_bits, const FormatSpec& sum_format,
                       std::uint64_t c_bits);

}  // namespace mmaudit
