// A plan of attention in words, back from words, and which of its fields changed.
#include "mmaudit/attention.hpp"
#include "text/plan_words.hpp"

namespace mmaudit {

std::string text_of(const AttentionPlan& plan) {
  plan_words::Words words;
  for_each_attention_field(plan, words);
  return words.text;
}

std::optional<AttentionPlan> attention_plan_in(std::string_view words) {
  // Words leave out what is the least or first value.
  AttentionPlan out;
  out.p = out.output = Format::f32;
  plan_words::WordsReader reader(words);
  for_each_attention_field(out, reader);
  return reader.understood() ? std::optional(out) : std::nullopt;
}

std::string change_of(const AttentionPlan& before, const AttentionPlan& after) {
  plan_words::Values was, is;
  for_each_attention_field(before, was);
  for_each_attention_field(after, is);
  return change_between(was, is);
}

}  // namespace mmaudit
