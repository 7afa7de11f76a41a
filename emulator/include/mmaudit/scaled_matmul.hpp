#pragma once
// Products whose sums software multiplies by factors of binary32: of tensors, of rows and columns, or of
// blocks of K.
#include <cstdint>
#include <string>

#include "mmaudit/config.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/recipe.hpp"

namespace mmaudit {

/// Factors of one operand: that of a lane (a row of A, a column of B) and a block of k.
struct LaneFactors {
  const float* base = nullptr;  ///< null: every factor is 1
  std::uint64_t matrix_stride = 0, lane_stride = 0, block_stride = 0;

  [[nodiscard]] MMAUDIT_HD float at(std::uint64_t matrix, std::uint64_t lane, std::uint64_t block) const {
    return base == nullptr ? 1.0F : base[matrix * matrix_stride + lane * lane_stride + block * block_stride];
  }
};

struct ProductFactors {
  LaneFactors a, b;
  std::uint64_t block = 0;  ///< elements of k that have one factor, a multiple of `promote`; 0: all of K
  FactorOrder order = FactorOrder::product;  ///< without blocks
  [[nodiscard]] MMAUDIT_HD bool any() const { return a.base != nullptr || b.base != nullptr; }
};

/// A sum times its factors comes as two numbers whose product it is.
struct ScaledSum {
  float sum = 0, factor = 1;
};
MMAUDIT_HD inline ScaledSum scaled_sum(float sum, float a, float b, FactorOrder order) {
  if (order == FactorOrder::product) return {sum, a * b};
  return order == FactorOrder::a_first ? ScaledSum{sum * a, b} : ScaledSum{sum * b, a};
}

/// Why scaled_matmul() can't do what matmul() can, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_factors(const Instruction& instruction, const Matmul& problem,
                           const ProductFactors& factors);

/// What: D = fl32(factor_a factor_b) times the sum in binary32, or as FactorOrder says, then one rounding to
/// nearest even to the epilogue's output; sums of integers are rounded to binary32 first. With blocks, every
/// `promote` of k: total = fma(fl32(factor_a factor_b), sum, total) in binary32, as DeepGEMM does. Shapes: as
/// Matmul, whose epilogue has alpha 1, beta 0 and no C. Errors: none when why_no_matmul() and
/// why_no_factors() are empty; std::bad_alloc.
void scaled_matmul(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
                   const ProductFactors& factors, const MatmulOptions& options = {});

}  // namespace mmaudit
