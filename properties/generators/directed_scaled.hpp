#pragma once
#include <vector>

#include "mmaudit/generators/directed.hpp"

namespace mmaudit::gen {

/// Every directed case of a datapath that sums groups.
std::vector<DirectedDot> directed_group_dots(const Instruction& instruction, const Datapath& datapath);
/// Where scales multiply elements: the cases that elements alone can't express.
void add_scaled_dots(const Instruction& instruction, const Datapath& datapath, std::vector<DirectedDot>& out);

}  // namespace mmaudit::gen
