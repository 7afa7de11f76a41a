#pragma once
// What explain says about scales and groups, and the two ways that all of it spells numbers.
#include <string>

#include "mmaudit/explain.hpp"

namespace mmaudit::cli {

/// "-0.375"
std::string number(Dyadic x);
/// "0x3c00 = 1"
std::string hex_value(std::uint64_t bits, const FormatSpec& format);

/// The scales of a block-scaled dot product, a line for A and one for B; empty when there are none.
std::string scales_text(const Explanation& trace);
/// The addends of a step of groups, a line each.
std::string groups_text(const Explanation& trace, const ExplainedStep& step, std::size_t index);
}  // namespace mmaudit::cli
