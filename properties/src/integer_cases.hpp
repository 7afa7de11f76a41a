#pragma once
// What directed_dots() and neighbours() hand integer instructions to.
#include <vector>

#include "mmaudit/generators/directed.hpp"
#include "mmaudit/generators/neighbours.hpp"

namespace mmaudit::gen {

std::vector<DirectedDot> directed_integer_dots(const Instruction& instruction);
std::vector<Neighbour> integer_neighbours(const Instruction& instruction, const Datapath& datapath);

/// The wrong readings of metadata, for any sparse instruction.
void append_metadata_neighbours(const Instruction& instruction, const Datapath& datapath,
                                std::vector<Neighbour>& out);

}  // namespace mmaudit::gen
