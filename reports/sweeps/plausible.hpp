#pragma once
// Whether a sweep that was read from a file can be one that `mmaudit sweep` measured.
#include <string>

#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

/// What: no two points are of the same benchmark and axes, each value of an axis is one that the axis can
/// have, and no rate is above what the GPU can do. Noise: 0.5%, as in a sweep, which refuses such a point.
/// Errors: InputError in one line: `label`, the field, what was found and what is allowed.
void require_plausible(const SweepResult& result, const std::string& label);

}  // namespace mmaudit::sweeps
