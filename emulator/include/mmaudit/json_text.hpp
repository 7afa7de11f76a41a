#pragma once
// Datapaths and traces as JSON text: what `mmaudit list --json`, `explain --json` and other languages read.
#include <string>

#include "mmaudit/explain.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

/// Every rule of a datapath by the names of rule_names.hpp, with its unit, formats, evidence and source.
std::string datapath_json(const DatapathEntry& entry);
/// The same for one instruction, with its name, its shape and its L.
std::string instruction_json(const Instruction& instruction, const DatapathEntry& entry);
/// name, compute_capability, aliases, rows, instructions.
std::string architecture_json(const Architecture& architecture);
/// One number format: its name and fields.
std::string format_json(const NamedFormat& format);

/// The trace of one dot product: c, final_add, d and, as far as the datapath has them, steps (maximum,
/// floor_decided, special, addends, sum, result), scales, fmas or products. Bits are hexadecimal digits of
/// the storage width; exact numbers {significand, exponent, value}.
std::string trace_json(const Explanation& trace);

}  // namespace mmaudit
