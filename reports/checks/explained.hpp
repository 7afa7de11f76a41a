#pragma once
// One dot product on one or several architectures, step by step, as a report.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

struct Explained {
  const Architecture* architecture = nullptr;
  const DatapathEntry* entry = nullptr;
  Instruction instruction;
  DotCase dot;
  Explanation trace;
  oracle::ExactDot exact;
  std::uint64_t nearest = 0;             ///< bits of the exact sum, correctly rounded; unless D is an integer
  std::optional<double> relative, ulps;  ///< distance of D from the exact sum; none: one of them is NaN
};

/// `entry`: the datapath of the architecture that computes `instruction`.
Explained explain(const Architecture& architecture, const DatapathEntry& entry,
                  const Instruction& instruction, const DotCase& dot);

/// Every step with what alignment loses, and D beside the exact sum; at least one architecture. `all`: zero
/// products too. `recorded`: D of the recording that the dot product is from, hexadecimal; empty: of none.
report::Report report_of(const std::vector<Explained>& explained, bool all, const std::string& recorded);

/// The last line of what is explained: `state` is the explorer's, as docs/explorer.md has it.
inline std::string to_play_with(const std::string& state) {
  return "To play with it: explorer.html#" + state;
}

}  // namespace mmaudit::checks
