#include "stages.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "mmaudit/detail/parallel.hpp"

namespace mmaudit::report {
namespace {

constexpr std::uint64_t kPanel = 8;      // columns whose sums stay in registers
constexpr std::uint64_t kRows = 4;       // rows that meet a panel at once
constexpr std::uint64_t kRun = 32;       // products summed without compensation
constexpr std::uint64_t kDepth = 512;    // k of a panel of B that stay in the first cache
constexpr std::uint64_t kRowGroup = 64;  // rows that share a packed panel

using Vector __attribute__((vector_size(kPanel * sizeof(double)))) = double;

struct ExactSums {
  double high[kPanel] = {}, low[kPanel] = {};
};

// Wider vectors where there are any: the same operations, so the same sums.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MMAUDIT_EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MMAUDIT_EVERY_WIDTH
#endif

/// high + low += a . b, for kRows rows of A, `stride` apart, and every column of the panel; the rounding of
/// each addition to high goes to low. Every run of products is summed plainly first.
MMAUDIT_EVERY_WIDTH void add_products(const double* __restrict__ a, std::uint64_t stride,
                                      const double* __restrict__ b, std::uint64_t depth, ExactSums* sums) {
  Vector high[kRows], low[kRows];
  for (std::uint64_t r = 0; r < kRows; ++r) {
    __builtin_memcpy(&high[r], sums[r].high, sizeof(Vector));
    __builtin_memcpy(&low[r], sums[r].low, sizeof(Vector));
  }
  for (std::uint64_t first = 0; first < depth; first += kRun) {
    const std::uint64_t end = first + kRun < depth ? first + kRun : depth;
    Vector s0 = {}, s1 = {}, s2 = {}, s3 = {};
    for (std::uint64_t k = first; k < end; ++k) {
      Vector x;
      __builtin_memcpy(&x, b + k * kPanel, sizeof x);
      s0 += a[k] * x;
      s1 += a[stride + k] * x;
      s2 += a[2 * stride + k] * x;
      s3 += a[3 * stride + k] * x;
    }
    const Vector runs[kRows] = {s0, s1, s2, s3};
    for (std::uint64_t r = 0; r < kRows; ++r) {
      const Vector sum = high[r] + runs[r], back = sum - high[r];
      low[r] += (high[r] - (sum - back)) + (runs[r] - back);
      high[r] = sum;
    }
  }
  for (std::uint64_t r = 0; r < kRows; ++r) {
    __builtin_memcpy(sums[r].high, &high[r], sizeof(Vector));
    __builtin_memcpy(sums[r].low, &low[r], sizeof(Vector));
  }
}

/// high + low += x, for every column of the panel.
void add(const double* x, ExactSums& sums) {
  for (std::uint64_t j = 0; j < kPanel; ++j) {
    const double sum = sums.high[j] + x[j], back = sum - sums.high[j];
    sums.low[j] += (sums.high[j] - (sum - back)) + (x[j] - back);
    sums.high[j] = sum;
  }
}

/// Of an infinite or NaN sum the low word says nothing.
double value_of_sum(double high, double low) { return std::isfinite(high) ? high + low : high; }

}  // namespace

std::vector<double> blocked_product(
    std::uint64_t m, std::uint64_t n, std::uint64_t k, std::span<const double> a, std::span<const double> b,
    std::uint64_t block, const std::function<double(std::uint64_t, std::uint64_t, std::uint64_t)>& factor,
    const MatmulOptions& how) {
  std::vector<double> out(m * n, 0.0);
  const std::uint64_t panels = (n + kPanel - 1) / kPanel, groups = (m + kRowGroup - 1) / kRowGroup;
  const std::uint64_t length = block == 0 ? std::max<std::uint64_t>(k, 1) : block;
  std::mutex mutex;
  detail::parallel_for(panels * groups, how.threads, [&](std::uint64_t index) {
    const std::uint64_t first_column = index % panels * kPanel, first_row = index / panels * kRowGroup;
    const std::uint64_t columns = std::min(kPanel, n - first_column),
                        rows = std::min(kRowGroup, m - first_row);
    std::vector<double> packed(kDepth * kPanel);
    std::vector<double> last(kRows * kDepth, 0.0);  // the last rows, filled up with zeros
    std::vector<ExactSums> sums(rows + kRows), totals(rows);
    for (std::uint64_t start = 0; start < k; start += length) {
      const std::uint64_t end = std::min(k, start + length);
      for (std::uint64_t at = start; at < end; at += kDepth) {
        const std::uint64_t depth = std::min(kDepth, end - at);
        for (std::uint64_t p = 0; p < depth; ++p)
          for (std::uint64_t j = 0; j < kPanel; ++j)
            packed[p * kPanel + j] = j < columns ? b[(at + p) * n + first_column + j] : 0.0;
        for (std::uint64_t i = 0; i < rows; i += kRows) {
          const double* from = &a[(first_row + i) * k + at];
          std::uint64_t stride = k;
          if (rows - i < kRows) {
            for (std::uint64_t r = 0; r < rows - i; ++r) std::copy_n(from + r * k, depth, &last[r * kDepth]);
            from = last.data(), stride = kDepth;
          }
          add_products(from, stride, packed.data(), depth, &sums[i]);
        }
      }
      for (std::uint64_t i = 0; i < rows; ++i) {
        double scaled[kPanel] = {};
        for (std::uint64_t j = 0; j < columns; ++j)
          scaled[j] = value_of_sum(sums[i].high[j], sums[i].low[j]) *
                      factor(first_row + i, first_column + j, start / length);
        add(scaled, totals[i]);
      }
      std::fill(sums.begin(), sums.end(), ExactSums{});
    }
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        out[(first_row + i) * n + first_column + j] = value_of_sum(totals[i].high[j], totals[i].low[j]);
    if (!how.progress) return;
    const std::lock_guard lock(mutex);
    how.progress(rows * columns * k);
  });
  return out;
}

std::vector<double> converted_product(const ConvertedOperands& x, const MatmulOptions& how) {
  return blocked_product(
      x.m, x.n, x.k, x.a.values, x.b.values, along_k(x.scaling) ? kScaleBlock : 0,
      [&x](std::uint64_t i, std::uint64_t j, std::uint64_t block) {
        return static_cast<double>(x.a.factor(i, block)) * static_cast<double>(x.b.factor(j, block));
      },
      how);
}

std::vector<double> exact_product(const GemmOperands& x, const MatmulOptions& how) {
  std::vector<double> out = blocked_product(
      x.m, x.n, x.k, x.a, x.b, 0, [](std::uint64_t, std::uint64_t, std::uint64_t) { return 1.0; }, how);
  for (std::size_t i = 0; i < x.c.size(); ++i) out[i] += x.c[i];
  return out;
}

}  // namespace mmaudit::report
