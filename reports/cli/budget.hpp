#pragma once
// How long a command may work.
#include <string>

namespace mmaudit::cli {

/// Seconds of a text such as "60s", "10m", "2h". Errors: InputError that names the option.
double seconds_of(const std::string& option, const std::string& text);

}  // namespace mmaudit::cli
