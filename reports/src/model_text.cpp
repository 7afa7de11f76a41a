#include "model_text.hpp"

#include <fmt/format.h>

#include "mmaudit/json_text.hpp"

namespace mmaudit::report {
namespace {

std::string_view text_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero:
      return "cut off";
    case Rounding::nearest_even:
      return "to nearest";
    case Rounding::down:
      return "down";
    case Rounding::up:
      return "up";
  }
  return "";
}

}  // namespace

std::string accumulator_text(const AccumulatorModel& row) {
  if (row.arithmetic == Arithmetic::integer) return "exact";
  if (row.arithmetic == Arithmetic::fma_chain) return "one FMA after another";
  std::string text = row.widen_to == Format::none ? "" : fmt::format("as {}, ", title_of(row.widen_to));
  text +=
      fmt::format("{} at a time, {} bits, {}", row.block, row.fraction_bits, text_of(row.output.rounding));
  if (row.output.fraction_bits < spec_of(row.output.format).fraction_bits)
    text += fmt::format(" to {}", row.output.fraction_bits);
  if (row.addend != AddendPlace::in_first_step) text += ", C last";
  return text;
}

ModelRow model_row(const Architecture& architecture, const Instruction& instruction, const DatapathRow& row) {
  return {.architecture = std::string(architecture.name),
          .instruction = name_of(instruction),
          .accumulator = accumulator_text(row.model),
          .evidence = std::string(name_of(row.evidence)),
          .source = std::string(row.source),
          .rules = row_json(row)};
}

}  // namespace mmaudit::report
