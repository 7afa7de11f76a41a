#pragma once
// Plans of kernels whose operands only recipes make.
#include "mmaudit/attention.hpp"

namespace mmaudit {

std::optional<AttentionPlan> sage_plan(const AttentionProblem& problem, std::string* why);
std::optional<AttentionPlan> modelopt_plan(const AttentionProblem& problem, std::string* why);

}  // namespace mmaudit
