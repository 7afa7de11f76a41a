#include "attention/extras.hpp"

#include <cmath>

#include "mmaudit/refusal.hpp"

namespace mmaudit {

std::pair<float, float> scales_of(const AttentionProblem& problem, Log2eRule rule) {
  constexpr double kLog2E = 1.4426950408889634074;
  const double scale = problem.softcap != 0 ? problem.softcap
                       : problem.scale != 0 ? problem.scale
                                            : 1 / std::sqrt(static_cast<double>(problem.depth));
  const auto narrow = static_cast<float>(scale);
  if (rule == Log2eRule::binary32) return {narrow, narrow * static_cast<float>(kLog2E)};
  return {narrow,
          static_cast<float>((rule == Log2eRule::once ? scale : static_cast<double>(narrow)) * kLog2E)};
}

namespace attention_rows {

// flash-attention: params.softcap_val of hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp, whose division is
// binary32.
float cap_factor_of(const AttentionProblem& problem) {
  AttentionProblem uncapped = problem;
  uncapped.softcap = 0;
  return scales_of(uncapped).first / static_cast<float>(problem.softcap);
}

std::string why_no_extras(const AttentionProblem& problem, const AttentionPlan& plan) {
  constexpr double kMost = 1e30;  // far below where softcap * log2(e) leaves binary32
  if (!(problem.softcap >= 0 && problem.softcap <= kMost))
    return refusal("softcap: found {}, allowed: 0 to {}", problem.softcap, kMost);
  if (problem.softcap != 0 && (plan.score == ScoreRule::scaled || plan.score == ScoreRule::scaled_masked))
    return refusal("softcap: found {}, allowed: none where the plan's score rule is {}", problem.softcap,
                   name_in(names::kScoreRule, plan.score));
  if (problem.sinks && (plan.splits != 1 || plan.offset != 0))
    return refusal("sinks: found a plan with splits {}, offset {}, allowed: splits 1, offset 0", plan.splits,
                   plan.offset);
  return {};
}

}  // namespace attention_rows
}  // namespace mmaudit
