// A plan in words, back from words, and which of its fields changed.
#include "text/plan_words.hpp"

namespace mmaudit {

using namespace plan_words;
std::string text_of(const GemmPlan& plan) {
  Words words;
  for_each_field(plan, words);
  return words.text;
}

std::optional<GemmPlan> gemm_plan_in(std::string_view words) {
  GemmPlan out;
  WordsReader reader(words);
  for_each_field(out, reader);
  return reader.understood() && out.scalar == is_scalar(out.instruction) ? std::optional(out) : std::nullopt;
}

std::string change_of(const GemmPlan& before, const GemmPlan& after) {
  Values was, is;
  for_each_field(before, was);
  for_each_field(after, is);
  return change_between(was, is);
}

}  // namespace mmaudit
