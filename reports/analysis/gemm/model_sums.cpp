#include "stages.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "element_values.hpp"
#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::report {
namespace {

using detail::quotient_up;

std::vector<double> dense(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                          const MatmulOptions& how) {
  const FormatSpec format = spec_of(path.instruction.d);
  std::vector<std::byte> d(x.m * x.n * format.storage_bytes());
  Matmul problem;
  problem.m = x.m, problem.n = x.n, problem.k = x.k;
  problem.a = x.a.raw.data(), problem.b = x.b.raw.data(), problem.d = d.data();
  problem.promote = c.accumulation.promote;
  problem.split_k = c.accumulation.split_k;
  matmul(path.instruction, path.entry->datapath, problem, how);
  const ElementValues values(format);
  std::vector<double> out(x.m * x.n);
  for (std::uint64_t e = 0; e < out.size(); ++e) out[e] = values.at(d.data(), e);
  return out;
}

/// Blocks of K with a factor each: every `promote` of k leaves the tensor core and is put on a binary32
/// total.
std::vector<double> by_blocks(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                              const MatmulOptions& how) {
  const std::uint64_t bytes = spec_of(x.dtype.element).storage_bytes(), stride = c.accumulation.promote;
  std::vector<float> totals(x.m * x.n, 0.0F), part(x.m * x.n);
  std::vector<std::byte> a;
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

/// Rows and columns of D that are computed together.
struct Block {
  std::uint64_t row, column, rows, columns;
};

/// One block of a product whose instruction reads scales, by the plain core: the sums over [first, last),
/// from +0, one instruction after another.
std::vector<float> block_sums(const GemmPath& path, const ConvertedOperands& x, const Block& block,
                              std::uint64_t first, std::uint64_t last) {
  Instruction inst = path.instruction;
  inst.m = static_cast<std::int16_t>(block.rows);
  inst.n = static_cast<std::int16_t>(block.columns);
  const auto depth = static_cast<std::uint64_t>(inst.k),
             length = static_cast<std::uint64_t>(inst.scale_block);
  const std::uint64_t scales = depth / length, all_scales = quotient_up(x.k, length);
  const auto one = static_cast<std::uint8_t>(one_bits(spec_of(inst.scale)));
  TileBatch tile(inst, 1);
  std::vector<float> sums(block.rows * block.columns, 0.0F);
  TileView view = tile.view();
  view.c = view.d = sums.data();
  for (std::uint64_t start = first; start < last; start += depth) {
    // What lies beyond K is +0 with the scale 1.
    for (std::uint64_t k = 0; k < depth; ++k) {
      const bool inside = start + k < x.k;
      for (std::uint64_t i = 0; i < block.rows; ++i)
        tile.a[i * depth + k] = inside ? x.a.raw[(block.row + i) * x.k + start + k] : std::byte{0};
      for (std::uint64_t j = 0; j < block.columns; ++j)
        tile.b[k * block.columns + j] = inside ? x.b.raw[(start + k) * x.n + block.column + j] : std::byte{0};
    }
    for (std::uint64_t s = 0; s < scales; ++s) {
      const std::uint64_t at = start / length + s;
      for (std::uint64_t i = 0; i < block.rows; ++i)
        tile.scale_a[i * scales + s] = at < all_scales ? x.a.scales[(block.row + i) * all_scales + at] : one;
      for (std::uint64_t j = 0; j < block.columns; ++j)
        tile.scale_b[s * block.columns + j] =
            at < all_scales ? x.b.scales[(block.column + j) * all_scales + at] : one;
    }
    emulate(inst, path.entry->datapath, view);
  }
  return sums;
}

std::vector<double> scaled(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                           const MatmulOptions& how) {
  constexpr std::uint64_t kTile = 32;
  const auto depth = static_cast<std::uint64_t>(path.instruction.k);
  const std::uint64_t slice = quotient_up(quotient_up(x.k, depth), c.accumulation.split_k) * depth;
  const std::uint64_t stride =
      c.accumulation.promote != 0 ? c.accumulation.promote : std::max<std::uint64_t>(slice, 1);
  const bool totals = c.accumulation.promote != 0 || c.accumulation.split_k > 1;
  std::vector<double> out(x.m * x.n, 0.0);
  const std::uint64_t across = quotient_up(x.n, kTile);
  std::mutex mutex;
  detail::parallel_for(across * quotient_up(x.m, kTile), how.threads, [&](std::uint64_t index) {
    const std::uint64_t row = index / across * kTile, column = index % across * kTile;
    const Block block{row, column, std::min(kTile, x.m - row), std::min(kTile, x.n - column)};
    std::vector<float> total(block.rows * block.columns, 0.0F);
    for (std::uint64_t start = 0; start < x.k; start += stride) {
      const std::vector<float> part = block_sums(path, x, block, start, std::min(x.k, start + stride));
      for (std::size_t e = 0; e < total.size(); ++e) total[e] = totals ? total[e] + part[e] : part[e];
    }
    for (std::size_t e = 0; e < total.size(); ++e)
      out[(row + e / block.columns) * x.n + column + e % block.columns] = static_cast<double>(total[e]);
    if (!how.progress) return;
    const std::lock_guard lock(mutex);
    how.progress(block.rows * block.columns * x.k);
  });
  return out;
}

}  // namespace

std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how) {
  if (path.instruction.scale != Format::none) return scaled(combination, path, converted, how);
  return combination.scaling == Scaling::blocks ? by_blocks(combination, path, converted, how)
                                                : dense(combination, path, converted, how);
}

GemmElements compute_elements(const GemmCombination& combination, const GemmPath& path,
                              const ConvertedOperands& x, std::span<const double> c,
                              const MatmulOptions& how) {
  GemmElements out;
  const std::vector<double> sums = model_sums(combination, path, x, how);
  out.bound = sum_bounds(combination, path, x, how);
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
