// mmaudit explain: one dot product, step by step.
#include "mmaudit/explain.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "explain_inputs.hpp"
#include "explain_scaled.hpp"
#include "explain_trace.hpp"

namespace mmaudit::cli {
namespace {

int explain(const ExplainOptions& options, const Context& context) {
  if (options.tile_file.empty() && options.instruction.empty()) {
    throw InputError(
        "--inst: found nothing, allowed: an instruction of `mmaudit list`, or --tile with a recording");
  }
  const ExplainInputs inputs =
      options.tile_file.empty() ? inputs_of_text(options) : inputs_of_recording(options);
  std::vector<std::string> names = {options.architecture};
  names.insert(names.end(), options.against.begin(), options.against.end());
  nlohmann::json traces = nlohmann::json::array();
  std::string text;
  std::string summary;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Architecture& architecture = require_architecture(context, names[i]);
    const ExplainInputs own = i == 0 ? inputs : inputs_on(architecture, inputs);
    const DatapathEntry& entry = require_datapath(architecture, own.instruction);
    const Explanation trace =
        mmaudit::explain(make_plan(own.instruction, entry.datapath), own.a.data(), factors_of_b(own).data(),
                         own.c, own.modifiers, own.scale_a.empty() ? nullptr : own.scale_a.data(),
                         own.scale_b.empty() ? nullptr : own.scale_b.data());
    traces.push_back(trace_json(own, trace, architecture, entry));
    text += fmt::format("{} on {} ({})\n", mmaudit::name_of(own.instruction), architecture.name,
                        mmaudit::name_of(entry.evidence));
    text += trace_text(own, trace, options.all);
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", architecture.name,
                           hex_value(trace.result, spec_of(own.instruction.d)));
  }
  if (names.size() > 1) text += "side by side: " + summary + "\n";
  if (!inputs.recorded.empty()) text += fmt::format("recorded 0x{}\n", inputs.recorded);
  if (options.json) {
    nlohmann::json out = {{"schema", "mmaudit.explain/1"},
                          {"instruction", mmaudit::name_of(inputs.instruction)},
                          {"traces", traces}};
    if (!inputs.recorded.empty()) out["recorded"] = inputs.recorded;
    text = out.dump(2) + "\n";
  }
  emit("-", text);
  return kAllGood;
}

}  // namespace

void add_explain(Command& app) {
  auto options = std::make_shared<ExplainOptions>();
  Command command = app.command(
      "explain", "One dot product: exponents, maximum, what alignment loses, sum, rounding, error",
      {"mmaudit explain --inst mma.m16n8k16.f32.f16.f16.f32 --a 1,2^-12 --b 1,1 --c 0.5",
       "mmaudit explain --inst mma.m16n8k16.f32.f16.f16.f32 --a 1,2^-12 --b 1,1 --against volta,ampere"});
  command.option("--inst", options->instruction, "instruction, as `mmaudit list` prints it; N as a number");
  command.option("--arch", options->architecture, "architecture of the model")
      .default_text(kDefaultArchitecture);
  add_model_option(command);
  command.option("--a", options->a,
                 "row of A: \"1.5,0x3c01,-2^-12,1.5*2^3,inf,nan,max,min,tiny\"; missing values are +0");
  command.option("--b", options->b, "column of B");
  command.option("--c", options->c, "c");
  command.option("--scale-a", options->scale_a,
                 "block-scaled: scales of the row of A, one a block: \"2^-3,0x7f,nan\"; missing ones are 1");
  command.option("--scale-b", options->scale_b, "block-scaled: scales of the column of B");
  command.option("--metadata", options->metadata,
                 "sparse: the position of every element of A inside its group, \"0,1,1,3\"; missing groups: "
                 "their first positions");
  command
      .option("--against", options->against,
              "other architectures, side by side; one that lacks the instruction takes the "
              "shallowest of the same formats")
      .comma_separated();
  command.option("--tile", options->tile_file, "take the dot product from this recording instead");
  command.option("--index", options->tile, "with --tile: which tile");
  command.option("--row", options->row, "with --tile: row of D");
  command.option("--col", options->column, "with --tile: column of D");
  command.option("--scale-d", options->scale_d, "wgmma, tcgen05: 0 leaves C out").one_of({"0", "1"});
  command.flag("--negate-a", options->negate_a, "wgmma, tcgen05: A negated");
  command.flag("--negate-b", options->negate_b, "wgmma, tcgen05: B negated");
  command.flag("--all", options->all, "list zero products too");
  command.flag("--json", options->json, "the trace as JSON");
  command.runs([options](const Context& context) { return explain(*options, context); });
}

}  // namespace mmaudit::cli
