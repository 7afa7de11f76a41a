#pragma once
// Why a look-up failed, in one clause "found X, allowed: Y": the same for a person and for a program.
#include <string>
#include <string_view>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

/// For a name that find_architecture() does not know. `own`: the name of one more that is allowed, or empty.
std::string why_no_architecture(std::string_view name, std::string_view own = {});
/// For a name that find_format() does not know.
std::string why_no_format(std::string_view name);
/// For an instruction that `architecture` has no row for: the nearest that it has, where they fit a line.
std::string why_no_datapath(const Architecture& architecture, const Instruction& instruction);

}  // namespace mmaudit
