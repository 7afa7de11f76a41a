#pragma once
#include <vector>

#include "mmaudit/generators/directed.hpp"

namespace mmaudit::gen {

/// Every directed case of integers and single bits.
std::vector<DirectedDot> directed_integer_dots(const Instruction& instruction);

}  // namespace mmaudit::gen
