#include <algorithm>

#include "check/load.cuh"
#include "model/quantize.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256;

unsigned blocks_for(std::uint64_t count) {
  constexpr std::uint64_t kMost = 1U << 20;
  return static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMost));
}

template <typename Each>
__device__ void for_each(std::uint64_t count, const Each& each) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * kThreads)
    each(i);
}

__global__ void __launch_bounds__(kThreads) one_factor_kernel(const Quantization work) {
  *work.factors = factor_of_tensor(work.rule, static_cast<double>(*work.tensor_largest));
}

__global__ void __launch_bounds__(kThreads) scale_kernel(const Quantization work) {
  const std::uint64_t blocks = work.scale_blocks();
  const double of_tensor = work.rule.one_factor() ? static_cast<double>(*work.factors) : 1.0;
  for_each(work.largest_count(), [&](std::uint64_t i) {
    const auto largest = static_cast<double>(work.largest[i]);
    if (work.rule.factor_per_lane)
      work.factors[i] = factor_for(largest, work.rule.most);
    else
      work.scales[work.scale_at(i / blocks, i % blocks)] = scale_byte(work.rule, largest, of_tensor);
  });
}

/// One element after another as they are written.
__global__ void __launch_bounds__(kThreads) element_kernel(const Quantization work) {
  const int from = static_cast<int>(work.from.storage_bits / 8),
            bytes = static_cast<int>(work.rule.element.storage_bits / 8);
  const double of_tensor = work.rule.one_factor() ? static_cast<double>(*work.factors) : 1.0;
  for_each(work.batch * work.lanes * work.k, [&](std::uint64_t at) {
    const std::uint64_t inner = work.k_outside ? work.lanes : work.k,
                        outer = work.k_outside ? work.k : work.lanes;
    const std::uint64_t i = at % inner, o = at / inner % outer, matrix = at / inner / outer;
    const std::uint64_t lane = work.k_outside ? i : o, k = work.k_outside ? o : i,
                        row = matrix * work.lanes + lane;
    double by = 1, factor = of_tensor;
    if (work.rule.scaled())
      by = decode_value(work.scales[work.scale_at(row, k / work.rule.scale_block)], work.rule.scale);
    if (work.rule.factor_per_lane)
      factor =
          static_cast<double>(work.factors[row * work.factor_blocks() +
                                           (work.rule.factor_block == 0 ? 0 : k / work.rule.factor_block)]);
    const double x = decode_value(
        load(work.x, from, matrix * work.batch_stride + lane * work.lane_stride + k * work.k_stride),
        work.from);
    store(work.elements, bytes, at,
          encode_value(scaled_down(x, by, factor), work.rule.element, work.rule.cast));
  });
}

}  // namespace

void launch_quantize(const Quantization& work, Stream stream) {
  const std::uint64_t count = work.batch * work.lanes * work.k;
  if (work.rule.one_factor()) one_factor_kernel<<<1, 1, 0, stream>>>(work);
  if (work.largest_count() != 0)
    scale_kernel<<<blocks_for(work.largest_count()), kThreads, 0, stream>>>(work);
  if (count != 0) element_kernel<<<blocks_for(count), kThreads, 0, stream>>>(work);
  cuda_check(cudaGetLastError(), "launching the quantization");
}

}  // namespace mmaudit::device
