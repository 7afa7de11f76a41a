#pragma once
// Quantizations as every function of the C interface takes them.
#include "guard.hpp"
#include "mmaudit/quantize.hpp"

namespace mmaudit::capi {

/// Checked, with every array.
Quantization quantization_of(const mmaudit_quantization& work);

}  // namespace mmaudit::capi
