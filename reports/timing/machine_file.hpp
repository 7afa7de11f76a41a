#pragma once
// A machine of the user's own, from a JSON file.
#include <string>

#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing {

/// What: {"like": "ga100", "numbers": {"tensor.rate.f16_f32": 128, ...}}: a built-in machine with some
/// numbers changed. Range: numbers of 0 to 1e6; rates per cycle are 0 or 0.1 at least. Errors: InputError of
/// one line with file, field, found and allowed.
Machine machine_of_file(const std::string& path);

/// The names of the built-in machines: "v100, ampere, hopper".
std::string machine_list();

}  // namespace mmaudit::timing
