#include "check/wide.hpp"

#include "check/load.cuh"
#include "mmaudit/device/product_check.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256;

constexpr std::uint64_t kMost = 1U << 14;  ///< blocks

__global__ void __launch_bounds__(kThreads) widen_kernel(const WideMatrix matrix) {
  const std::uint64_t count = std::uint64_t{matrix.rows} * matrix.columns,
                      of_tile = std::uint64_t{matrix.m} * matrix.n,
                      step = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; at < count; at += step) {
    const auto i = static_cast<unsigned>(at / matrix.columns), j = static_cast<unsigned>(at % matrix.columns);
    const int column = static_cast<int>(j / matrix.n);
    const int tile = matrix.is_c ? tile_of_c(static_cast<int>(i / matrix.m), column, matrix.side) : column;
    const std::uint64_t from =
        static_cast<unsigned>(tile) * of_tile + std::uint64_t{i % matrix.m} * matrix.n + j % matrix.n;
    store(matrix.wide, matrix.bytes, at, load(matrix.tiles, matrix.bytes, from));
  }
}

__global__ void __launch_bounds__(kThreads)
    count_kernel(const void* x, const void* y, int bytes, std::uint64_t count, unsigned long long* total) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  unsigned differing = 0;
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; at < count; at += step)
    differing += load(x, bytes, at) != load(y, bytes, at) ? 1 : 0;
  if (differing != 0) atomicAdd(total, static_cast<unsigned long long>(differing));
}

}  // namespace

void launch_widen(const WideMatrix& matrix) {
  widen_kernel<<<blocks_for(std::uint64_t{matrix.rows} * matrix.columns, kThreads, kMost), kThreads>>>(
      matrix);
  cuda_check(cudaGetLastError(), "launching the copy of tiles");
}

void launch_count_differing(const void* x, const void* y, int bytes, std::uint64_t count,
                            unsigned long long* total) {
  count_kernel<<<blocks_for(count, kThreads, kMost), kThreads>>>(x, y, bytes, count, total);
  cuda_check(cudaGetLastError(), "launching the comparison");
}

}  // namespace mmaudit::device
