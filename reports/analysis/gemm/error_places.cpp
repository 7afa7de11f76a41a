// Along which k the quantization error arises, and where in D the error shows.
#include "error_places.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

constexpr std::uint64_t kMostBands = 16;
constexpr std::size_t kListed = 8, kMostWide = 16;
/// What stands out: so many times the share of the k in the middle, together a fifth of the error, and no
/// more of them when nine tenths are reached: one channel of a block makes the others of its block stand out
/// too.
constexpr double kStandsOut = 16, kWorthIt = 0.2, kEnough = 0.9;

/// Sums over the lanes of an operand at one k: of x x, of the converted y y, of e e and e x, where e = y - x.
struct Moments {
  double x = 0, y = 0, e = 0, ex = 0, ey = 0, largest = 0;

  void add(double value, double converted) {
    const double error = converted - value;
    x += value * value;
    y += converted * converted;
    e += error * error;
    ex += error * value;
    ey += error * converted;
    largest = std::max(largest, std::fabs(value));
  }
};

/// ||a^ b^ - a b||^2 of the outer products of one k: e_a b^ + a e_b.
double square_of(const Moments& a, const Moments& b) {
  return std::max(0.0, a.e * b.y + a.x * b.e + 2 * a.ex * b.ey);
}

std::vector<ChannelShare> shares_of(const GemmOperands& x, const ConvertedOperands& converted,
                                    unsigned threads) {
  std::vector<Moments> of_a(x.k), of_b(x.k);
  constexpr std::uint64_t kTogether = 64;  // k: whole lines of A
  detail::parallel_for(detail::quotient_up(x.k, kTogether), threads, [&](std::uint64_t part) {
    const std::uint64_t first = part * kTogether, last = std::min(x.k, first + kTogether);
    for (std::uint64_t i = 0; i < x.m; ++i)
      for (std::uint64_t k = first; k < last; ++k)
        of_a[k].add(x.a[i * x.k + k],
                    converted.a.values[i * x.k + k] * static_cast<double>(converted.a.factor_at(i, k)));
    for (std::uint64_t k = first; k < last; ++k)
      for (std::uint64_t j = 0; j < x.n; ++j)
        of_b[k].add(x.b[k * x.n + j],
                    converted.b.values[k * x.n + j] * static_cast<double>(converted.b.factor_at(j, k)));
  });
  std::vector<ChannelShare> out;
  double all = 0;
  for (std::uint64_t k = 0; k < x.k; ++k) {
    out.push_back({k, square_of(of_a[k], of_b[k]), of_a[k].largest, of_b[k].largest});
    all += out.back().share;
  }
  if (!std::isfinite(all) || all == 0) return {};
  for (ChannelShare& one : out) one.share /= all;
  std::stable_sort(out.begin(), out.end(), [](const ChannelShare& one, const ChannelShare& other) {
    return one.share > other.share;
  });
  return out;
}

/// The largest magnitude of the whole tensor when `without` is left out of it, where the sample tells.
double largest_without(double whole, std::span<const double> all, std::span<const double> rest) {
  const auto largest = [](std::span<const double> values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::fabs(value));
    return most;
  };
  const double left = largest(rest);
  return left < largest(all) ? left : whole;
}

