#pragma once
// Whole matrix products through the model, computed on a GPU.
#include <string>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::device {

/// Why matmul_on_device() can't do what matmul() can, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_matmul_on_device(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem);

/// What: matmul() with the bits that the model gives, computed by fast kernels on `device`. Shapes and order:
/// as Matmul, host pointers. Range and rounding: any bit pattern; every bit as matmul()'s. Returns the
/// seconds that the kernel took, copies not counted. Errors: none when why_no_matmul() and
/// why_no_matmul_on_device() are empty; EnvironmentError when CUDA reports an error, memory among them.
double matmul_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                        const Matmul& problem);

}  // namespace mmaudit::device
