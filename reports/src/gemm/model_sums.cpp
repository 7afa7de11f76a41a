#include "model_sums.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::report {
namespace {

std::uint64_t up(std::uint64_t x, std::uint64_t unit) { return (x + unit - 1) / unit; }

double sum_value(const std::byte* d, std::size_t bytes, std::uint64_t index, const FormatSpec& format) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, d + index * bytes, bytes);
  if (bytes == 4) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return decode_value(bits, format);
}

std::vector<double> dense(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                          const GemmMeans& means) {
  const FormatSpec format = spec_of(path.instruction.d);
  std::vector<std::byte> d(x.m * x.n * format.storage_bytes());
  Matmul problem;
  problem.m = x.m, problem.n = x.n, problem.k = x.k;
  problem.a = x.a.raw.data(), problem.b = x.b.raw.data(), problem.d = d.data();
  problem.promote = c.accumulation.promote;
  problem.split_k = c.accumulation.split_k;
  MatmulOptions how;
  how.threads = means.threads;
  how.progress = means.progress;
  matmul(path.instruction, path.entry->datapath, problem, how);
  std::vector<double> out(x.m * x.n);
  for (std::uint64_t e = 0; e < out.size(); ++e)
    out[e] = sum_value(d.data(), format.storage_bytes(), e, format);
  return out;
}

/// Blocks of K with a factor each: every `promote` of k leaves the tensor core and is put on a binary32
/// total.
std::vector<double> by_blocks(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                              const GemmMeans& means) {
  const std::uint64_t bytes = spec_of(x.dtype.element).storage_bytes(), stride = c.accumulation.promote;
  std::vector<float> totals(x.m * x.n, 0.0F), part(x.m * x.n);
  std::vector<std::byte> a;
  MatmulOptions how;
  how.threads = means.threads;
  how.progress = means.progress;
  for (std::uint64_t start = 0; start < x.k; start += stride) {
    Matmul problem;
    problem.m = x.m, problem.n = x.n, problem.k = std::min(stride, x.k - start);
    a.resize(x.m * problem.k * bytes);
    for (std::uint64_t i = 0; i < x.m; ++i)
      std::memcpy(&a[i * problem.k * bytes], &x.a.raw[(i * x.k + start) * bytes], problem.k * bytes);
    problem.a = a.data(), problem.b = &x.b.raw[start * x.n * bytes], problem.d = part.data();
    matmul(path.instruction, path.entry->datapath, problem, how);
    const std::uint64_t block = start / kScaleBlock;
    for (std::uint64_t i = 0; i < x.m; ++i)
      for (std::uint64_t j = 0; j < x.n; ++j)
        totals[i * x.n + j] =
            std::fma(x.a.factor(i, block) * x.b.factor(j, block), part[i * x.n + j], totals[i * x.n + j]);
  }
  return {totals.begin(), totals.end()};
}

/// One tile of a product whose instruction reads scales, step by step through the plain core.
class ScaledTile {
 public:
  ScaledTile(const GemmPath& path, const ConvertedOperands& x, std::uint64_t row, std::uint64_t column,
             std::uint64_t rows, std::uint64_t columns)
      : path_(path),
        x_(x),
        row_(row),
        column_(column),
        rows_(rows),
        columns_(columns),
        instruction_(path.instruction),
        depth_(static_cast<std::uint64_t>(instruction_.k)),
        block_(static_cast<std::uint64_t>(instruction_.scale_block)),
        scales_(depth_ / block_) {
    instruction_.m = static_cast<std::int16_t>(rows);
    instruction_.n = static_cast<std::int16_t>(columns);
    a_.resize(rows * depth_);
    b_.resize(columns * depth_);
    scale_a_.resize(rows * scales_);
    scale_b_.resize(columns * scales_);
    running_.resize(rows * columns);
  }

  /// From +0, the chain over [first, last).
  const std::vector<float>& run(std::uint64_t first, std::uint64_t last) {
    std::fill(running_.begin(), running_.end(), 0.0F);
    for (std::uint64_t start = first; start < last; start += depth_) {
      gather(start);
      TileView batch;
      batch.tiles = 1;
      batch.a = a_.data(), batch.b = b_.data(), batch.c = running_.data(), batch.d = running_.data();
      batch.scale_a = scale_a_.data(), batch.scale_b = scale_b_.data();
      emulate(instruction_, path_.entry->datapath, batch);
    }
    return running_;
  }

