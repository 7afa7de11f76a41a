#pragma once
// Rows of a matrix reduced as torch's CUDA kernels reduce them: plans as data with evidence, and their bits.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/model/datapath.hpp"

namespace mmaudit {

/// The first three make one number of a row, the last three are norms: rms_norm is torch.nn.functional's,
/// rms_norm_steps is as transformers writes it: float, pow(2), mean, rsqrt, a product, the cast, a product.
enum class RowOperation : std::uint8_t {
  sum,
  mean,
  amax,
  softmax,
  log_softmax,
  layer_norm,
  rms_norm,
  rms_norm_steps
};
inline constexpr std::array<std::string_view, 8> kRowOperations{
    "sum", "mean", "amax", "softmax", "log_softmax", "layer_norm", "rms_norm", "rms_norm_steps"};
constexpr bool one_per_row(RowOperation operation) { return operation <= RowOperation::amax; }

struct RowProblem {
  RowOperation operation = RowOperation::softmax;
  Format type = Format::f32;    ///< of x, weight and bias: f32, bf16, f16
  Format output = Format::f32;  ///< of y: the type; f32 too, but of norms
  std::uint64_t rows = 0, n = 0;
};

/// The elements of a row that thread t of T takes, in this order.
enum class RowWalk : std::uint8_t {
  strided,  ///< t, t + T, t + 2 T, ...; into its accumulators in turn
  vectors,  ///< vectors t, t + T, ...; element i of each into accumulator i, or into the only one. In front
            ///< of the first whole vector in memory, and behind the last: one element per lane
  rounds    ///< vectors, while every thread has one, then as strided. A row that begins inside a vector in
            ///< memory: first one element per thread, as if the vector's beginning were thread 0's
};

/// What is summed.
enum class RowStatistic : std::uint8_t {
  sum,                 ///< a + x
  squares,             ///< fma(x, x, a)
  welford_reciprocal,  ///< mean, squares of deviations and count, by products with 1 / count
  welford_quotient     ///< the same by quotients
};

/// How a row is summed by lanes * groups * blocks threads. Their sums are joined by halves, i with i + half:
/// lanes, then groups. The sums of blocks are taken by one block, strided, and joined: groups, then lanes.
struct RowPlan {
  std::string_view kernel, source;  ///< its name in torch, and the file of torch that has it
  Evidence evidence = Evidence::recorded;
  RowWalk walk = RowWalk::strided;
  RowStatistic statistic = RowStatistic::sum;
  std::uint32_t vector = 1, accumulators = 1, lanes = 32, groups = 1, blocks = 1;
};

/// What: the plan that torch 2.11 takes on an H200 (132 multiprocessors) for rows without gaps.
RowPlan row_plan_of(const RowProblem& problem);
/// "kernel=softmax_warp_forward walk=strided lanes=32 ...".
std::string text_of(const RowPlan& plan);

struct RowOperands {
  const void* x = nullptr;       ///< (rows, n), at a multiple of 16 bytes on the GPU
  const void* weight = nullptr;  ///< (n) or null: none; norms only
  const void* bias = nullptr;    ///< likewise; layer_norm only
  float epsilon = 0;             ///< norms only
};

/// Why reduce_rows() can't do this, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_rows(const RowProblem& problem, const RowOperands& operands);

/// What: y with the bits that torch gives by `plan`. Shapes: (rows) where one_per_row(), else (rows, n).
/// Range and rounding: every step in binary32, as nvcc fuses the kernel's; then once to problem.output; any
/// NaN is the quiet NaN of the conversion. Errors: none when why_no_rows() is empty. Source:
/// docs/row-reductions.md.
void reduce_rows(const RowProblem& problem, const RowPlan& plan, const RowOperands& operands, void* y);

}  // namespace mmaudit
