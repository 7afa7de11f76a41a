#include <algorithm>

#include "model/quantize.hpp"
#include "model/quantize_one.cuh"
#include "model/quantize_tiles.hpp"
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

/// Its magnitude as bits of binary32, which are in the order of the numbers, NaN last; 0 where it doesn't
/// count.
__device__ unsigned magnitude_of(const QuantizeRule& rule, double x) {
  const double size = fabs(x);
  return rule.counts(size) ? __float_as_uint(static_cast<float>(size)) : 0;
}

/// Largest magnitudes of what factors cover, in the place of those factors, which are zero; of lanes that
/// share one in the place of the first of them.
__global__ void __launch_bounds__(kThreads) largest_kernel(const Quantization work) {
  constexpr unsigned kLanes = 32, kSteps = kThreads / kLanes;
  constexpr std::uint64_t kDepth = 512;
  __shared__ unsigned most[kLanes];
  const std::uint64_t block = work.rule.factor_block(), length = block == 0 ? kDepth : block;
  const std::uint64_t chunks = detail::quotient_up(work.k, length),
                      groups = detail::quotient_up(work.lanes, kLanes);
  // Neighbours in memory are read by the threads of a warp.
  const bool k_inside = work.k_stride == 1;
  const unsigned inner = threadIdx.x % kLanes, outer = threadIdx.x / kLanes;
  for (std::uint64_t tile = blockIdx.x; tile < work.batch * groups * chunks; tile += gridDim.x) {
    const std::uint64_t chunk = tile % chunks, first = tile / chunks % groups * kLanes,
                        matrix = tile / chunks / groups;
    if (outer == 0) most[inner] = 0;
    __syncthreads();
    for (unsigned l = k_inside ? outer : inner; l < kLanes && first + l < work.lanes;
         l += k_inside ? kSteps : kLanes) {
      unsigned largest = 0;
      for (std::uint64_t k = chunk * length + (k_inside ? inner : outer);
           k < (chunk + 1) * length && k < work.k; k += k_inside ? kLanes : kSteps)
        largest = max(largest, magnitude_of(work.rule, number_at(work, matrix, first + l, k)));
      atomicMax(&most[l], largest);
    }
    __syncthreads();
    if (outer == 0 && first + inner < work.lanes) {
      const std::uint64_t lane = (first + inner) / together_of(work.rule) * together_of(work.rule);
      const std::uint64_t at = work.rule.one_factor() ? 0
                                                      : (matrix * work.lanes + lane) * work.factor_blocks() +
                                                            (block == 0 ? 0 : chunk);
      atomicMax(reinterpret_cast<unsigned*>(work.factors) + at, most[inner]);
    }
    __syncthreads();
  }
}

/// The one factor as scales and elements are made with it.
__global__ void __launch_bounds__(kThreads) one_factor_kernel(const Quantization work) {
  const float largest = work.tensor_largest != nullptr ? *work.tensor_largest : *work.factors;
  *work.factors = factor_of_tensor(work.rule, static_cast<double>(largest));
}

/// Factors as products take them, when the elements are made.
__global__ void __launch_bounds__(kThreads) finish_kernel(const Quantization work) {
  for_each(work.factor_count(),
           [&](std::uint64_t i) { work.factors[i] = finished_factor(work.rule, work.factors[i]); });
}

/// A thread for the factors that are one.
__global__ void __launch_bounds__(kThreads) factor_kernel(const Quantization work) {
  const std::uint64_t blocks = work.factor_blocks(), together = together_of(work.rule),
                      leads = detail::quotient_up(work.lanes, together);
  const float* const from = work.largest != nullptr ? work.largest : work.factors;
  for_each(work.batch * leads * blocks, [&](std::uint64_t i) {
    const std::uint64_t matrix = i / blocks / leads, lane = i / blocks % leads * together;
    const std::uint64_t at = (matrix * work.lanes + lane) * blocks + i % blocks;
    const float factor = factor_for(work.rule, static_cast<double>(from[at]), work.rule.most);
    for (std::uint64_t l = 0; l < together && lane + l < work.lanes; ++l)
      work.factors[at + l * blocks] = factor;
  });
}

