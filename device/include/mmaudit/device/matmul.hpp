#pragma once
// Whole matrix products through the model, computed on a GPU.
#include <cstdint>
#include <string>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::device {

/// What computes a product on a GPU: kernels for many datapaths, the plain core for any, or the GPU's own
/// instructions for its own datapaths.
enum class DeviceModel : std::uint8_t { fast, plain, hardware };

/// Why matmul_on_device() can't do what matmul() can, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_matmul_on_device(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem, DeviceModel model = DeviceModel::fast);

/// What: matmul() with the bits that the model gives, computed on `device`. Shapes and order: as Matmul, host
/// pointers. Range and rounding: any bit pattern; every bit as matmul()'s. Returns the seconds that the
/// kernels took, copies not counted. Errors: none when why_no_matmul() and why_no_matmul_on_device() are
/// empty; EnvironmentError when CUDA reports an error, memory among them.
double matmul_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                        const Matmul& problem, DeviceModel model = DeviceModel::fast);

}  // namespace mmaudit::device
