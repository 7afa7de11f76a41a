#pragma once
// Directed dot products: inputs on which similar datapaths give different bits. They scan F and the least
// alignment exponent of a datapath, and settle each open question by the vector that decides it.
#include <string>
#include <vector>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/model/datapath.hpp"

namespace mmaudit::gen {

/// One dot product. a and b hold the k elements that meet: the stored ones of a sparse instruction.
struct DirectedDot : DotCase {
  std::string question;  ///< what it decides, e.g. "floor", "fraction bits", "order of k"
};

/// Every directed case that `instruction` can express. Deterministic. `datapath` says where to look, not
/// what to expect.
std::vector<DirectedDot> directed_dots(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::gen