std::optional<double> error_with_wide(const GemmOperands& x, const ConvertedOperands& converted,
                                      std::span<const double> exact, const std::vector<std::uint64_t>& wide,
                                      const MatmulOptions& how) {
  std::vector<double> a(x.a.begin(), x.a.end()), b(x.b.begin(), x.b.end()), wide_a, wide_b;
  for (std::uint64_t i = 0; i < x.m; ++i)
    for (const std::uint64_t k : wide) wide_a.push_back(std::exchange(a[i * x.k + k], 0));
  for (const std::uint64_t k : wide)
    for (std::uint64_t j = 0; j < x.n; ++j) wide_b.push_back(std::exchange(b[k * x.n + j], 0));
  const GemmOperands rest = {
      x.m, x.n, x.k, a, b, {}, largest_without(x.largest_a, x.a, a), largest_without(x.largest_b, x.b, b)};
  const GemmOperands kept = {x.m, x.n, wide.size(), wide_a, wide_b, {}};
  const std::vector<double> narrow = convert_operands(converted.dtype, converted.scaling, rest, how).product;
  const std::vector<double> bf16 =
      convert_operands(*find_gemm_dtype("bf16"), scalings::none, kept, how).product;
  double error = 0, size = 0;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const double difference = narrow[e] + bf16[e] + (x.c.empty() ? 0 : x.c[e]) - exact[e];
    error += difference * difference;
    size += exact[e] * exact[e];
  }
  const double out = std::sqrt(error / size);
  return std::isfinite(out) && size > 0 ? std::optional(out) : std::nullopt;
}

std::vector<std::uint64_t> firsts_of(std::uint64_t count) {
  const std::uint64_t bands = std::min(count, kMostBands);
  std::vector<std::uint64_t> out;
  for (std::uint64_t band = 0; band < bands; ++band) out.push_back(band * count / bands);
  return out;
}

}  // namespace

ChannelStudy channels_of(const GemmOperands& operands, const ConvertedOperands& converted,
                         std::span<const double> exact, const MatmulOptions& how) {
  ChannelStudy out;
  std::vector<ChannelShare> all = shares_of(operands, converted, how.threads);
  if (all.empty()) return out;
  const double middle = all[all.size() / 2].share;
  const auto& [element, other] =
      std::pair(spec_of(converted.dtype.element), spec_of(converted.dtype.element_b()));
  const bool narrow =
      std::max(element.fraction_bits, other.fraction_bits) < spec_of(Format::bf16).fraction_bits;
  const std::size_t most = narrow ? std::min<std::size_t>(kMostWide, all.size() / 16) : 0;
  for (std::size_t i = 0; i < most && all[i].share > kStandsOut * middle && out.wide_share < kEnough; ++i) {
    out.wide.push_back(all[i].k);
    out.wide_share += all[i].share;
  }
  if (out.wide_share < kWorthIt) {
    out.wide.clear();
    out.wide_share = 0;
  }
  if (!out.wide.empty()) {
    const MatmulOptions quiet = {.threads = how.threads, .level = how.level, .progress = {}};
    out.kept = error_with_wide(operands, converted, exact, out.wide, quiet);
  }
  all.resize(std::min(all.size(), kListed));
  out.channels = std::move(all);
  return out;
}

ErrorMap error_map(std::span<const double> exact, std::span<const double> result, std::uint64_t columns,
                   std::span<const std::uint64_t> row_of, std::span<const std::uint64_t> column_of) {
  ErrorMap out;
  if (exact.empty()) return out;
  const std::uint64_t rows = exact.size() / columns;
  const auto down = firsts_of(rows), across = firsts_of(columns);
  for (const std::uint64_t first : down) out.rows.push_back(row_of.empty() ? first : row_of[first]);
  for (const std::uint64_t first : across)
    out.columns.push_back(column_of.empty() ? first : column_of[first]);
  for (std::size_t r = 0; r < down.size(); ++r)
    for (std::size_t c = 0; c < across.size(); ++c) {
      double error = 0, size = 0;
      const std::uint64_t row_end = r + 1 < down.size() ? down[r + 1] : rows;
      const std::uint64_t column_end = c + 1 < across.size() ? across[c + 1] : columns;
      for (std::uint64_t i = down[r]; i < row_end; ++i)
        for (std::uint64_t j = across[c]; j < column_end; ++j) {
          const double x = exact[i * columns + j], d = result[i * columns + j];
          if (!std::isfinite(x) || !std::isfinite(d)) continue;
          error += (d - x) * (d - x);
          size += x * x;
        }
      const double share = std::sqrt(error / size);
      out.errors.push_back(std::isfinite(share) ? std::optional(share) : std::nullopt);
    }
  return out;
}

}  // namespace mmaudit::report
