#pragma once
// The conversion instructions of the GPU against encode_value() and decode_value(), every input there is.
#include <cstdint>
#include <vector>

#include "mmaudit/convert.hpp"

namespace mmaudit::device {

struct ConversionResult {
  const char* instruction = "";  ///< PTX
  std::uint64_t inputs = 0, mismatches = 0;
  std::uint64_t first_input = 0, hardware = 0, model = 0;  ///< of one mismatch
};

/// Runs all of them on the current device. `flip_a_rounding` spoils every rule, to show that the check can
/// fail. Throws EnvironmentError on CUDA errors.
std::vector<ConversionResult> check_conversions(bool flip_a_rounding);

}  // namespace mmaudit::device
