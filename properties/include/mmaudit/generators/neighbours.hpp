#pragma once
// The wrong models next to a row: each differs in one number or rule. A corpus is strong when it contradicts
// all.
#include <string>
#include <vector>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::gen {

struct Neighbour {
  std::string rule;    ///< "L", "F", "floor", "output rounding", ...
  std::string change;  ///< "25 -> 24"
  Datapath datapath;
  std::string invisible;  ///< why no input of this instruction can tell it from the row; empty: one can
};

/// Every neighbour of `row` that concerns `instruction`. The reasons in `invisible` are derived from the
/// formats and the shape, never listed by hand.
std::vector<Neighbour> neighbours(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::gen
