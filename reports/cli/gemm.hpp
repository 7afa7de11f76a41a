#pragma once
#include "options.hpp"

namespace mmaudit::cli {

void add_gemm(Command& app);

}  // namespace mmaudit::cli
