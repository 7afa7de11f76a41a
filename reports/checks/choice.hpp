#pragma once
// Which instructions the user means.
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::checks {

/// True when `name` contains one of `parts`, when one of them is "all", and when there are none.
bool selected(std::string_view name, const std::vector<std::string>& parts);

/// Every instruction, wgmma and tcgen05 at the given n; those without this n are left out.
std::vector<Instruction> all_instructions(int n);

}  // namespace mmaudit::checks
