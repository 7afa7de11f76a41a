// What every part of the generated loops shares: loops.py writes the kernels and includes this.
// Prints CSV: loop,warps,cycles,least,most; cycles per trip of one block, the median of kRuns runs.
#pragma once
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace loops {

constexpr int kTrips = 256, kRuns = 15, kMostWarps = 16;

struct Clocks {
  long long begin, end;
};
using Kernel = void (*)(Clocks* clocks, std::uint32_t* sink, int trips);
struct Loop {
  const char* name;
  Kernel kernel;
};

/// Every warp's own clocks, which differ by when it came to the loop.
__device__ inline void store(Clocks* clocks, long long begin, long long end) {
  if (threadIdx.x % 32 == 0) clocks[threadIdx.x / 32] = {begin, end};
}

inline int fail(cudaError_t error) {
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return 1;
}

template <std::size_t Count>
int run(const Loop (&list)[Count]) {
  Clocks* clocks = nullptr;
  std::uint32_t* sink = nullptr;
  if (const auto error = cudaMallocManaged(&clocks, kMostWarps * sizeof(Clocks))) return fail(error);
  if (const auto error = cudaMalloc(&sink, 1 << 16)) return fail(error);
  if (const auto error = cudaMemset(sink, 0, 1 << 16)) return fail(error);
  std::printf("loop,warps,cycles,least,most\n");
  for (const Loop& loop : list)
    for (const int warps : {1, 2, 4, 6, 8, 12, 16}) {
      std::vector<double> cycles;
      for (int i = -2; i < kRuns; ++i) {  // two runs fill the caches
        loop.kernel<<<1, 32 * warps>>>(clocks, sink, kTrips);
        if (const auto error = cudaDeviceSynchronize()) return fail(error);
        long long begin = clocks[0].begin, end = clocks[0].end;
        for (int w = 1; w < warps; ++w) {
          begin = std::min(begin, clocks[w].begin);
          end = std::max(end, clocks[w].end);
        }
        if (i >= 0) cycles.push_back(static_cast<double>(end - begin) / kTrips);
      }
      std::sort(cycles.begin(), cycles.end());
      std::printf("%s,%d,%.2f,%.2f,%.2f\n", loop.name, warps, cycles[kRuns / 2], cycles.front(),
                  cycles.back());
    }
  return 0;
}

}  // namespace loops
