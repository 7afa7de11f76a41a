#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mmaudit/report/gemm_errors.hpp"

namespace mmaudit::report {

/// A (m, k) times B (k, n), every `block` of k (0: all of it) times factor(i, j, block). Two binary64 words
/// an element of D (Ogita, Rump, Oishi 2005, Sum2), products rounded once where they don't fit one.
std::vector<double> blocked_product(
    std::uint64_t m, std::uint64_t n, std::uint64_t k, std::span<const double> a, std::span<const double> b,
    std::uint64_t block, const std::function<double(std::uint64_t, std::uint64_t, std::uint64_t)>& factor,
    const MatmulOptions& how);

/// The same of converted operands, with the factors of software; without C.
std::vector<double> converted_product(const ConvertedOperands& x, const MatmulOptions& how);

}  // namespace mmaudit::report
