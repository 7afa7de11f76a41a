#include "row_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/dot.hpp"

namespace mmaudit::cli {

std::string_view name_of(KOrder order) {
  switch (order) {
    case KOrder::ascending:
      return "ascending";
    case KOrder::pairs_of_four:
      return "pairs_of_four";
    case KOrder::descending:
      return "descending";
    case KOrder::halves:
      return "halves";
    case KOrder::even_then_odd:
      return "even_then_odd";
  }
  return "unknown";
}

std::string_view name_of(AddendPlace place) {
  switch (place) {
    case AddendPlace::in_first_step:
      return "in_first_step";
    case AddendPlace::after_last_nearest:
      return "after_last_nearest";
    case AddendPlace::after_last_truncated:
      return "after_last_truncated";
    case AddendPlace::before_each_nearest:
      return "before_each_nearest";
  }
  return "unknown";
}

std::string_view name_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero:
      return "RZ";
    case Rounding::nearest_even:
      return "RNE";
    case Rounding::down:
      return "RD";
    case Rounding::up:
      return "RU";
  }
  return "unknown";
}

std::string rounding_text(const AccumulatorModel& row) {
  const bool whole = row.output.fraction_bits == spec_of(row.output.format).fraction_bits;
  std::string text =
      whole ? fmt::format("{} {}", name_of(row.output.rounding), mmaudit::name_of(row.output.format))
            : fmt::format("{} e8m{}", name_of(row.output.rounding), row.output.fraction_bits);
  if (row.sum_format != Format::none && row.sum_format != row.output.format)
    text = fmt::format("{} {}, then {}", row.addend == AddendPlace::before_each_nearest ? "RNE" : "RZ",
                       mmaudit::name_of(row.sum_format), text);
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
      return fmt::format("clamped after every {}", row.block);
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

}  // namespace mmaudit::cli
