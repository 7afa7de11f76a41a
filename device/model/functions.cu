#define MMAUDIT_HARDWARE_FMA  // of binary32.hpp
#include "model/functions.hpp"

#include "mmaudit/functions/lines.hpp"
#include "model/near_tables.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

/// In device memory: a constexpr table can't be indexed in device code.
__device__ const functions::FastUnit kFastUnit = {functions::kUnit, functions::folded_lines()};

template <typename Word>
__global__ void evaluate_all(functions::Id id, const Word* x, const Word* y, std::uint64_t count,
                             Word* result) {
  __shared__ functions::FastUnit near;
  load_tables(near, kFastUnit);
  const std::uint64_t all = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += all)
    result[i] = static_cast<Word>(functions::evaluate(id, x[i], y == nullptr ? 0 : y[i], near));
}

template <typename Word>
void launch(functions::Id id, const void* x, const void* y, std::uint64_t count, void* result,
            Stream stream) {
  constexpr unsigned kThreads = 256, kMostBlocks = 2048;
  evaluate_all<<<blocks_for(count, kThreads, kMostBlocks), kThreads, 0, stream>>>(
      id, static_cast<const Word*>(x), static_cast<const Word*>(y), count, static_cast<Word*>(result));
  cuda_check(cudaGetLastError(), "starting a special function");
}

}  // namespace

void launch_function(const functions::Function& function, const void* x, const void* y, std::uint64_t count,
                     void* result, Stream stream) {
  if (count == 0) return;
  (function.bits == 16 ? launch<std::uint16_t> : launch<std::uint32_t>)(function.id, x, y, count, result,
                                                                        stream);
}

}  // namespace mmaudit::device
