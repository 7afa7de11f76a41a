#pragma once
// A kernel of whole matrix products. Each file NAME.cu of gemm/kernels/ makes some and defines
// std::vector<GemmKernel> mmaudit::sweeps::gemm_with_NAME().
#include <cuda.h>

#include <cstdint>
#include <string_view>

#include "mmaudit/model/instruction.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/timed_kernel.hpp"
#include "sweeps/gemm/value.hpp"

namespace mmaudit::sweeps {

/// D = A * B^T, all size x size: A and B rows of bfloat16 along k, D rows of binary32.
struct TimedGemmArgs {
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b = nullptr;
  float* d = nullptr;
  Stamp* stamps = nullptr;  ///< one a block
  int size = 0;
};

struct TimedGemm {
  TimedGemmArgs args;
  CUtensorMap map_a = {},
              map_b = {};  ///< of boxes of kWgmmaTileM and kWgmmaTileN rows; compute capability 9.0 only
  int multiprocessors = 0;
};

/// Boxes that the copy engine brings: so many rows, kGemmDepth elements (128 bytes, swizzled) of each.
inline constexpr int kWgmmaTileM = 128, kWgmmaTileN = 256, kGemmDepth = 64;

struct GemmKernel {
  std::string_view name, what;
  Instruction instruction;                           ///< the chain of every element, ascending k
  int least_capability = 80, most_capability = 999;  ///< of the GPU
  int most_size = kMostGemmSize;
  void (*launch)(const TimedGemm& problem) = nullptr;
  unsigned (*blocks)(int size, int multiprocessors) = nullptr;
  const void* function = nullptr;
  int shared_bytes = 0;  ///< dynamic
  int launches = 0;      ///< over which the cycles of the longest block are averaged, as a paper did; 0: none
};

/// Fills A and B.
void launch_gemm_fill(std::uint16_t* a, std::uint16_t* b, int size);

}  // namespace mmaudit::sweeps
