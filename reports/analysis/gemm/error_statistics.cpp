// From elements to the figures of a table.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/error_bound.hpp"
#include "mmaudit/splitmix64.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

double ratio(double part, double whole) {
  if (part == 0) return 0;
  return whole == 0 ? std::numeric_limits<double>::infinity() : part / whole;
}

/// Distance of the numbers of `format` around x.
double unit_at(double x, const FormatSpec& format) {
  const auto exponent = static_cast<int>(detail::exponent_of_magnitude(x));
  return mmaudit::detail::power_of_two(std::max(exponent, format.min_exponent()) - format.fraction_bits);
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
  explicit SquareSum(double largest = 0)
      : exponent_(exponent_of(largest)), unit_(std::ldexp(1.0, -exponent_)) {}

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

/// The largest finite magnitude seen.
struct Largest {
  double size = 0;
  void see(double x) {
    if (const double magnitude = std::fabs(x); magnitude > size && std::isfinite(magnitude)) size = magnitude;
  }
};

/// Of one row, for the units of its sums.
struct RowSizes {
  Largest exact, total, quantization, accumulation, rounding, bound, result;

  void operator+=(const RowSizes& row) {
    exact.see(row.exact.size), total.see(row.total.size), quantization.see(row.quantization.size);
    accumulation.see(row.accumulation.size), rounding.see(row.rounding.size);
    bound.see(row.bound.size), result.see(row.result.size);
  }
};

/// What the elements of one row add to the figures of all.
struct RowPart {
  std::uint64_t compared = 0, no_exact = 0, overflow = 0;
  double size = 0, size_converted = 0, error = 0, magnitude = 0, drift = 0;
  double together = 0;  ///< the scalar product of D and the exact product, in the units of both
  double max_ulp = 0, of_bound = 0;
  double worst = -1;  ///< the largest error, and where it is
  std::uint64_t worst_at = 0;
  SquareSum exact, total, quantization, accumulation, rounding, bound, result;

  void operator+=(const RowPart& row) {
    compared += row.compared, no_exact += row.no_exact, overflow += row.overflow;
    size += row.size, size_converted += row.size_converted;
    error += row.error, magnitude += row.magnitude, drift += row.drift;
    together += row.together;
    max_ulp = std::max(max_ulp, row.max_ulp), of_bound = std::max(of_bound, row.of_bound);
    if (row.worst > worst) worst = row.worst, worst_at = row.worst_at;
    for (const auto member : {&RowPart::exact, &RowPart::total, &RowPart::quantization,
                              &RowPart::accumulation, &RowPart::rounding, &RowPart::bound, &RowPart::result})
      (this->*member).add(row.*member, 1);
  }
};

/// Stands in a list of ulps for an element that was not compared.
constexpr float kNotCompared = -1;

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

/// GemmErrors::lost_rows or lost_columns: `line_of(e)` is the row or the column of an element.
template <class LineOf>
std::vector<std::uint64_t> lost_lines(std::span<const double> exact, std::span<const double> result,
                                      std::uint64_t lines, const LineOf& line_of) {
  const auto holds = [](double x) { return std::isfinite(x) && x != 0; };
  std::vector<bool> of_exact(lines), of_result(lines);
  for (std::size_t e = 0; e < exact.size(); ++e) {
    if (holds(exact[e])) of_exact[line_of(e)] = true;
    if (holds(result[e])) of_result[line_of(e)] = true;
  }
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < lines; ++i)
    if (of_exact[i] && !of_result[i]) out.push_back(i);
  return out;
}

