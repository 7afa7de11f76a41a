#include "stages.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "element_values.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::report {
namespace {

/// Scales of columns, (columns, blocks), as matmul() takes them: (blocks, columns).
std::vector<std::uint8_t> by_blocks_of_k(const std::vector<std::uint8_t>& scales, std::uint64_t columns,
                                         std::uint64_t blocks) {
  std::vector<std::uint8_t> out(scales.size());
  for (std::uint64_t j = 0; j < columns; ++j)
    for (std::uint64_t block = 0; block < blocks; ++block)
      out[block * columns + j] = scales[j * blocks + block];
  return out;
}

/// One product; where the instruction reads scales, it reads the operands' scales.
std::vector<double> one_product(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                                const MatmulOptions& how) {
  const FormatSpec format = spec_of(path.instruction.d);
  std::vector<std::byte> d(x.m * x.n * format.storage_bytes());
  Matmul problem;
  problem.m = x.m, problem.n = x.n, problem.k = x.k;
  problem.a = x.a.raw.data(), problem.b = x.b.raw.data(), problem.d = d.data();
  problem.promote = c.accumulation.promote;
  problem.split_k = c.accumulation.split_k;
  std::vector<std::uint8_t> scale_b;
  if (path.instruction.scale != Format::none) {
    scale_b = by_blocks_of_k(x.b.scales, x.n, scale_blocks(path.instruction, problem));
    problem.scale_a = x.a.scales.data(), problem.scale_b = scale_b.data();
  }
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

}  // namespace

std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how) {
  const bool factors = along_k(combination.scaling) && path.instruction.scale == Format::none;
  return factors ? by_blocks(combination, path, converted, how)
                 : one_product(combination, path, converted, how);
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
  const bool scales = !along_k(combination.scaling);
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
