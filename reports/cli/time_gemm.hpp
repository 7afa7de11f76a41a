#pragma once
#include "common.hpp"

namespace mmaudit::cli {

/// Adds `mmaudit time gemm` to `mmaudit time`.
void add_time_gemm(Command& time);

}  // namespace mmaudit::cli
