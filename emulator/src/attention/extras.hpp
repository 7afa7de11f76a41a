#pragma once
// What some problems add to a row: a softcap on its scores, a sink in its sum.
#include "attention/rows.hpp"

namespace mmaudit::attention_rows {

/// What a score is multiplied with before tanh.approx.f32; `descales`: Q's times K's.
float cap_factor_of(const AttentionProblem& problem, float descales);
/// Scores become tanh.approx.f32(S * factor).
void cap(std::vector<float>& scores, float factor);
/// The end of a row whose sum has one more logit. `scale2`: what the maximum is multiplied with.
RowEnd with_sink(const AttentionPlan& plan, RowEnd end, float scale2, float sink);
/// Why a plan can't have a problem's softcap and sinks; empty where it can.
std::string why_no_extras(const AttentionProblem& problem, const AttentionPlan& plan);

}  // namespace mmaudit::attention_rows
