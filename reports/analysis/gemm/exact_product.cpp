#include <algorithm>
#include <cmath>
#include <mutex>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

using detail::quotient_up;

constexpr std::uint64_t kPanel = 8;    // columns whose sums stay in registers
constexpr std::uint64_t kRows = 4;     // rows that meet a panel at once
constexpr std::uint64_t kRun = 32;     // products summed without compensation
constexpr std::uint64_t kDepth = 512;  // k of a panel of B that stay in the first cache
// A thread takes so many rows and columns: kDepth of these rows stay in the second cache for all of its
// panels.
constexpr std::uint64_t kBlockRows = 128, kBlockColumns = 8 * kPanel;

struct ExactSums {
  double high[kPanel] = {}, low[kPanel] = {};
};

/// high + low += a . b, for kRows rows of A, `stride` apart, and every column of the panel; the rounding of
/// each addition to high goes to low. Every run of products is summed plainly first. `Bytes` are those of a
/// vector: wider ones than the processor has would be taken apart in memory. `Columns` are those whose sums
/// stay in registers.
template <std::uint64_t Bytes, std::uint64_t Columns>
[[gnu::always_inline]] inline void add_by_vectors(const double* __restrict__ a, std::uint64_t stride,
                                                  const double* __restrict__ b, std::uint64_t depth,
                                                  ExactSums* sums) {
  typedef double Vector __attribute__((vector_size(Bytes)));  // NOLINT: a name of its own drops the size
  constexpr std::uint64_t kLanes = Bytes / sizeof(double), kVectors = Columns / kLanes;
  for (std::uint64_t column = 0; column < kPanel; column += Columns) {
    for (std::uint64_t first = 0; first < depth; first += kRun) {
      const std::uint64_t end = first + kRun < depth ? first + kRun : depth;
      Vector run[kRows][kVectors] = {};
      for (std::uint64_t k = first; k < end; ++k) {
#pragma GCC unroll 2
        for (std::uint64_t v = 0; v < kVectors; ++v) {
          Vector x;
          __builtin_memcpy(&x, b + k * kPanel + column + v * kLanes, sizeof x);
#pragma GCC unroll 4
          for (std::uint64_t r = 0; r < kRows; ++r) run[r][v] += a[r * stride + k] * x;
        }
      }
      for (std::uint64_t r = 0; r < kRows; ++r) {
        for (std::uint64_t v = 0; v < kVectors; ++v) {
          Vector high, low;
          __builtin_memcpy(&high, sums[r].high + column + v * kLanes, sizeof high);
          __builtin_memcpy(&low, sums[r].low + column + v * kLanes, sizeof low);
          const Vector sum = high + run[r][v], back = sum - high;
          low += (high - (sum - back)) + (run[r][v] - back);
          __builtin_memcpy(sums[r].high + column + v * kLanes, &sum, sizeof sum);
          __builtin_memcpy(sums[r].low + column + v * kLanes, &low, sizeof low);
        }
      }
    }
  }
}

using AddProducts = void (*)(const double* __restrict__ a, std::uint64_t stride, const double* __restrict__ b,
                             std::uint64_t depth, ExactSums* sums);

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("avx512f"))) void add_avx512(const double* __restrict__ a, std::uint64_t stride,
                                                   const double* __restrict__ b, std::uint64_t depth,
                                                   ExactSums* sums) {
  add_by_vectors<64, 8>(a, stride, b, depth, sums);
}
__attribute__((target("avx2"))) void add_avx2(const double* __restrict__ a, std::uint64_t stride,
                                              const double* __restrict__ b, std::uint64_t depth,
                                              ExactSums* sums) {
  add_by_vectors<32, 8>(a, stride, b, depth, sums);
}
#endif

/// The same operations by the widest vectors of this processor, so the same results.
AddProducts widest_here() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx512f")) return add_avx512;
  if (__builtin_cpu_supports("avx2")) return add_avx2;
#endif
  return add_by_vectors<16, 4>;
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
  const std::uint64_t across = quotient_up(n, kBlockColumns), down = quotient_up(m, kBlockRows);
  const std::uint64_t length = block == 0 ? std::max<std::uint64_t>(k, 1) : block;
  std::mutex mutex;
  detail::parallel_for(across * down, how.threads, [&](std::uint64_t index) {
    const std::uint64_t first_column = index % across * kBlockColumns,
                        first_row = index / across * kBlockRows;
    const std::uint64_t columns = std::min(kBlockColumns, n - first_column),
                        rows = std::min(kBlockRows, m - first_row), panels = quotient_up(columns, kPanel);
    const AddProducts add_products = widest_here();
    const std::uint64_t room = rows + kRows;  // the last rows may be fewer than meet a panel
    std::vector<double> packed(kDepth * kPanel);
    std::vector<double> last(kRows * kDepth, 0.0);  // these rows, filled up with zeros
    std::vector<ExactSums> sums(panels * room), totals(panels * room);
    for (std::uint64_t start = 0; start < k; start += length) {
      const std::uint64_t end = std::min(k, start + length);
      for (std::uint64_t at = start; at < end; at += kDepth) {
        const std::uint64_t depth = std::min(kDepth, end - at);
        for (std::uint64_t panel = 0; panel < panels; ++panel) {
          const std::uint64_t column = panel * kPanel;
          for (std::uint64_t p = 0; p < depth; ++p)
            for (std::uint64_t j = 0; j < kPanel; ++j)
              packed[p * kPanel + j] =
                  column + j < columns ? b[(at + p) * n + first_column + column + j] : 0.0;
          for (std::uint64_t i = 0; i < rows; i += kRows) {
            const double* from = &a[(first_row + i) * k + at];
            std::uint64_t stride = k;
            if (rows - i < kRows) {
              for (std::uint64_t r = 0; r < rows - i; ++r)
                std::copy_n(from + r * k, depth, &last[r * kDepth]);
              from = last.data(), stride = kDepth;
            }
            add_products(from, stride, packed.data(), depth, &sums[panel * room + i]);
          }
        }
      }
      for (std::uint64_t e = 0; e < panels * room; ++e) {
        const std::uint64_t i = e % room, column = e / room * kPanel;
        double scaled[kPanel] = {};
        for (std::uint64_t j = 0; i < rows && j < std::min(kPanel, columns - column); ++j)
          scaled[j] = value_of_sum(sums[e].high[j], sums[e].low[j]) *
                      factor(first_row + i, first_column + column + j, start / length);
        add(scaled, totals[e]);
      }
      std::fill(sums.begin(), sums.end(), ExactSums{});
    }
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j) {
        const ExactSums& sum = totals[j / kPanel * room + i];
        out[(first_row + i) * n + first_column + j] = value_of_sum(sum.high[j % kPanel], sum.low[j % kPanel]);
      }
    if (!how.progress) return;
    const std::lock_guard lock(mutex);
    how.progress(rows * columns * k);
  });
  return out;
}

std::vector<double> converted_product(const ConvertedOperands& x, const MatmulOptions& how) {
  return blocked_product(
      x.m, x.n, x.k, x.a.values, x.b.values, x.scaling.along_k() ? x.scaling.a.k : 0,
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
