#pragma once
// Answers about one row of fused attention.
#include <string>

#include "request.hpp"

namespace mmaudit::explorer {

/// What attention_text() takes: families and recipes, with the type of their operands and how they are known.
std::string attentions_text();

/// family or recipe, keys, depth, scores, elements of one column of V: the row's blocks of keys in the
/// kernel's order, P of every key before and after its rounding, and the element of O. Of n numbers for more
/// keys each stands for a run of them. The kernel's plan for many rows, which has no splits.
std::string attention_text(const Request& request);

}  // namespace mmaudit::explorer
