#pragma once
// Special functions on the GPU: the kernel of mmaudit_cuda_function() against the plain model, and the laws
// of functions_laws_test on all operands, by another program than that one.
#include <cstdint>

#include "mmaudit/functions.hpp"

namespace mmaudit::device {

struct KernelCheck {
  std::uint64_t operands = 0, differ = 0;
};
/// All operands of the row, random pairs of a quotient, on the current device. `spoil`: asks the kernel for
/// another row, to show that the check can fail. Throws EnvironmentError on CUDA errors.
KernelCheck check_kernel(const functions::Function& function, bool spoil);

/// Exact values are CUDA's binary64 functions. Of a row with one operand.
functions::Found laws_on_gpu(const functions::Function& function);

}  // namespace mmaudit::device
