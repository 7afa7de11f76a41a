#include "mmaudit/scaled_matmul.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "gemm/k_slices.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

/// One element after another of (batch, m, n).
template <typename Each>
void for_each_element(const Matmul& problem, const Each& each) {
  for (std::uint64_t matrix = 0, e = 0; matrix < problem.batch; ++matrix)
    for (std::uint64_t i = 0; i < problem.m; ++i)
      for (std::uint64_t j = 0; j < problem.n; ++j, ++e) each(matrix, i, j, e);
}

void write(const Matmul& problem, ScaledSum x, std::uint64_t e) {
  const Format output = problem.epilogue->output;
  store_word(problem.d, spec_of(output).storage_bytes(), e,
             finished({x.factor, 0, output}, std::bit_cast<std::uint32_t>(x.sum), spec_of(Format::f32), 0));
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
    for_each_element(problem, [&](std::uint64_t matrix, std::uint64_t i, std::uint64_t j, std::uint64_t e) {
      const float factor = factors.a.at(matrix, i, block) * factors.b.at(matrix, j, block);
      totals[e] = std::fma(factor, sums[e], totals[e]);
    });
  }
  for (std::uint64_t e = 0; e < elements; ++e) write(problem, {totals[e]}, e);
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
  for_each_element(problem, [&](std::uint64_t matrix, std::uint64_t i, std::uint64_t j, std::uint64_t e) {
    const auto sum = static_cast<float>(sum_of.at(sums.data(), e));
    write(problem, scaled_sum(sum, factors.a.at(matrix, i, 0), factors.b.at(matrix, j, 0), factors.order), e);
  });
}

}  // namespace mmaudit
