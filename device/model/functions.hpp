#pragma once
// functions::evaluate() on device memory. Declarations without CUDA syntax.
#include "mmaudit/functions.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// Device pointers to words of the function's bits, 16 or 32; `y`: the divisors of a quotient, else not read.
/// Starts the kernel; nothing waits.
void launch_function(const functions::Function& function, const void* x, const void* y, std::uint64_t count,
                     void* result, Stream stream);

}  // namespace mmaudit::device
