#pragma once
// Rows of the model in words.
#include <string>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit {

std::string_view name_of(KOrder order);
std::string_view name_of(AddendPlace place);
std::string_view name_of(Rounding rounding);

/// False for a row whose floor no product of any format reaches: its steps round once, as IEEE's operations
/// do, and F and the floor say nothing.
bool cuts_anything(const Datapath& datapath);

/// "RZ to 23 fraction bits", "RNE to binary16", ...
std::string rounding_text(const Datapath& datapath);
/// The same with what only the instruction says: whether integers wrap or are clamped.
std::string rounding_text(const Instruction& instruction, const Datapath& datapath);
/// L of an instruction: the row's, or its depth where that is less.
int block_of(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit
