#include <cmath>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/scaled_matmul.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

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
  if (path.instruction.scale != Format::none)
    problem.scale_a = x.a.scales.data(), problem.scale_b = x.b.scales.data();
  matmul(path.instruction, path.entry->datapath, problem, how);
  const FastDecode values(format);
  std::vector<double> out(x.m * x.n);
  for (std::uint64_t e = 0; e < out.size(); ++e) out[e] = values.at(d.data(), e);
  return out;
}

/// Blocks of K with a factor each: every `promote` of k leaves the tensor core and is put on a binary32
/// total.
std::vector<double> by_blocks(const GemmCombination& c, const GemmPath& path, const ConvertedOperands& x,
                              const MatmulOptions& how) {
  std::vector<float> totals(x.m * x.n);
  Matmul problem;
  problem.m = x.m, problem.n = x.n, problem.k = x.k;
  problem.a = x.a.raw.data(), problem.b = x.b.raw.data(), problem.d = totals.data();
  problem.promote = c.accumulation.promote;
  problem.epilogue = Epilogue{};
  const auto factors = [](const ConvertedOperand& operand) {
    return LaneFactors{operand.factors.data(), 0, operand.lanes == 1 ? 0 : operand.blocks,
                       operand.blocks == 1 ? 0U : 1U};
  };
  scaled_matmul(path.instruction, path.entry->datapath, problem, {factors(x.a), factors(x.b), x.a.depth},
                how);
  return {totals.begin(), totals.end()};
}

}  // namespace

std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how) {
  const bool factors = combination.scaling.along_k() && path.instruction.scale == Format::none;
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
  const FastCast cast(output, CastRule{});
  const FastDecode values(output);
  const bool scales = !combination.scaling.along_k();
  detail::parallel_for(x.m, how.threads, [&](std::uint64_t i) {
    const float factor_a = scales ? x.a.factor(i) : 1.0F;
    for (std::uint64_t j = 0; j < x.n; ++j) {
      const std::uint64_t e = i * x.n + j;
      const float factor_b = scales ? x.b.factor(j) : 1.0F;
      const double exact_factor = static_cast<double>(factor_a) * static_cast<double>(factor_b);
      const double addend = c.empty() ? 0.0 : c[e];
      out.accumulator[e] = sums[e] * exact_factor + addend;
      const auto [sum, factor] =
          scaled_sum(static_cast<float>(sums[e]), factor_a, factor_b, combination.scaling.order);
      const float d = c.empty() ? factor * sum : std::fma(factor, sum, static_cast<float>(addend));
      out.result[e] = values(cast(static_cast<double>(d)));
      if (!out.bound.empty()) out.bound[e] *= exact_factor;
    }
  });
  return out;
}

}  // namespace mmaudit::report