/// The column of the largest error; columns without a size are left out. The sums are in the units of `all`.
RowError largest_column(std::span<const double> exact, std::span<const double> result, std::uint64_t columns,
                        const RowPart& all) {
  std::vector<SquareSum> sizes(columns, all.exact), errors(columns, all.total);
  for (std::size_t e = 0; e < exact.size(); ++e) {
    if (!compares(exact[e], result[e])) continue;
    sizes[e % columns].add(exact[e]);
    errors[e % columns].add(result[e] - exact[e]);
  }
  RowError out;
  for (std::uint64_t j = 0; j < columns; ++j)
    if (const double error = errors[j].over(sizes[j]); std::isfinite(error) && error > out.error)
      out = {j, error};
  return out;
}

/// The largest finite magnitude that `value(e)` takes.
template <class Value>
double largest_of(std::size_t count, const Value& value) {
  Largest largest;
  for (std::size_t e = 0; e < count; ++e) largest.see(value(e));
  return largest.size;
}

}  // namespace

double GemmErrors::sqnr() const { return -20 * std::log10(total); }

GemmErrors errors_of(std::span<const double> exact, const ConvertedOperands& converted,
                     const GemmElements& elements, Format output, unsigned threads) {
  const FormatSpec format = spec_of(output);
  const std::uint64_t columns = std::max<std::uint64_t>(converted.n, 1), count = exact.size(),
                      rows = detail::quotient_up(count, columns);
  const std::vector<double>&q = converted.product, &s = elements.accumulator, &d = elements.result,
        &bounds = elements.bound;
  const auto by_rows = [&](const auto& work) {
    detail::parallel_for(rows, threads, [&](std::uint64_t i) {
      for (std::uint64_t e = i * columns; e < std::min(count, (i + 1) * columns); ++e) work(i, e);
    });
  };
  std::vector<RowSizes> sizes(rows);
  by_rows([&](std::uint64_t i, std::uint64_t e) {
    RowSizes& row = sizes[i];
    row.exact.see(exact[e]), row.result.see(d[e]), row.total.see(d[e] - exact[e]);
    row.quantization.see(q[e] - exact[e]), row.accumulation.see(s[e] - q[e]), row.rounding.see(d[e] - s[e]);
    if (!bounds.empty()) row.bound.see(bounds[e]);
  });
  RowSizes largest;
  for (const RowSizes& row : sizes) largest += row;
  RowPart all;
  all.exact = SquareSum(largest.exact.size), all.total = SquareSum(largest.total.size);
  all.quantization = SquareSum(largest.quantization.size);
  all.accumulation = SquareSum(largest.accumulation.size);
  all.rounding = SquareSum(largest.rounding.size), all.bound = SquareSum(largest.bound.size);
  all.result = SquareSum(largest.result.size);
  std::vector<RowPart> parts(rows, all);
  std::vector<float> ulps(count, kNotCompared);
  by_rows([&](std::uint64_t i, std::uint64_t e) {
    RowPart& row = parts[i];
    const double x = exact[e];
    if (!std::isfinite(x)) {
      ++row.no_exact;
      return;
    }
    if (!std::isfinite(q[e]) || !std::isfinite(s[e]) || !std::isfinite(d[e])) {
      ++row.overflow;
      return;
    }
    ++row.compared;
    const double error = d[e] - x;
    row.exact.add(x), row.total.add(error), row.result.add(d[e]);
    row.together += row.exact.scaled(x) * row.result.scaled(d[e]);
    row.quantization.add(q[e] - x), row.accumulation.add(s[e] - q[e]), row.rounding.add(d[e] - s[e]);
    row.size += std::fabs(x), row.size_converted += std::fabs(q[e]);
    row.error += error;
    row.magnitude += std::fabs(d[e]) - std::fabs(x);
    row.drift += std::fabs(s[e]) - std::fabs(q[e]);
    const double ulp = std::fabs(error) / unit_at(x, format);
    row.max_ulp = std::max(row.max_ulp, ulp);
    ulps[e] = static_cast<float>(ulp);
    if (!bounds.empty()) {
      row.bound.add(bounds[e]);
      row.of_bound = std::max(row.of_bound, ratio(std::fabs(s[e] - q[e]), bounds[e]));
    }
    if (std::fabs(error) > row.worst) row.worst = std::fabs(error), row.worst_at = e;
  });
  GemmErrors out;
  out.column = largest_column(exact, d, columns, all);
  out.lost_rows = lost_lines(exact, d, rows, [&](std::size_t e) { return e / columns; });
  out.lost_columns = lost_lines(exact, d, columns, [&](std::size_t e) { return e % columns; });
  std::vector<RowError> of_rows;
  for (std::uint64_t i = 0; i < rows; ++i) {
    of_rows.push_back({i, parts[i].total.over(parts[i].exact)});
    all += parts[i];
  }
  out.elements = count;
  out.compared = all.compared, out.no_exact = all.no_exact, out.overflow = all.overflow;
  keep_rows(std::move(of_rows), out);
  if (all.compared != 0) {
    out.worst_row = all.worst_at / columns, out.worst_column = all.worst_at % columns;
    out.worst_exact = exact[all.worst_at], out.worst_result = d[all.worst_at];
  }
  out.cosine = ratio(all.together, std::sqrt(all.exact.sum()) * std::sqrt(all.result.sum()));
  out.zero_product = out.compared != 0 && all.size == 0;
  out.total = all.total.over(all.exact);
  out.quantization = all.quantization.over(all.exact);
  out.accumulation = all.accumulation.over(all.exact);
  out.output = all.rounding.over(all.exact);
  out.bias = ratio(all.error, all.size);
  out.magnitude_bias = ratio(all.magnitude, all.size);
  out.accumulation_drift = ratio(all.drift, all.size_converted);
  out.of_bound = all.of_bound, out.max_ulp = all.max_ulp;
  if (!bounds.empty()) out.bound = all.bound.over(all.exact);
  if (all.compared != count) std::erase(ulps, kNotCompared);
  out.p50_ulp = percentile(ulps, 0.5);
  out.p99_ulp = percentile(ulps, 0.99);
  return out;
}

