#pragma once
// What a library makes of a product's sums at the end: factors, C, bias, activation, one rounding.
#include <cstdint>

#include "mmaudit/gemm_problem.hpp"

namespace mmaudit {

/// What: D = activation(alpha * sum + beta * C + bias) of binary32 sums. Shapes: sums, c and d (rows,
/// columns), c and d in plan.output, bias (columns) in bias_type_of(problem); c and bias are read where the
/// problem has them. Range and rounding: every step in binary32 to nearest even, the first ones as
/// plan.epilogue says; alpha is alpha * scale_b * scale_a, one binary32 number; ReLU makes +0 of what is not
/// above it; then one rounding to plan.output. Errors: InputError for GELU, whose bits are not known. Source:
/// H200, cuBLAS 13.1.0.3: sums of one product each, 64 x 64 elements per kind of kernel.
void finish_gemm(const GemmProblem& problem, const GemmPlan& plan, std::uint64_t rows, std::uint64_t columns,
                 const float* sums, const void* c, const void* bias, void* d);

}  // namespace mmaudit
