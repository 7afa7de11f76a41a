#include "gemm/fma_products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mmaudit {
namespace {

constexpr std::uint64_t kRows = 4, kBytes = 64;  ///< of a block; of one row of it
template <typename Number>
inline constexpr std::uint64_t kColumns = kBytes / sizeof(Number);

/// Rows of A, row-major, against a panel of B, (k, kColumns).
template <typename Number>
struct Block {
  const Number* a;
  std::uint64_t row_stride;
  const Number* b;
  std::uint64_t k;
};

/// Continues the sums by chains over the block.
template <typename Number>
void chains_plain(const Block<Number>& x, Number (&sums)[kRows][kColumns<Number>]) {
  for (std::uint64_t k = 0; k < x.k; ++k)
    for (std::uint64_t i = 0; i < kRows; ++i)
      for (std::uint64_t j = 0; j < kColumns<Number>; ++j)
        sums[i][j] = std::fma(x.a[i * x.row_stride + k], x.b[k * kColumns<Number> + j], sums[i][j]);
}

#ifdef __x86_64__
#define MMAUDIT_FMA [[gnu::target("avx2,fma")]] inline
MMAUDIT_FMA __m256 loaded(const float* x) { return _mm256_loadu_ps(x); }
MMAUDIT_FMA __m256d loaded(const double* x) { return _mm256_loadu_pd(x); }
MMAUDIT_FMA __m256 spread(const float* x) { return _mm256_broadcast_ss(x); }
MMAUDIT_FMA __m256d spread(const double* x) { return _mm256_broadcast_sd(x); }
MMAUDIT_FMA __m256 multiply_add(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
MMAUDIT_FMA __m256d multiply_add(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
MMAUDIT_FMA void store(float* x, __m256 vector) { _mm256_storeu_ps(x, vector); }
MMAUDIT_FMA void store(double* x, __m256d vector) { _mm256_storeu_pd(x, vector); }

template <typename Number>
MMAUDIT_FMA void chains_fma(const Block<Number>& x, Number (&sums)[kRows][kColumns<Number>]) {
  constexpr std::uint64_t kColumn = kColumns<Number>, kHalf = kColumn / 2;
  // Named one by one: GCC 12 writes an array of them to memory in every step.
  auto low0 = loaded(sums[0]), low1 = loaded(sums[1]), low2 = loaded(sums[2]), low3 = loaded(sums[3]);
  auto high0 = loaded(sums[0] + kHalf), high1 = loaded(sums[1] + kHalf), high2 = loaded(sums[2] + kHalf),
       high3 = loaded(sums[3] + kHalf);
  const Number *const a0 = x.a, *const a1 = a0 + x.row_stride, *const a2 = a1 + x.row_stride,
                      *const a3 = a2 + x.row_stride;
  for (std::uint64_t k = 0; k < x.k; ++k) {
    const auto low = loaded(x.b + k * kColumn), high = loaded(x.b + k * kColumn + kHalf);
    const auto from0 = spread(a0 + k);
    low0 = multiply_add(from0, low, low0);
    high0 = multiply_add(from0, high, high0);
    const auto from1 = spread(a1 + k);
    low1 = multiply_add(from1, low, low1);
    high1 = multiply_add(from1, high, high1);
    const auto from2 = spread(a2 + k);
    low2 = multiply_add(from2, low, low2);
    high2 = multiply_add(from2, high, high2);
    const auto from3 = spread(a3 + k);
    low3 = multiply_add(from3, low, low3);
    high3 = multiply_add(from3, high, high3);
  }
  store(sums[0], low0);
  store(sums[0] + kHalf, high0);
  store(sums[1], low1);
  store(sums[1] + kHalf, high1);
  store(sums[2], low2);
  store(sums[2] + kHalf, high2);
  store(sums[3], low3);
  store(sums[3] + kHalf, high3);
}
#undef MMAUDIT_FMA
#endif

template <typename Number>
void chains(const Block<Number>& x, Number (&sums)[kRows][kColumns<Number>]) {
#ifdef __x86_64__
  static const bool has_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_fma) return chains_fma(x, sums);
#endif
  chains_plain(x, sums);
}

/// a * b + c, rounded once to a format. a, b and c have so few bits that a * b is exact in binary64, and so
/// is the rest of its sum with c (TwoSum). The sum is rounded to odd first: a bf16 product can be a tie that
/// a c far below decides.
float fma_rounded(double a, double b, double c, const FormatSpec& to) {
  const double product = a * b, sum = product + c, of_c = sum - product,
               rest = (product - (sum - of_c)) + (c - of_c);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (std::isfinite(rest) && rest != 0 && bits % 2 == 0) bits = (rest > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return static_cast<float>(decode_value(encode_nearest_even(std::bit_cast<double>(bits), to), to));
}

/// chains() where every fma is rounded to `running`.
struct RoundedChains {
  FormatSpec running;

  void operator()(const Block<float>& x, float (&sums)[kRows][kColumns<float>]) const {
    for (std::uint64_t k = 0; k < x.k; ++k)
      for (std::uint64_t i = 0; i < kRows; ++i)
        for (std::uint64_t j = 0; j < kColumns<float>; ++j)
          sums[i][j] =
              fma_rounded(x.a[i * x.row_stride + k], x.b[k * kColumns<float> + j], sums[i][j], running);
  }
};

template <typename Number, typename Chains>
void product(const Number* a, const Number* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
             std::uint64_t stride, const Number* start, Number* total, unsigned threads,
             const Chains& chains_of) {
  constexpr std::uint64_t kWidth = kColumns<Number>, kTogether = 16;  // blocks of rows that share a panel
  const std::uint64_t panels = detail::quotient_up(columns, kWidth),
                      blocks = detail::quotient_up(rows, kRows),
                      chunks = detail::quotient_up(blocks, kTogether);
  // Whole blocks: what lies beyond A and B is zero, and no sum of it is kept.
  std::vector<Number> of_a(blocks * kRows * k), of_b(panels * k * kWidth);
  std::copy(a, a + rows * k, of_a.begin());
  for (std::uint64_t p = 0; p < panels; ++p)
    for (std::uint64_t i = 0; i < k; ++i)
      std::copy(b + i * columns + p * kWidth, b + i * columns + std::min(columns, (p + 1) * kWidth),
                of_b.begin() + static_cast<std::ptrdiff_t>((p * k + i) * kWidth));
  const auto one_block = [&](std::uint64_t panel, std::uint64_t block) {
    const std::uint64_t rows_here = std::min(kRows, rows - block * kRows),
                        columns_here = std::min(kWidth, columns - panel * kWidth),
                        corner = block * kRows * columns + panel * kWidth;
    Number sums[kRows][kWidth] = {}, totals[kRows][kWidth] = {};
    for (std::uint64_t i = 0; start != nullptr && i < rows_here; ++i)
      std::copy_n(start + corner + i * columns, columns_here, totals[i]);
    const bool alone = stride >= k;  // a chain alone starts from `start`, and keeps its -0
    for (std::uint64_t first = 0; first < k; first += stride) {
      for (std::uint64_t i = 0; i < kRows; ++i)
        for (std::uint64_t j = 0; j < kWidth; ++j) sums[i][j] = alone ? totals[i][j] : Number{0};
      chains_of(Block<Number>{&of_a[block * kRows * k + first], k, &of_b[(panel * k + first) * kWidth],
                              std::min(stride, k - first)},
                sums);
      for (std::uint64_t i = 0; i < kRows; ++i)
        for (std::uint64_t j = 0; j < kWidth; ++j)
          totals[i][j] = alone ? sums[i][j] : totals[i][j] + sums[i][j];
    }
    for (std::uint64_t i = 0; i < rows_here; ++i)
      std::copy_n(totals[i], columns_here, total + corner + i * columns);
  };
  detail::parallel_for(panels * chunks, threads, [&](std::uint64_t item) {
    const std::uint64_t panel = item / chunks, first = item % chunks * kTogether;
    for (std::uint64_t block = first; block < std::min(blocks, first + kTogether); ++block)
      one_block(panel, block);
  });
}

}  // namespace

void fma_product(const float* a, const float* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
                 std::uint64_t stride, const float* start, float* total, unsigned threads, Format running) {
  if (running == Format::f32)
    return product(a, b, rows, columns, k, stride, start, total, threads, chains<float>);
  product(a, b, rows, columns, k, stride, start, total, threads, RoundedChains{spec_of(running)});
}
void fma_product(const double* a, const double* b, std::uint64_t rows, std::uint64_t columns, std::uint64_t k,
                 std::uint64_t stride, const double* start, double* total, unsigned threads) {
  product(a, b, rows, columns, k, stride, start, total, threads, chains<double>);
}

}  // namespace mmaudit
