#pragma once
// The epilogue of a product on device memory. Declarations without CUDA syntax.
#include <cstdint>

#include "mmaudit/matmul.hpp"
#include "mmaudit/scaled_matmul.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// As Epilogue, device pointers: (batch, m, n) sums, binary16 or binary32, become D. C, of D's format, may be
/// null. With factors they take alpha's place.
struct EpilogueArgs {
  Epilogue epilogue;
  Format sum_format = Format::f32;
  const void* sums = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  std::uint64_t batch = 1, m = 0, n = 0;
  ProductFactors factors;
};
void launch_epilogue(const EpilogueArgs& args, Stream stream = nullptr);

}  // namespace mmaudit::device
