#pragma once
// What directed_dots() and neighbours() hand block-scaled instructions to.
#include <vector>

#include "mmaudit/generators/directed.hpp"
#include "mmaudit/generators/neighbours.hpp"

namespace mmaudit::gen {

/// Every directed case of a datapath of groups.
std::vector<DirectedDot> directed_group_dots(const Instruction& instruction, const Datapath& datapath);
/// What elements alone cannot ask of scales that multiply elements.
void add_scaled_dots(const Instruction& instruction, const Datapath& datapath, std::vector<DirectedDot>& out);
/// The wrong models that concern scales and groups.
std::vector<Neighbour> scale_neighbours(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::gen
