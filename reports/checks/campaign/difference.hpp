#pragma once
// A difference that a campaign found, for the person who reads its output.
#include <string>

#include "campaign/workers.hpp"

namespace mmaudit::campaign {

/// The difference, and the smallest dot product on which the two sides still differ, with the commands that
/// explain it by the model and repeat it on the reference. `model_file`: of --model; empty: built-in.
std::string explain_difference(const Setup& setup, const std::string& instruction, const Mismatch& example,
                               const std::string& model_file);

}  // namespace mmaudit::campaign
