#include "tables.hpp"

#include <fmt/format.h>

#include "mmaudit/datapath_text.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit::report {
std::string accumulator_text(const Datapath& datapath) {
  if (datapath.arithmetic == Arithmetic::integer) return "exact";
  if (datapath.arithmetic == Arithmetic::fma_chain) return "one FMA after another";
  constexpr std::string_view kRoundings[] = {"cut off", "to nearest", "down", "up"};
  std::string text =
      datapath.widen_to == Format::none ? "" : fmt::format("as {}, ", title_of(datapath.widen_to));
  text += fmt::format("{} at a time, {} bits, {}", datapath.products_per_step, datapath.fraction_bits,
                      name_in(kRoundings, datapath.output.rounding));
  if (datapath.output.fraction_bits < spec_of(datapath.output.format).fraction_bits)
    text += fmt::format(" to {}", datapath.output.fraction_bits);
  if (datapath.addend != AddendPlace::in_first_step) text += ", C last";
  return text;
}

ModelRow model_row(const Architecture& architecture, const Instruction& instruction,
                   const DatapathEntry& entry) {
  return {.architecture = std::string(architecture.name),
          .instruction = name_of(instruction),
          .accumulator = accumulator_text(entry.datapath),
          .evidence = std::string(name_of(entry.evidence)),
          .source = std::string(entry.source),
          .rules = datapath_json(entry)};
}

}  // namespace mmaudit::report
