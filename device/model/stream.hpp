#pragma once
// The CUDA stream of a launch, without CUDA syntax.

struct CUstream_st;

namespace mmaudit::device {

using Stream = CUstream_st*;  ///< null: the default stream

}  // namespace mmaudit::device
