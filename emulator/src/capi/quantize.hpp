#pragma once
// Combinations and quantizations as every function of the C interface takes them.
#include "guard.hpp"
#include "mmaudit/quantize.hpp"

namespace mmaudit::capi {

GemmDtype dtype_of(const char* name);
/// `name` null: the usual one of these operands.
Scaling scaling_of(const char* name, const GemmDtype& dtype);

/// Checked, with every array.
Quantization quantization_of(const mmaudit_quantization& work);

}  // namespace mmaudit::capi
