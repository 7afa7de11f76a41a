#pragma once
// One dot product on one architecture, step by step, as text and as JSON.
#include <string>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::checks {

struct Explained {
  Instruction instruction;
  DotCase dot;
  Explanation trace;
};

Explained explain(const Instruction& instruction, const DatapathEntry& entry, const DotCase& dot);

/// Every step with what alignment loses, D, and D beside the exact sum. `all`: zero products too.
std::string trace_text(const Explained& one, bool all);
Json trace_json(const Explained& one, const Architecture& architecture, const DatapathEntry& entry);

}  // namespace mmaudit::checks
