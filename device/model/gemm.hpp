#pragma once
// The fast model's matrix product on device memory. Declarations without CUDA syntax.
#include <cstdint>

#include "mmaudit/scaled_matmul.hpp"
#include "model/core_rules.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// As Matmul, device pointers; A and B unpacked (unpacked.hpp).
struct GemmArgs {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  std::uint64_t batch = 1, m = 0, n = 0, k = 0;
  std::uint64_t stride = 0;  ///< k after which the sum is added to a total; 0: never
  std::uint64_t slice = 0;   ///< k of a slice of split-K; 0: one slice
  ProductFactors factors{};  ///< with blocks of k alone: total = fma(factor, sum, total) after every stride
  Stream stream = nullptr;   ///< what the kernels run on
};

void launch_gemm(const CoreRules& rules, const GemmArgs& args);

}  // namespace mmaudit::device
