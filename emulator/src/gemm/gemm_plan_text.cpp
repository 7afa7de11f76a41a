// Plans in words, back from words, and which of their fields changed.
#include "mmaudit/attention.hpp"
#include "text/plan_words.hpp"

namespace mmaudit {

using namespace plan_words;

std::string text_of(const GemmPlan& plan) { return words_of_plan(plan); }
std::string text_of(const AttentionPlan& plan) { return words_of_plan(plan); }

std::optional<GemmPlan> gemm_plan_in(std::string_view words) {
  const auto out = plan_in(words, GemmPlan{});
  return out && out->scalar == is_scalar(out->instruction) ? out : std::nullopt;
}
std::optional<AttentionPlan> attention_plan_in(std::string_view words) {
  AttentionPlan first;
  first.p = first.output = Format::f32;
  return plan_in(words, first);
}

std::string change_of(const GemmPlan& before, const GemmPlan& after) { return change_of_plan(before, after); }
std::string change_of(const AttentionPlan& before, const AttentionPlan& after) {
  return change_of_plan(before, after);
}

}  // namespace mmaudit
