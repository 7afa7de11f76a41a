#pragma once
// The epilogue of a product on device memory. Declarations without CUDA syntax.
#include <cstdint>

#include "mmaudit/matmul.hpp"

namespace mmaudit::device {

/// As Epilogue, device pointers: `count` sums, binary16 or binary32, become D. C, of D's format, may be null.
void launch_epilogue(const Epilogue& epilogue, Format sum_format, const void* sums, const void* c, void* d,
                     std::uint64_t count);

}  // namespace mmaudit::device
