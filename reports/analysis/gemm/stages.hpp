#pragma once
// The stages between a converted product and its verdict that only the files of this folder call.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// A combination that the architecture can compute, and by what.
struct PathedCombination {
  GemmCombination combination;
  GemmPath path;
};

/// A (m, k) times B (k, n), every `block` of k (0: all of it) times factor(i, j, block). Two binary64 words
/// an element of D (Ogita, Rump, Oishi 2005, Sum2), which take a plain sum of every 32 products.
std::vector<double> blocked_product(
    std::uint64_t m, std::uint64_t n, std::uint64_t k, std::span<const double> a, std::span<const double> b,
    std::uint64_t block, const std::function<double(std::uint64_t, std::uint64_t, std::uint64_t)>& factor,
    const MatmulOptions& how);

/// The same of converted operands, with the factors of software; without C.
std::vector<double> converted_product(const ConvertedOperands& x, const MatmulOptions& how);

/// The sums of converted operands as they leave the tensor cores and the totals, (m, n): in units of the
/// elements, with factors along K in units of the operands.
std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how);

/// Bound on the error of these sums, in the same units; empty where the datapath has none.
std::vector<double> sum_bounds(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how);

/// What happened to the element that errors.worst_row and worst_column name; row and column of the result are
/// those. None where nothing was compared or nothing differs.
std::optional<WorstElement> worst_element(const GemmErrors& errors, const GemmCombination& combination,
                                          const GemmPath& path, const ConvertedOperands& converted,
                                          const GemmOperands& operands, std::span<const double> exact,
                                          const GemmElements& elements);

/// convert_operands() without the product of what they became, which stays empty.
ConvertedOperands convert_alone(const GemmDtype& dtype, const Scaling& scaling, const GemmOperands& operands,
                                const MatmulOptions& how, const ConvertedOperand* b = nullptr);

/// errors_of().total alone; NaN where no element is compared.
double total_error(std::span<const double> exact, std::span<const double> result);

/// Of (m, width); `rows` and `columns` are their places in the whole D, empty: the same ones.
ToleranceTest tolerance_test(std::span<const double> exact, std::span<const double> result,
                             std::span<const std::uint64_t> rows, std::span<const std::uint64_t> columns,
                             std::uint64_t width, const Tolerances& tolerances);

/// Verdict, reason and advice of every row, the method and the remarks.
void judge(GemmAudit& audit);

}  // namespace mmaudit::report
