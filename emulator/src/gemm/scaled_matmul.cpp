#include "mmaudit/scaled_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gemm/finisher.hpp"
#include "gemm/k_slices.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

/// Rows of (batch, m, n), shared among threads: each(matrix, i, index of the row's first element).
template <typename Each>
void for_each_row(const Matmul& problem, const MatmulOptions& options, const Each& each) {
  detail::parallel_for(problem.batch * problem.m, options.threads,
                       [&](std::uint64_t row) { each(row / problem.m, row % problem.m, row * problem.n); });
}

/// D of one row, where sum(j) gives a sum and what it is multiplied by.
template <typename Sum>
void write_row(const Matmul& problem, const FastStore& bits, std::uint64_t first, const Sum& sum) {
  detail::with_width(spec_of(problem.epilogue->output).storage_bytes(), [&](auto width) {
    for (std::uint64_t j = 0; j < problem.n; ++j) {
      const ScaledSum x = sum(j);
      store_word(problem.d, width, first + j, bits(x.factor * x.sum));
    }
  });
}

void by_blocks(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
               const ProductFactors& factors, const MatmulOptions& options) {
  const std::uint64_t elements = problem.batch * problem.m * problem.n, stride = problem.promote;
  std::vector<float> totals(elements, 0.0F), sums(elements);
  Matmul part = problem;
  part.promote = 0;
  part.epilogue.reset();
  part.d = sums.data();
  for (std::uint64_t first = 0; first < problem.k; first += stride) {
    part.k = std::min(stride, problem.k - first);
    const KSlice slice({{first, first + part.k}});
    const auto a = slice.of_a(problem, instruction.a), b = slice.of_b(problem, instruction.b);
    part.a = a.data(), part.b = b.data();
    matmul(instruction, datapath, part, options);
    const std::uint64_t block = first / factors.block;
    for_each_row(problem, options, [&](std::uint64_t matrix, std::uint64_t i, std::uint64_t row) {
      const float of_a = factors.a.at(matrix, i, block);
      for (std::uint64_t j = 0, e = row; j < problem.n; ++j, ++e)
        totals[e] = std::fma(of_a * factors.b.at(matrix, j, block), sums[e], totals[e]);
    });
  }
  const FastStore bits(problem.epilogue->output);
  for_each_row(problem, options, [&](std::uint64_t, std::uint64_t, std::uint64_t row) {
    write_row(problem, bits, row, [&](std::uint64_t j) { return ScaledSum{totals[row + j]}; });
  });
}

}  // namespace

std::string why_no_factors(const Instruction& instruction, const Matmul& problem,
                           const ProductFactors& factors) {
  if (!factors.any()) return {};
  if (problem.c != nullptr) return refusal("c: found with factors, allowed: without them");
  if (!problem.epilogue || problem.epilogue->alpha != 1 || problem.epilogue->beta != 0)
    return refusal("epilogue: found another one with factors, allowed: alpha 1, beta 0");
  const Format to = problem.epilogue->output;
  if (to != Format::f32 && to != Format::f16 && to != Format::bf16)
    return refusal("epilogue output: found {}, allowed: f32, f16, bf16", name_of(to));
  if (factors.block == 0) return {};
  if (factors.order != FactorOrder::product)
    return refusal("factor_order: found {} with factor_block, allowed: product", name_of(factors.order));
  if (problem.promote == 0 || factors.block % problem.promote != 0)
    return refusal("promote: found {}, allowed: a divisor of factor_block {}", problem.promote,
                   factors.block);
  if (problem.split_k != 1)
    return refusal("split_k: found {} with factor_block, allowed: 1", problem.split_k);
  if (instruction.d != Format::f32)
    return refusal("inst: found binary16 sums with factor_block, allowed: f32");
  if (instruction.scale != Format::none)
    return refusal("inst: found block scales with factor_block, allowed: none");
  return {};
}

void scaled_matmul(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                   const ProductFactors& factors, const MatmulOptions& options) {
  if (!factors.any()) return matmul(instruction, datapath, problem, options);
  if (factors.block != 0) return by_blocks(instruction, datapath, problem, factors, options);
  const FormatSpec format = spec_of(instruction.d);
  std::vector<std::byte> sums(problem.batch * problem.m * problem.n * format.storage_bytes());
  Matmul plain = problem;
  plain.epilogue.reset();
  plain.d = sums.data();
  matmul(instruction, datapath, plain, options);
  const FastDecode sum_of(format);
  const FastStore bits(problem.epilogue->output);
  for_each_row(problem, options, [&](std::uint64_t matrix, std::uint64_t i, std::uint64_t row) {
    const float of_a = factors.a.at(matrix, i, 0);
    write_row(problem, bits, row, [&](std::uint64_t j) {
      const auto sum = static_cast<float>(sum_of.at(sums.data(), row + j));
      return scaled_sum(sum, of_a, factors.b.at(matrix, j, 0), factors.order);
    });
  });
}

}  // namespace mmaudit
