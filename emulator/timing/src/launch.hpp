#pragma once
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {

inline constexpr int kMostWarps = 64, kRegistersOfWarp = 256;

/// Errors: InputError for what simulate() refuses.
void check_launch(const Program& program, const Launch& launch);

}  // namespace mmaudit::timing
