// Which kernel torch takes, and its launch: the rules of Reduce.cuh, SoftMax.cu and layer_norm_kernel.cu.
#include <algorithm>
#include <bit>

#include "mmaudit/functions/row_reduction.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

// Constants of those files, and the properties of an H100 or H200 that they ask for.
constexpr std::uint64_t kWarp = 32, kReduceThreads = 512, kSoftmaxThreads = 1024, kMomentThreads = 512;
constexpr std::uint64_t kMultiprocessors = 132, kThreadsPerMultiprocessor = 2048, kSharedBytes = 49152;
constexpr std::uint64_t kPersistent = 2048, kPersistentToFloat = 1024, kRegisters = 10, kVectorBytes = 16;
constexpr std::uint64_t kLeastForVectors = 128, kVector = 4, kWideVector = 8, kNormGroups = 4;
constexpr std::uint64_t kLeastPerThread = 16, kMostPerThread = 256;
// The longest rows that were compared with the GPU (docs/row-reductions.md), and the bytes from which on
// TensorIterator splits a sum.
constexpr std::uint64_t kMostCompared = 151936, kMostSummed = 1 << 20, kSplitBytes = std::uint64_t{1} << 31;

constexpr std::string_view kWalks[] = {"strided", "vectors", "rounds"};
constexpr std::string_view kStatistics[] = {"sum", "squares", "welford_reciprocal", "welford_quotient"};

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// setReduceConfig. Sums and means of 16-bit numbers load 16 bytes at once; rms_norm_steps sums f32.
RowPlan reduce_plan(const RowProblem& problem) {
  const std::uint64_t rows = problem.rows, n = problem.n;
  RowPlan plan{"reduce_kernel", "Reduce.cuh"};
  plan.accumulators = kVector;
  if (n >= kLeastForVectors) {
    const bool wide = problem.operation <= RowOperation::mean && problem.type != Format::f32;
    plan.walk = RowWalk::vectors;
    plan.vector = plan.accumulators = wide ? kWideVector : kVector;
  }
  const std::uint64_t across = std::bit_floor(std::min(n / plan.vector, kReduceThreads));
  const std::uint64_t down = std::bit_floor(std::min(rows, kReduceThreads));
  const std::uint64_t height = std::min(down, kReduceThreads / std::min(across, kWarp));
  const std::uint64_t width = std::min(across, kReduceThreads / height);
  plan.lanes = narrow(width);
  if (ceil_div(n, width) < std::min(height * kLeastPerThread, kMostPerThread))
    return plan;  // a row per group
  plan.groups = narrow(height);
  const std::uint64_t each = ceil_div(n, width * height);
  const std::uint64_t grid = kMultiprocessors * (kThreadsPerMultiprocessor / (width * height));
  if (each >= kMostPerThread && rows <= grid)
    plan.blocks = narrow(std::max(std::min(ceil_div(grid, rows), ceil_div(each, kLeastPerThread)),
                                  ceil_div(each, kMostPerThread)));
  return plan;
}

/// host_softmax. Of f16 one kernel gives f32; bf16 is made f32 by another kernel before.
RowPlan softmax_plan(const RowProblem& problem) {
  const bool to_float = problem.type == Format::f16 && problem.output == Format::f32;
  const std::uint64_t n = problem.n;
  const std::uint64_t bytes = spec_of(to_float ? problem.type : problem.output).storage_bytes();
  RowPlan plan{"softmax_warp_forward", "PersistentSoftmax.cuh"};
  if (n <= (to_float ? kPersistentToFloat : kPersistent)) {
    plan.lanes = narrow(std::min(kWarp, std::bit_ceil(n)));
    return plan;
  }
  plan.source = "SoftMax.cu";
  plan.groups = narrow(ceil_div(std::min(n, kSoftmaxThreads), kWarp));
  plan.kernel = "cunn_SoftMaxForwardReg";
  if (!to_float && ceil_div(n, plan.groups * kWarp) < kRegisters) return plan;
  plan.vector = narrow(kVectorBytes / bytes);
  const bool fits = n < (kSharedBytes - plan.groups * sizeof(float)) / bytes && n % plan.vector == 0;
  plan.kernel = fits ? "cunn_SoftMaxForwardSmem" : "cunn_SoftMaxForward";
  plan.walk = fits ? RowWalk::vectors : RowWalk::rounds;
  return plan;
}

/// LayerNormKernelImplInternal.
RowPlan norm_plan(const RowProblem& problem) {
  RowPlan plan{"RowwiseMomentsCUDAKernel", "layer_norm_kernel.cu"};
  plan.statistic = RowStatistic::welford_quotient;
  plan.groups = kMomentThreads / kWarp;
  if (problem.n % kVector != 0) return plan;
  plan.kernel = "vectorized_layer_norm_kernel";
  plan.walk = RowWalk::vectors;
  plan.statistic =
      problem.operation == RowOperation::rms_norm ? RowStatistic::squares : RowStatistic::welford_reciprocal;
  plan.vector = kVector;
  plan.groups = kNormGroups;
  return plan;
}

}  // namespace

RowPlan row_plan_of(const RowProblem& problem) {
  const RowOperation operation = problem.operation;
  const bool sums = one_per_row(operation);
  RowPlan plan = sums || operation == RowOperation::rms_norm_steps ? reduce_plan(problem)
                 : operation <= RowOperation::log_softmax          ? softmax_plan(problem)
                                                                   : norm_plan(problem);
  const std::uint64_t most = kSplitBytes / spec_of(Format::f32).storage_bytes();
  if (problem.n > (sums ? kMostSummed : kMostCompared) || problem.rows > most / problem.n)
    plan.evidence = Evidence::literature;
  return plan;
}

std::string text_of(const RowPlan& plan) {
  return with_values(
      "kernel={} source={} evidence={} walk={} statistic={} vector={} accumulators={} lanes={} groups={} "
      "blocks={}",
      {plan.kernel, plan.source, name_of(plan.evidence), name_in(kWalks, plan.walk),
       name_in(kStatistics, plan.statistic), plan.vector, plan.accumulators, plan.lanes, plan.groups,
       plan.blocks});
}

}  // namespace mmaudit
