#pragma once
// Products of a library from a file: JSON, or a log of cuBLASLt.
#include <string>
#include <vector>

#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::cli {

/// JSON lines or a log. Says on standard error how many products of the log are left out. Errors: InputError.
std::vector<GemmProblem> problems_of_file(const std::string& file);
/// The one problem of a file, a JSON object on as many lines as it takes. Errors: InputError.
GemmProblem only_problem(const std::string& file);

}  // namespace mmaudit::cli
