#include "mmaudit/row_text.hpp"

#include <algorithm>

#include "mmaudit/dot.hpp"
#include "mmaudit/rule_names.hpp"

namespace mmaudit {

std::string_view name_of(KOrder order) { return names::text_of(names::kOrder, order); }
std::string_view name_of(AddendPlace place) { return names::text_of(names::kAddend, place); }
std::string_view name_of(Rounding rounding) { return names::text_of(names::kRounding, rounding); }

std::string rounding_text(const AccumulatorModel& row) {
  const bool whole = row.output.fraction_bits == spec_of(row.output.format).fraction_bits;
  std::string text(name_of(row.output.rounding));
  text += ' ';
  if (whole)
    text += name_of(row.output.format);
  else
    text += "e8m" + std::to_string(row.output.fraction_bits);
  if (row.sum_format != Format::none && row.sum_format != row.output.format) {
    std::string steps = row.addend == AddendPlace::before_each_nearest ? "RNE " : "RZ ";
    text = steps.append(name_of(row.sum_format)).append(", then ").append(text);
  }
  if (row.addend == AddendPlace::before_each_nearest)
    text += ", each by IEEE add";
  else if (row.addend != AddendPlace::in_first_step)
    text += ", then c by IEEE add";
  return text;
}

std::string rounding_text(const Instruction& instruction, const AccumulatorModel& row) {
  if (row.arithmetic != Arithmetic::integer) return rounding_text(row);
  switch (integer_spec(instruction, row).clamp) {
    case IntegerClamp::never:
      return "exact, wraps";
    case IntegerClamp::at_end:
      return "exact, clamped once";
    case IntegerClamp::every_step:
      return "clamped after every " + std::to_string(row.block);
  }
  return "unknown";
}

bool cuts_anything(const AccumulatorModel& row) {
  const FormatSpec widest = spec_of(Format::f32);
  return row.floor >= 2 * (widest.min_exponent() - widest.fraction_bits);
}

int block_of(const Instruction& instruction, const AccumulatorModel& row) {
  const DotPlan plan = make_plan(instruction, row);
  return std::min<int>(row.block, plan.k / plan.segments);
}

}  // namespace mmaudit
