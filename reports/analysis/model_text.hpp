#pragma once
// Rows of the model in a few words.
#include <string>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// "32 at a time, 13 bits, cut off to 13".
std::string accumulator_text(const Datapath& datapath);
/// The row that computes `instruction`, as provenance names it.
ModelRow model_row(const Architecture& architecture, const Instruction& instruction,
                   const DatapathEntry& entry);

}  // namespace mmaudit::report
