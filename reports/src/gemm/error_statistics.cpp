// From elements to the figures of a table.
#include <algorithm>
#include <cmath>
#include <limits>

#include "draws.hpp"
#include "mmaudit/report/gemm_errors.hpp"

namespace mmaudit::report {
namespace {

double ratio(double part, double whole) {
  if (part == 0) return 0;
  return whole == 0 ? std::numeric_limits<double>::infinity() : part / whole;
}

/// Distance of the numbers of `format` around x.
double unit_at(double x, const FormatSpec& format) {
  const int exponent = x == 0 ? format.min_exponent() : std::max(std::ilogb(x), format.min_exponent());
  return std::ldexp(1.0, exponent - format.fraction_bits);
}

/// The value below which `share` of them are; reorders.
double percentile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::ceil(share * last));
  std::nth_element(values.begin(), at, values.end());
  return static_cast<double>(*at);
}

bool compares(double exact, double result) { return std::isfinite(exact) && std::isfinite(result); }

struct Sums {
  double exact = 0, total = 0, quantization = 0, accumulation = 0, output = 0, bound = 0;  // of squares
  double size = 0, size_converted = 0, error = 0, magnitude = 0, drift = 0;
};

}  // namespace

GemmErrors errors_of(std::span<const double> exact, const ConvertedOperands& converted,
                     const GemmElements& elements, Format output) {
  const FormatSpec format = spec_of(output);
  GemmErrors out;
  out.elements = exact.size();
  Sums sums;
  std::vector<float> ulps;
  ulps.reserve(exact.size());
  double worst = -1;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const double x = exact[e], q = converted.product[e], s = elements.accumulator[e], d = elements.result[e];
    if (!std::isfinite(x)) {
      ++out.no_exact;
      continue;
    }
    if (!std::isfinite(q) || !std::isfinite(s) || !std::isfinite(d)) {
      ++out.overflow;
      continue;
    }
    ++out.compared;
    const double error = d - x;
    sums.exact += x * x;
    sums.total += error * error;
    sums.quantization += (q - x) * (q - x);
    sums.accumulation += (s - q) * (s - q);
    sums.output += (d - s) * (d - s);
    sums.size += std::fabs(x);
    sums.size_converted += std::fabs(q);
    sums.error += error;
    sums.magnitude += std::fabs(d) - std::fabs(x);
    sums.drift += std::fabs(s) - std::fabs(q);
    const double ulp = std::fabs(error) / unit_at(x, format);
    out.max_ulp = std::max(out.max_ulp, ulp);
    ulps.push_back(static_cast<float>(ulp));
    if (!elements.bound.empty()) {
      sums.bound += elements.bound[e] * elements.bound[e];
      out.of_bound = std::max(out.of_bound, ratio(std::fabs(s - q), elements.bound[e]));
    }
    if (std::fabs(error) <= worst) continue;
    worst = std::fabs(error);
    out.worst_row = e / converted.n;
    out.worst_column = e % converted.n;
    out.worst_exact = x;
    out.worst_result = d;
  }
  const auto norm = [&](double squares) { return std::sqrt(ratio(squares, sums.exact)); };
  out.total = norm(sums.total);
  out.quantization = norm(sums.quantization);
  out.accumulation = norm(sums.accumulation);
  out.output = norm(sums.output);
  out.bias = ratio(sums.error, sums.size);
  out.magnitude_bias = ratio(sums.magnitude, sums.size);
  out.accumulation_drift = ratio(sums.drift, sums.size_converted);
  if (!elements.bound.empty()) out.bound = norm(sums.bound);
  out.p50_ulp = percentile(ulps, 0.5);
  out.p99_ulp = percentile(ulps, 0.99);
  return out;
}

Interval total_interval(std::span<const double> exact, const GemmElements& elements, std::uint64_t columns,
                        bool whole_rows, bool whole_columns, std::uint64_t seed) {
  constexpr std::uint64_t kResamples = 400;
  const std::uint64_t rows = columns == 0 ? 0 : exact.size() / columns;
  std::vector<double> found;
  std::vector<double> of_row(rows), of_column(columns);
  const auto draw = [](std::vector<double>& weights, bool whole, const Draws& draws) {
    std::fill(weights.begin(), weights.end(), whole ? 1.0 : 0.0);
    for (std::uint64_t i = 0; !whole && i < weights.size(); ++i) ++weights[draws.below(weights.size(), i)];
  };
  for (std::uint64_t resample = 0; resample < kResamples; ++resample) {
    draw(of_row, whole_rows, Draws(mixed(seed) + 2 * resample));
    draw(of_column, whole_columns, Draws(mixed(seed) + 2 * resample + 1));
    double error = 0, size = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
      if (of_row[i] == 0) continue;
      double row_error = 0, row_size = 0;
      for (std::uint64_t j = 0; j < columns; ++j) {
        const double x = exact[i * columns + j], d = elements.result[i * columns + j];
        if (of_column[j] == 0 || !compares(x, d)) continue;
        row_error += of_column[j] * (d - x) * (d - x);
        row_size += of_column[j] * x * x;
      }
      error += of_row[i] * row_error;
      size += of_row[i] * row_size;
    }
    found.push_back(std::sqrt(ratio(error, size)));
  }
  std::sort(found.begin(), found.end());
  return {found[kResamples / 40], found[kResamples - 1 - kResamples / 40]};
}

}  // namespace mmaudit::report
