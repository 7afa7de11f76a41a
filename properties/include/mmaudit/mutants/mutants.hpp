#pragma once
// Mutants of a datapath: wrong models, each different in one number or rule. A corpus or a law is strong when
// it contradicts all of them.
#include <string>
#include <vector>

#include "mmaudit/backend.hpp"

namespace mmaudit {

struct Mutant {
  std::string rule;    ///< "L", "F", "floor", "output rounding", ...
  std::string change;  ///< "25 -> 24"
  Datapath datapath;
  std::string invisible;  ///< why no input of this instruction can show the difference; empty: one can
};

/// Every mutant of `datapath` that concerns `instruction`. The reasons in `invisible` are derived from
/// formats and shape, never listed by hand.
std::vector<Mutant> mutants_of(const Instruction& instruction, const Datapath& datapath);

/// The model of `architecture`, but with `instruction` computed by `wrong`.
Backend mutant_backend(const Architecture& architecture, const Instruction& instruction,
                       const Datapath& wrong, std::string name);

}  // namespace mmaudit
