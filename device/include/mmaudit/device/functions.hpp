#pragma once
// Special functions of this machine's GPU against the model, on the GPU. Declarations without CUDA syntax.
#include <cstdint>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/functions.hpp"

namespace mmaudit::device {

inline constexpr std::size_t kMostDifferences = 20;

struct FunctionDifference {
  std::uint32_t x, y, hardware, model;
};

struct FunctionCheck {
  std::uint64_t inputs = 0, differ = 0;
  std::vector<FunctionDifference> first;  ///< up to kMostDifferences; the GPU's scheduling decides which
};

/// What: one function on every operand (2^32, or 2^16 of a narrow one; a quotient: 2^32 random pairs), by the
/// GPU and by the model. Errors: EnvironmentError without CUDA and on a GPU before compute capability 9.0.
FunctionCheck check_function(const DeviceInfo& device, const functions::Function& function);

/// What the GPU gives for these operands, words of 32 bits; `y`: the divisors of a quotient, else empty. At
/// most 2^32 - 1. Errors: as check_function().
std::vector<std::uint32_t> ask_function(const DeviceInfo& device, const functions::Function& function,
                                        const std::vector<std::uint32_t>& x,
                                        const std::vector<std::uint32_t>& y);

}  // namespace mmaudit::device
