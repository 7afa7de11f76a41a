#pragma once
// A difference that a campaign found, for the person who reads its output.
#include <string>

#include "campaign/workers.hpp"

namespace mmaudit::campaign {

/// The difference, and the smallest dot product on which the two sides still differ.
std::string explain_difference(const Setup& setup, const std::string& instruction, const Mismatch& example);

}  // namespace mmaudit::campaign
