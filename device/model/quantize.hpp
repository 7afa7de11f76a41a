#pragma once
// quantize() on device memory. Declarations without CUDA syntax.
#include "mmaudit/quantize.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// `work` has device pointers. Starts the kernels; nothing waits.
void launch_quantize(const Quantization& work, Stream stream);

}  // namespace mmaudit::device
