#pragma once
// What a library makes of a product's sums at the end: factors, C, bias, activation, one rounding.
#include <cstdint>

#include "mmaudit/gemm_problem.hpp"

namespace mmaudit {

/// What: D = activation(alpha * sum + beta * C + bias) of binary32 sums. Shapes: sums, c and d (rows,
/// columns), c and d in plan.output, bias (columns) in bias_type_of(problem); c and bias are read where the
/// problem has them. Range and rounding: every step in binary32 to nearest even, the first ones as
/// plan.epilogue says; alpha is (alpha * scale_b) * scale_a, one binary32 number; ReLU makes +0 of what is
/// not above it; GELU is as plan.gelu says; then one rounding to plan.output. Errors: none. Source: H200 and
/// H100, cuBLAS 13.1.0.3: sums of one product each, 64 x 64 elements per kind of kernel.
void finish_gemm(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                 const float* sums, const void* c, const void* bias, void* d);
/// The same of binary64 sums, in binary64.
void finish_gemm(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                 const double* sums, const void* c, const void* bias, void* d);

/// Operands of a product or of a batch, row-major without gaps.
struct GemmBuffers {
  const void* a = nullptr;     ///< (m, k); of a batch one behind the other, or one for all
  const void* b = nullptr;     ///< (k, n), likewise
  const void* c = nullptr;     ///< (m, n) in D's format, likewise; null where beta is 0
  const void* bias = nullptr;  ///< (n) in bias_type_of(problem); null where there is none
};
/// The operands of one product of a batch.
GemmBuffers matrix_of(const GemmProblem& problem, const GemmBuffers& operands, std::uint64_t matrix);

/// Why predict_gemm() can't do this, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_gemm(const GemmProblem& problem, const GemmPlan& plan, const Datapath& datapath);

/// What: one product as the plan and the problem's epilogue say: D of `rows` x `columns` elements; the sizes
/// of the problem but for k mean nothing. Range and rounding: as predict() and finish_gemm(). Errors: none
/// when why_no_gemm() is empty, but what `product` throws.
void predict_gemm(const GemmProblem& problem, const GemmPlan& plan, const Datapath& datapath,
                  std::uint64_t rows, std::uint64_t columns, const GemmBuffers& operands, void* d,
                  const Product& product);

}  // namespace mmaudit
