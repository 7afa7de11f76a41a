#pragma once
// Elements of A B as they are, for any exponents: what errors of slices are measured against.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace mmaudit::report {

/// An element as it is: (high + low) 2^scale; what IEEE 754 says where it is not finite. `size`: the sum of
/// all |a b|, times 2^-scale.
struct ExactElement {
  double high = 0, low = 0, size = 0;
  int scale = 0;
  double chain = 0;       ///< fma after fma in the numbers' format
  bool infinite = false;  ///< finite, and an infinity in the numbers' format
};

/// a + b as a rounded sum, and what it lacks.
inline double two_sum(double a, double b, double& rest) {
  const double sum = a + b, part = sum - a;
  rest = (a - (sum - part)) + (b - part);
  return sum;
}

/// Without an error: all products over the power of two of the largest, in a sum of numbers that don't
/// overlap. What is below 2^-1000 of the largest product may be lost.
template <typename Number>
ExactElement exact_element(const Number* row, const Number* column, std::uint64_t stride, std::uint64_t k) {
  ExactElement out;
  const auto factors = [&](std::uint64_t l, double& x, double& y) {  // in [0.5, 1); their exponent
    int of_x = 0, of_y = 0;
    x = std::frexp(static_cast<double>(row[l]), &of_x);
    y = std::frexp(static_cast<double>(column[l * stride]), &of_y);
    return of_x + of_y;
  };
  double x = 0, y = 0;
  std::optional<int> most;
  for (std::uint64_t l = 0; l < k; ++l) {
    const int exponent = factors(l, x, y);
    if (x * y != 0) most = std::max(most.value_or(exponent), exponent);
  }
  out.scale = most.value_or(0);
  std::vector<double> parts;  // ascending
  const auto add = [&parts](double next) {
    std::size_t kept = 0;
    for (const double part : parts) {
      double rest = 0;
      next = two_sum(next, part, rest);
      if (rest != 0) parts[kept++] = rest;
    }
    parts.resize(kept);
    parts.push_back(next);
  };
  double special = 0;
  for (std::uint64_t l = 0; l < k; ++l) {
    const int shift = factors(l, x, y) - out.scale;
    const double product = x * y;
    if (!std::isfinite(product)) special += product;
    if (!std::isfinite(product) || product == 0) continue;
    add(std::ldexp(std::fma(x, y, -product), shift));
    add(std::ldexp(product, shift));
    out.size += std::ldexp(std::abs(product), shift);
  }
  if (special != 0) {  // a NaN too
    out.high = special, out.size = 0;
    return out;
  }
  for (std::size_t p = parts.size(); p-- > 0;) {
    double rest = 0;
    out.high = two_sum(out.high, parts[p], rest);
    out.low += rest;
  }
  return out;
}

/// The exponent of the power of two above the largest number of a lane; nullopt: one is not finite.
template <typename Number>
std::optional<int> exponent_above(const Number* from, std::uint64_t stride, std::uint64_t k) {
  double most = 0;
  for (std::uint64_t l = 0; l < k; ++l) {
    if (!std::isfinite(from[l * stride])) return std::nullopt;
    most = std::max(most, std::abs(static_cast<double>(from[l * stride])));
  }
  int exponent = 0;
  std::frexp(most, &exponent);
  return exponent;
}

/// Sum2 of Ogita, Rump and Oishi 2005 over scaled rows and columns, within K^2 2^-103 of `size`; without an
/// error where that is not enough: sums that cancel, products that are far below the largest numbers.
template <typename Number>
std::vector<ExactElement> exact_of(const Number* a, const Number* b, std::uint64_t m, std::uint64_t n,
                                   std::uint64_t k) {
  constexpr double kLeast = 0x1p-900;  // below it a product's low part may be lost
  constexpr double kCancels = 0x1p-30;
  std::vector<std::optional<int>> columns;
  std::vector<double> scaled_b(k * n);
  for (std::uint64_t j = 0; j < n; ++j) {
    columns.push_back(exponent_above(b + j, n, k));
    for (std::uint64_t l = 0; l < k; ++l)
      scaled_b[l * n + j] = std::ldexp(static_cast<double>(b[l * n + j]), -columns[j].value_or(0));
  }
  std::vector<ExactElement> out(m * n);
  std::vector<Number> chain(n);
  for (std::uint64_t i = 0; i < m; ++i) {
    ExactElement* const row = &out[i * n];
    const std::optional<int> of_row = exponent_above(a + i * k, 1, k);
    std::fill(chain.begin(), chain.end(), Number{0});
    for (std::uint64_t l = 0; l < k; ++l) {
      const double x = std::ldexp(static_cast<double>(a[i * k + l]), -of_row.value_or(0));
      for (std::uint64_t j = 0; j < n; ++j) {
        const double y = scaled_b[l * n + j], product = x * y, rest = std::fma(x, y, -product);
        double lacks = 0;
        row[j].high = two_sum(row[j].high, product, lacks);
        row[j].low += lacks + rest;
        row[j].size += std::abs(product);
        chain[j] = std::fma(a[i * k + l], b[l * n + j], chain[j]);
      }
    }
    for (std::uint64_t j = 0; j < n; ++j) {
      ExactElement& x = row[j];
      x.scale = of_row.value_or(0) + columns[j].value_or(0);
      if (!of_row || !columns[j] || !(x.size > kLeast) || !(std::abs(x.high + x.low) > kCancels * x.size))
        x = exact_element(a + i * k, b + j, n, k);
      x.chain = static_cast<double>(chain[j]);
      x.infinite =
          std::isfinite(x.high) && !std::isfinite(static_cast<Number>(std::ldexp(x.high + x.low, x.scale)));
    }
  }
  return out;
}

}  // namespace mmaudit::report
