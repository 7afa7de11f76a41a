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

/// A sum of squares in units of a power of two near the largest number, because squares of 1e-200 and 1e200
/// leave binary64. Such units change no bit of a quotient.
class SquareSum {
 public:
  explicit SquareSum(double largest) : exponent_(exponent_of(largest)), unit_(std::ldexp(1.0, -exponent_)) {}

  void add(double x, double weight = 1) { sum_ += weight * (x * unit_) * (x * unit_); }
  void add(const SquareSum& part, double weight) { sum_ += weight * part.sum_; }  // of the same units
  /// The norm of these numbers over the norm of the others.
  [[nodiscard]] double over(const SquareSum& others) const {
    return std::ldexp(std::sqrt(ratio(sum_, others.sum_)), exponent_ - others.exponent_);
  }
  void clear() { sum_ = 0; }
  /// x in these units.
  [[nodiscard]] double scaled(double x) const { return x * unit_; }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  static int exponent_of(double largest) {
    constexpr int kMost = 1000;  // what 2^-kMost multiplies stays in binary64
    return largest == 0 || !std::isfinite(largest) ? 0 : std::clamp(std::ilogb(largest), -kMost, kMost);
  }

  int exponent_;
  double unit_, sum_ = 0;
};

struct Sums {
  double size = 0, size_converted = 0, error = 0, magnitude = 0, drift = 0;
};

/// The rows of the largest errors, and the error in the middle. Rows without a size are left out.
void keep_rows(std::vector<RowError> rows, GemmErrors& out) {
  constexpr std::size_t kListed = 8;
  std::erase_if(rows, [](const RowError& row) { return !std::isfinite(row.error); });
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RowError& x, const RowError& y) { return x.error > y.error; });
  out.middle_row = rows[rows.size() / 2].error;
  rows.resize(std::min(rows.size(), kListed));
  out.rows = std::move(rows);
}

/// The largest finite magnitude that `value(e)` takes.
template <class Value>
double largest_of(std::size_t count, const Value& value) {
  double largest = 0;
  for (std::size_t e = 0; e < count; ++e)
    if (const double size = std::fabs(value(e)); size > largest && std::isfinite(size)) largest = size;
  return largest;
}

}  // namespace

double GemmErrors::sqnr() const { return -20 * std::log10(total); }

