#include "mmaudit/datapath_text.hpp"

#include <algorithm>

#include "mmaudit/dot.hpp"
#include "mmaudit/model/rule_names.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit {

std::string_view name_of(KOrder order) { return name_in(names::kOrder, order); }
std::string_view name_of(AddendPlace place) { return name_in(names::kAddend, place); }
std::string_view name_of(Rounding rounding) { return name_in(names::kRounding, rounding); }

std::string rounding_text(const Datapath& datapath) {
  const bool whole = datapath.output.fraction_bits == spec_of(datapath.output.format).fraction_bits;
  std::string text(name_of(datapath.output.rounding));
  text += ' ';
  if (whole)
    text += name_of(datapath.output.format);
  else
    text += "e8m" + std::to_string(datapath.output.fraction_bits);
  if (datapath.sum_format != Format::none && datapath.sum_format != datapath.output.format) {
    std::string steps = datapath.addend == AddendPlace::before_each_nearest ? "RNE " : "RZ ";
    text = steps.append(name_of(datapath.sum_format)).append(", then ").append(text);
  }
  if (datapath.arithmetic == Arithmetic::exact_dot_add) return text + ", sum exact";
  if (datapath.arithmetic == Arithmetic::rounded_tree) return text + ", every product and sum of two";
  if (datapath.arithmetic == Arithmetic::two_stage_dot_add)
    return text + (datapath.partial_sums > 1 ? ", even and odd k, then c" : ", products, then c");
  if (datapath.addend == AddendPlace::before_each_nearest)
    text += ", each by IEEE add";
  else if (datapath.addend != AddendPlace::in_first_step)
    text += ", then c by IEEE add";
  return text;
}

std::string rounding_text(const Instruction& instruction, const Datapath& datapath) {
  if (datapath.arithmetic != Arithmetic::integer) return rounding_text(datapath);
  switch (integer_spec(instruction, datapath).clamp) {
    case IntegerClamp::never:
      return "exact, wraps";
    case IntegerClamp::at_end:
      return "exact, clamped once";
    case IntegerClamp::every_step:
      return "clamped after every " + std::to_string(datapath.products_per_step);
  }
  return "unknown";
}

bool cuts_anything(const Datapath& datapath) {
  const FormatSpec widest = spec_of(Format::f32);
  return datapath.min_alignment_exponent >= 2 * (widest.min_exponent() - widest.fraction_bits);
}

int products_per_step_of(const Instruction& instruction, const Datapath& datapath) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  return std::min<int>(datapath.products_per_step, spec.k / spec.segments);
}

}  // namespace mmaudit
