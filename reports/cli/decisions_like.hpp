#pragma once
// Recorded decisions of libraries, by the name of their file.
#include <string>

#include "mmaudit/corpus/decision_file.hpp"

namespace mmaudit::cli {

/// corpus/decisions/NAME.jsonl beside the recordings, or a file. Errors: InputError with the names there are.
corpus::DecisionFile decisions_like(const std::string& name);
/// "h100-cublas-13.1, h200-cublas-13.1"; empty where there are none.
std::string recorded_decisions();

}  // namespace mmaudit::cli