GemmErrors errors_of(std::span<const double> exact, const ConvertedOperands& converted,
                     const GemmElements& elements, Format output) {
  const FormatSpec format = spec_of(output);
  GemmErrors out;
  out.elements = exact.size();
  Sums sums;
  const std::size_t count = exact.size();
  const std::vector<double>&sum = elements.accumulator, &result = elements.result, &bounds = elements.bound;
  SquareSum exact_squares(largest_of(count, [&](std::size_t e) { return exact[e]; }));
  SquareSum total(largest_of(count, [&](std::size_t e) { return result[e] - exact[e]; }));
  SquareSum quantization(largest_of(count, [&](std::size_t e) { return converted.product[e] - exact[e]; }));
  SquareSum accumulation(largest_of(count, [&](std::size_t e) { return sum[e] - converted.product[e]; }));
  SquareSum rounding(largest_of(count, [&](std::size_t e) { return result[e] - sum[e]; }));
  SquareSum bound(largest_of(bounds.size(), [&](std::size_t e) { return bounds[e]; }));
  SquareSum result_squares(largest_of(count, [&](std::size_t e) { return result[e]; }));
  SquareSum row_error = total, row_size = exact_squares;
  double together = 0;  // the scalar product of D and the exact product, in the units of both
  std::vector<RowError> rows;
  std::vector<float> ulps;
  ulps.reserve(exact.size());
  double worst = -1;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const double x = exact[e], q = converted.product[e], s = elements.accumulator[e], d = elements.result[e];
    if (e % converted.n == 0) {
      if (e != 0) rows.push_back({e / converted.n - 1, row_error.over(row_size)});
      row_error.clear(), row_size.clear();
    }
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
    exact_squares.add(x);
    total.add(error);
    result_squares.add(d);
    row_size.add(x), row_error.add(error);
    together += exact_squares.scaled(x) * result_squares.scaled(d);
    quantization.add(q - x);
    accumulation.add(s - q);
    rounding.add(d - s);
    sums.size += std::fabs(x);
    sums.size_converted += std::fabs(q);
    sums.error += error;
    sums.magnitude += std::fabs(d) - std::fabs(x);
    sums.drift += std::fabs(s) - std::fabs(q);
    const double ulp = std::fabs(error) / unit_at(x, format);
    out.max_ulp = std::max(out.max_ulp, ulp);
    ulps.push_back(static_cast<float>(ulp));
    if (!elements.bound.empty()) {
      bound.add(elements.bound[e]);
      out.of_bound = std::max(out.of_bound, ratio(std::fabs(s - q), elements.bound[e]));
    }
    if (std::fabs(error) <= worst) continue;
    worst = std::fabs(error);
    out.worst_row = e / converted.n;
    out.worst_column = e % converted.n;
    out.worst_exact = x;
    out.worst_result = d;
  }
  if (count != 0) rows.push_back({(count - 1) / converted.n, row_error.over(row_size)});
  keep_rows(std::move(rows), out);
  out.cosine = ratio(together, std::sqrt(exact_squares.sum()) * std::sqrt(result_squares.sum()));
  out.zero_product = out.compared != 0 && sums.size == 0;
  out.total = total.over(exact_squares);
  out.quantization = quantization.over(exact_squares);
  out.accumulation = accumulation.over(exact_squares);
  out.output = rounding.over(exact_squares);
  out.bias = ratio(sums.error, sums.size);
  out.magnitude_bias = ratio(sums.magnitude, sums.size);
  out.accumulation_drift = ratio(sums.drift, sums.size_converted);
  if (!elements.bound.empty()) out.bound = bound.over(exact_squares);
  out.p50_ulp = percentile(ulps, 0.5);
  out.p99_ulp = percentile(ulps, 0.99);
  return out;
}

Interval total_interval(std::span<const double> exact, const GemmElements& elements, std::uint64_t columns,
                        bool whole_rows, bool whole_columns, std::uint64_t seed) {
  constexpr std::uint64_t kResamples = 400, kFewest = 8;
  const std::uint64_t rows = columns == 0 ? 0 : exact.size() / columns;
  if ((!whole_rows && rows < kFewest) || (!whole_columns && columns < kFewest))
    return {0, std::numeric_limits<double>::infinity()};
  std::vector<double> found;
  std::vector<double> of_row(rows), of_column(columns);
  const auto draw = [](std::vector<double>& weights, bool whole, const Draws& draws) {
    std::fill(weights.begin(), weights.end(), whole ? 1.0 : 0.0);
    for (std::uint64_t i = 0; !whole && i < weights.size(); ++i) ++weights[draws.below(weights.size(), i)];
  };
  SquareSum size(largest_of(exact.size(), [&](std::size_t e) { return exact[e]; }));
  SquareSum error(largest_of(exact.size(), [&](std::size_t e) { return elements.result[e] - exact[e]; }));
  SquareSum row_size = size, row_error = error;
  for (std::uint64_t resample = 0; resample < kResamples; ++resample) {
    draw(of_row, whole_rows, Draws(mixed(seed) + 2 * resample));
    draw(of_column, whole_columns, Draws(mixed(seed) + 2 * resample + 1));
    size.clear(), error.clear();
    for (std::uint64_t i = 0; i < rows; ++i) {
      if (of_row[i] == 0) continue;
      row_size.clear(), row_error.clear();
      for (std::uint64_t j = 0; j < columns; ++j) {
        const double x = exact[i * columns + j], d = elements.result[i * columns + j];
        if (of_column[j] == 0 || !compares(x, d)) continue;
        row_error.add(d - x, of_column[j]);
        row_size.add(x, of_column[j]);
      }
      error.add(row_error, of_row[i]);
      size.add(row_size, of_row[i]);
    }
    found.push_back(error.over(size));
  }
  std::sort(found.begin(), found.end());
  return {found[kResamples / 40], found[kResamples - 1 - kResamples / 40]};
}

}  // namespace mmaudit::report
