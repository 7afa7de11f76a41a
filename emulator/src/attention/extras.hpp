#pragma once
// What some problems add to a row: a softcap on its scores, a sink in its sum.
#include "attention/rows.hpp"

namespace mmaudit::attention_rows {

/// Why a plan can't have a problem's softcap and sinks; empty where it can.
std::string why_no_extras(const AttentionProblem& problem, const AttentionPlan& plan);

}  // namespace mmaudit::attention_rows
