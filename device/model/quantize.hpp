#pragma once
// quantize() on device memory. Declarations without CUDA syntax.
#include "mmaudit/quantize.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// `work` has device pointers. Starts the kernels; nothing waits. Not `fast`: one number after another, which
/// gives the same bits of any numbers.
void launch_quantize(const Quantization& work, Stream stream, bool fast = true);

}  // namespace mmaudit::device
