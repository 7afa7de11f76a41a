#pragma once
// A whole product in device memory as matmul() has it in host memory, and the chain of the plain core over
// it. Declarations without CUDA syntax.
#include <cstdint>

#include "mmaudit/dot.hpp"
#include "model/gemm.hpp"
#include "model/unpacked.hpp"

namespace mmaudit::device {

/// Device pointers; shapes as Matmul has them.
struct RawProduct {
  const void* a = nullptr;
  const void* b = nullptr;
  /// With room for one instruction more, which is read and has no effect.
  const std::uint8_t* metadata = nullptr;
  ScaleSource scale_a, scale_b;
  std::uint64_t m = 0, n = 0, k = 0, stored_k = 0, blocks = 0;
};

/// The plain core's D, an element per thread, whatever the datapath. Of `args`, A and B are not read.
void launch_plain_gemm(const DotSpec& spec, const RawProduct& product, const GemmArgs& args);

}  // namespace mmaudit::device
