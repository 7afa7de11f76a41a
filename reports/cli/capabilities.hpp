#pragma once
// Which types which generation multiplies, and through which instructions; from the rows of the
// architectures.
#include <span>
#include <string>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::cli {

/// A row per types of A and B and kind of instruction, a column per architecture, the formats of D in the
/// cells, with
/// "?" where every one of them rests on papers alone.
report::Table capability_table(std::span<const Architecture* const> architectures);
/// The same as JSON ("mmaudit.capabilities/1"): per cell the formats with their evidence.
std::string capability_json(std::span<const Architecture* const> architectures);

}  // namespace mmaudit::cli
