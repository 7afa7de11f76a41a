#pragma once
// Accuracy against speed: error levels of the model beside rates of a sweep.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/report/figures.hpp"
#include "mmaudit/report/table.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

/// One way to compute a product.
struct AccuracyRow {
  std::string title, accumulation;  ///< "FP8 E4M3", "promote:128"
  Format element = Format::none;
  std::string instruction;                              ///< n left open
  double total = 0, quantization = 0, accumulated = 0;  ///< relative errors, Frobenius norms
  std::optional<double> flops, flops_per_watt;          ///< flops: of every row that accuracy_rows() makes
  std::string point;                                    ///< where that rate was measured
};

inline constexpr std::uint64_t kAccuracyK = 4096;

/// What: every dtype of the audit's study that the architecture has and the sweep has rates of, plain, with
/// binary16 sums, and FP8 promoted every 32 to 512 of k; N(0, 1), K = 4096, 8 x 32 elements, by the model.
/// Rates: the whole GPU, random operands where there are any. Empty for a compute capability without an
/// architecture.
std::vector<AccuracyRow> accuracy_rows(const SweepResult& result);

report::Table accuracy_table(const std::vector<AccuracyRow>& rows);
/// Total error, and the accumulation's error alone, against the rate.
std::vector<std::string> accuracy_figures(const std::vector<AccuracyRow>& rows);

}  // namespace mmaudit::sweeps
