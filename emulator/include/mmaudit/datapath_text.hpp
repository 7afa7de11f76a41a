#pragma once
// Datapaths and traces in words and as JSON text.
#include <string>

#include "mmaudit/explain.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

std::string_view name_of(KOrder order);
std::string_view name_of(AddendPlace place);
std::string_view name_of(Rounding rounding);

/// False where no product of any format reaches the least alignment exponent: steps round once, as IEEE
/// operations do, and F means nothing.
bool cuts_anything(const Datapath& datapath);

/// "RZ to 23 fraction bits", "RNE to binary16", ...
std::string rounding_text(const Datapath& datapath);
/// The same for one instruction, which decides whether integers wrap or are clamped.
std::string rounding_text(const Instruction& instruction, const Datapath& datapath);
/// L of an instruction: the datapath's, or the instruction's depth where that is less.
int products_per_step_of(const Instruction& instruction, const Datapath& datapath);

// As JSON: what `mmaudit list --json`, `explain --json` and other languages read.

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