double total_error(std::span<const double> exact, std::span<const double> result) {
  SquareSum size(largest_of(exact.size(), [&](std::size_t e) { return exact[e]; }));
  SquareSum error(largest_of(exact.size(), [&](std::size_t e) { return result[e] - exact[e]; }));
  bool none = true;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    if (!compares(exact[e], result[e])) continue;
    none = false;
    size.add(exact[e]);
    error.add(result[e] - exact[e]);
  }
  return none ? std::numeric_limits<double>::quiet_NaN() : error.over(size);
}

Interval total_interval(std::span<const double> exact, const GemmElements& elements, std::uint64_t columns,
                        bool whole_rows, bool whole_columns, std::uint64_t seed) {
  constexpr std::uint64_t kResamples = 400, kFewest = 8;
  const std::uint64_t rows = columns == 0 ? 0 : exact.size() / columns;
  if ((!whole_rows && rows < kFewest) || (!whole_columns && columns < kFewest))
    return {0, std::numeric_limits<double>::infinity()};
  std::vector<double> found;
  std::vector<double> of_row(rows), of_column(columns);
  const auto draw = [](std::vector<double>& weights, bool whole, const PlacedDraws& draws) {
    std::fill(weights.begin(), weights.end(), whole ? 1.0 : 0.0);
    for (std::uint64_t i = 0; !whole && i < weights.size(); ++i) ++weights[draws.below(weights.size(), i)];
  };
  SquareSum size(largest_of(exact.size(), [&](std::size_t e) { return exact[e]; }));
  SquareSum error(largest_of(exact.size(), [&](std::size_t e) { return elements.result[e] - exact[e]; }));
  SquareSum row_size = size, row_error = error;
  for (std::uint64_t resample = 0; resample < kResamples; ++resample) {
    draw(of_row, whole_rows, PlacedDraws(mixed(seed) + 2 * resample));
    draw(of_column, whole_columns, PlacedDraws(mixed(seed) + 2 * resample + 1));
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
