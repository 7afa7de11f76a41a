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

/// Rows or columns over the power of two above their largest number: that power, and whether all is finite.
struct Scaled {
  std::vector<double> numbers;
  std::vector<int> exponents;
  std::vector<bool> finite;
};
template <typename Number>
Scaled scaled(const Number* from, std::uint64_t lanes, std::uint64_t k, std::uint64_t lane_stride,
              std::uint64_t k_stride) {
  Scaled out{std::vector<double>(lanes * k), std::vector<int>(lanes), std::vector<bool>(lanes, true)};
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    double most = 0;
    for (std::uint64_t i = 0; i < k; ++i) {
      const auto x = static_cast<double>(from[lane * lane_stride + i * k_stride]);
      if (!std::isfinite(x)) out.finite[lane] = false;
      most = std::max(most, std::abs(x));
    }
    if (out.finite[lane]) std::frexp(most, &out.exponents[lane]);
    for (std::uint64_t i = 0; i < k; ++i) {
      const std::uint64_t at = lane * lane_stride + i * k_stride;
      out.numbers[at] = std::ldexp(static_cast<double>(from[at]), -out.exponents[lane]);
    }
  }
  return out;
}

/// Sum2 of Ogita, Rump and Oishi 2005 over scaled rows and columns, within K^2 2^-103 of `size`; without an
/// error where that is not enough: sums that cancel, products that are far below the largest numbers.
template <typename Number>
std::vector<ExactElement> exact_of(const Number* a, const Number* b, std::uint64_t m, std::uint64_t n,
                                   std::uint64_t k) {
  constexpr double kLeast = 0x1p-900;  // below it a product's low part may be lost
  constexpr double kCancels = 0x1p-30;
  const Scaled of_a = scaled(a, m, k, k, 1), of_b = scaled(b, n, k, 1, n);
  std::vector<ExactElement> out(m * n);
  std::vector<Number> chain(n);
  for (std::uint64_t i = 0; i < m; ++i) {
    ExactElement* const row = &out[i * n];
    std::fill(chain.begin(), chain.end(), Number{0});
    for (std::uint64_t l = 0; l < k; ++l) {
      const double x = of_a.numbers[i * k + l];
      for (std::uint64_t j = 0; j < n; ++j) {
        const double y = of_b.numbers[l * n + j], product = x * y, rest = std::fma(x, y, -product);
        double lacks = 0;
        row[j].high = two_sum(row[j].high, product, lacks);
        row[j].low += lacks + rest;
        row[j].size += std::abs(product);
        chain[j] = std::fma(a[i * k + l], b[l * n + j], chain[j]);
      }
    }
    for (std::uint64_t j = 0; j < n; ++j) {
      ExactElement& x = row[j];
      x.scale = of_a.exponents[i] + of_b.exponents[j];
      if (!of_a.finite[i] || !of_b.finite[j] || !(x.size > kLeast) ||
          !(std::abs(x.high + x.low) > kCancels * x.size))
        x = exact_element(a + i * k, b + j, n, k);
      x.chain = static_cast<double>(chain[j]);
      x.infinite =
          std::isfinite(x.high) && !std::isfinite(static_cast<Number>(std::ldexp(x.high + x.low, x.scale)));
    }
  }
  return out;
}

}  // namespace mmaudit::report
