#pragma once
// Datapaths in words.
#include <string>

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

}  // namespace mmaudit