__global__ void __launch_bounds__(kThreads) scale_kernel(const Quantization work) {
  const std::uint64_t blocks = work.scale_blocks(), block = work.rule.scale_block();
  const float of_tensor = factor_of_tensor_at(work);
  const bool k_inside = work.k_stride == 1;
  for_each(work.batch * work.lanes * blocks, [&](std::uint64_t at) {
    const std::uint64_t i = k_inside ? at % blocks : at / work.lanes % blocks;
    const std::uint64_t lane = k_inside ? at / blocks % work.lanes : at % work.lanes;
    const std::uint64_t matrix = at / blocks / work.lanes, row = matrix * work.lanes + lane;
    unsigned largest = 0;
    if (work.largest != nullptr) {
      largest = __float_as_uint(work.largest[row * blocks + i]);
    } else {
      const std::uint64_t together = together_of(work.rule), first = lane / together * together;
      for (std::uint64_t l = first; l < first + together && l < work.lanes; ++l)
        for (std::uint64_t k = i * block; k < (i + 1) * block && k < work.k; ++k)
          largest = max(largest, magnitude_of(work.rule, number_at(work, matrix, l, k)));
    }
    work.scales[work.scale_at(row, i)] =
        scale_byte(work.rule, static_cast<double>(__uint_as_float(largest)), of_tensor);
  });
}

/// One element after another as they are written.
__global__ void __launch_bounds__(kThreads) element_kernel(const Quantization work) {
  const int bytes = static_cast<int>(work.rule.element.storage_bits / 8);
  const float of_tensor = factor_of_tensor_at(work);
  for_each(work.batch * work.lanes * work.k, [&](std::uint64_t at) {
    const std::uint64_t inner = work.k_outside ? work.lanes : work.k,
                        outer = work.k_outside ? work.k : work.lanes;
    const std::uint64_t i = at % inner, o = at / inner % outer, matrix = at / inner / outer;
    const std::uint64_t lane = work.k_outside ? i : o, k = work.k_outside ? o : i;
    store(work.elements, bytes, at, element_at(work, of_tensor, matrix, lane, k));
  });
}

}  // namespace

void launch_quantize(const Quantization& work, Stream stream, bool fast) {
  const std::uint64_t count = work.batch * work.lanes * work.k;
  const std::uint64_t factors = work.factor_count();
  const bool found = work.rule.one_factor() ? work.tensor_largest == nullptr : work.largest == nullptr;
  if (factors != 0 && found) {
    cuda_check(cudaMemsetAsync(work.factors, 0, factors * sizeof(float), stream), "clearing factors");
    if (fast && tiles_find_largest(work))
      launch_tile_largest(work, stream);
    else if (count != 0)
      largest_kernel<<<blocks_for(count / 16 + 1), kThreads, 0, stream>>>(work);
  }
  if (work.rule.one_factor()) one_factor_kernel<<<1, 1, 0, stream>>>(work);
  if (work.rule.factor_per_lane() && factors != 0)
    factor_kernel<<<blocks_for(factors), kThreads, 0, stream>>>(work);
  if (fast && tiles_make_elements(work)) {
    launch_tile_elements(work, stream);
  } else if (count != 0) {
    if (work.rule.scaled()) scale_kernel<<<blocks_for(work.largest_count()), kThreads, 0, stream>>>(work);
    element_kernel<<<blocks_for(count), kThreads, 0, stream>>>(work);
  }
  if (factors != 0 && work.rule.finishes()) finish_kernel<<<blocks_for(factors), kThreads, 0, stream>>>(work);
  cuda_check(cudaGetLastError(), "launching the quantization");
}

}  // namespace mmaudit::device