 private:
  /// What lies beyond K is +0 with the scale 1.
  void gather(std::uint64_t start) {
    const auto one = static_cast<std::uint8_t>(one_bits(spec_of(instruction_.scale)));
    const std::uint64_t blocks = up(x_.k, block_);
    for (std::uint64_t k = 0; k < depth_; ++k) {
      const bool inside = start + k < x_.k;
      for (std::uint64_t i = 0; i < rows_; ++i)
        a_[i * depth_ + k] = inside ? x_.a.raw[(row_ + i) * x_.k + start + k] : std::byte{0};
      for (std::uint64_t j = 0; j < columns_; ++j)
        b_[k * columns_ + j] = inside ? x_.b.raw[(start + k) * x_.n + column_ + j] : std::byte{0};
    }
    for (std::uint64_t s = 0; s < scales_; ++s) {
      const std::uint64_t block = start / block_ + s;
      for (std::uint64_t i = 0; i < rows_; ++i)
        scale_a_[i * scales_ + s] = block < blocks ? x_.a.scales[(row_ + i) * blocks + block] : one;
      for (std::uint64_t j = 0; j < columns_; ++j)
        scale_b_[s * columns_ + j] = block < blocks ? x_.b.scales[(column_ + j) * blocks + block] : one;
    }
  }

  const GemmPath& path_;
  const ConvertedOperands& x_;
  std::uint64_t row_, column_, rows_, columns_;
  Instruction instruction_;
  std::uint64_t depth_, block_, scales_;
  std::vector<std::byte> a_, b_;
  std::vector<std::uint8_t> scale_a_, scale_b_;
  std::vector<float> running_;
};

std::vector<double> scaled(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                           const GemmMeans& means) {
  constexpr std::uint64_t kTile = 32;
  const auto depth = static_cast<std::uint64_t>(path.instruction.k);
  const std::uint64_t slice = up(up(x.k, depth), c.accumulation.split_k) * depth;
  const std::uint64_t stride =
      c.accumulation.promote != 0 ? c.accumulation.promote : std::max<std::uint64_t>(slice, 1);
  const bool totals = c.accumulation.promote != 0 || c.accumulation.split_k > 1;
  std::vector<double> out(x.m * x.n, 0.0);
  const std::uint64_t across = up(x.n, kTile);
  std::mutex mutex;
  detail::parallel_for(across * up(x.m, kTile), means.threads, [&](std::uint64_t index) {
    const std::uint64_t row = index / across * kTile, column = index % across * kTile;
    const std::uint64_t rows = std::min(kTile, x.m - row), columns = std::min(kTile, x.n - column);
    ScaledTile tile(path, x, row, column, rows, columns);
    std::vector<float> total(rows * columns, 0.0F);
    for (std::uint64_t start = 0; start < x.k; start += stride) {
      const std::vector<float>& part = tile.run(start, std::min(x.k, start + stride));
      for (std::size_t e = 0; e < total.size(); ++e) total[e] = totals ? total[e] + part[e] : part[e];
    }
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        out[(row + i) * x.n + column + j] = static_cast<double>(total[i * columns + j]);
    if (!means.progress) return;
    const std::lock_guard lock(mutex);
    means.progress(rows * columns * x.k);
  });
  return out;
}

}  // namespace

std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const GemmMeans& means) {
  if (path.instruction.scale != Format::none) return scaled(combination, path, converted, means);
  return combination.scaling == Scaling::blocks ? by_blocks(combination, path, converted, means)
                                                : dense(combination, path, converted, means);
}

GemmElements compute_elements(const GemmCombination& combination, const GemmPath& path,
                              const ConvertedOperands& x, std::span<const double> c, const GemmMeans& means) {
  GemmElements out;
  const std::vector<double> sums = model_sums(combination, path, x, means);
  out.bound = sum_bounds(combination, path, x, means);
  out.accumulator.resize(sums.size());
  out.result.resize(sums.size());
  const Format to = combination.output == Format::none ? combination.dtype.output : combination.output;
  const FormatSpec output = spec_of(to);
  const bool scales = combination.scaling != Scaling::blocks;
  for (std::uint64_t e = 0; e < sums.size(); ++e) {
    const float factor_a = scales ? x.a.factor(e / x.n) : 1.0F,
                factor_b = scales ? x.b.factor(e % x.n) : 1.0F;
    const double exact_factor = static_cast<double>(factor_a) * static_cast<double>(factor_b);
    const double addend = c.empty() ? 0.0 : c[e];
    out.accumulator[e] = sums[e] * exact_factor + addend;
    const float factor = factor_a * factor_b, sum = static_cast<float>(sums[e]);
    const float d = c.empty() ? factor * sum : std::fma(factor, sum, static_cast<float>(addend));
    out.result[e] = decode_value(encode_nearest_even(static_cast<double>(d), output), output);
    if (!out.bound.empty()) out.bound[e] *= exact_factor;
  }
  return out;
}

}  // namespace mmaudit::report
