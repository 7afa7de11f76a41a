#pragma once
// Whole matrix products on the GPU, each one step away from the one before: the table of kernels.
#include <cuda.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "mmaudit/model/instruction.hpp"
#include "sweeps/kernels/gemm_size.hpp"
#include "sweeps/kernels/gemm_value.hpp"
#include "sweeps/kernels/timed_kernel.hpp"

namespace mmaudit::sweeps {

/// D = A * B^T, all size x size: A and B rows of bfloat16 along k, D rows of binary32.
struct GemmArgs {
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b = nullptr;
  float* d = nullptr;
  Stamp* stamps = nullptr;  ///< one a block
  int size = 0;
};

struct GemmProblem {
  GemmArgs args;
  CUtensorMap map_a = {},
              map_b = {};  ///< of boxes of kWgmmaTileM and kWgmmaTileN rows; compute capability 9.0 only
  int multiprocessors = 0;
};

/// Boxes that the copy engine brings: so many rows, kGemmDepth elements (128 bytes, swizzled) of each.
inline constexpr int kWgmmaTileM = 128, kWgmmaTileN = 256, kGemmDepth = 64;

struct GemmKernel {
  std::string_view name, what;
  Instruction instruction;  ///< the chain of every element, ascending k
  void (*launch)(const GemmProblem& problem) = nullptr;
  unsigned (*blocks)(int size, int multiprocessors) = nullptr;
  const void* function = nullptr;
  int shared_bytes = 0;  ///< dynamic
};

std::span<const GemmKernel> gemm_mma_kernels();
std::span<const GemmKernel> gemm_wgmma_kernels();

/// Fills A and B.
void launch_gemm_fill(std::uint16_t* a, std::uint16_t* b, int size);

}  // namespace mmaudit::sweeps
