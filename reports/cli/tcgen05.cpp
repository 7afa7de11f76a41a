// mmaudit tcgen05 run: a kernel of tcgen05 instructions on the model of Blackwell, without the GPU.
#include <fmt/format.h>

#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "mmaudit/value_text.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct Tcgen05Options {
  std::string file, architecture, out;
  Outputs outputs;
  bool trace = false;
};

/// The elements of a fill that a file or a list gives.
void read_elements(const std::string& file, tmem::Fill& fill) {
  const FormatSpec format = spec_of(fill.format);
  const std::string where = fmt::format("{}: line {}", file, fill.line);
  if (fill.source == "values") {
    for (const std::string& item : split_list(fill.argument)) {
      const ParsedValue value = parse_value(item, format);
      if (!value.error.empty()) throw InputError(where + ": values: " + value.error);
      fill.elements.push_back(value.bits);
    }
  } else if (fill.source == "file") {
    const corpus::Tensor tensor = corpus::load_tensor(fill.argument);
    corpus::require_elements(where + ": " + fill.argument, tensor, format);
    const std::size_t count = tensor.data.size() / format.storage_bytes();
    for (std::size_t i = 0; i < count; ++i)
      fill.elements.push_back(gen::load_bits(tensor.data, format.storage_bytes(), i));
  } else {
    return;
  }
  const std::size_t wanted = static_cast<std::size_t>(fill.rows) * static_cast<std::size_t>(fill.columns);
  if (fill.elements.size() != wanted)
    refuse("{}: elements: found {}, allowed: {}", where, fill.elements.size(), wanted);
}

/// Saves the one output of the program; returns how it is called in messages.
std::string save_output(const Tcgen05Options& options, const tmem::PtxProgram& program,
                        const tmem::Interpreter& interpreter) {
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < program.fills.size(); ++i)
    if (program.fills[i].role == tmem::Fill::Role::output) outputs.push_back(i);
  if (outputs.size() != 1)
    refuse("--out: found {} \"//! global\" lines in {}, allowed: 1", outputs.size(), options.file);
  const tmem::Fill& fill = program.fills[outputs.front()];
  const std::vector<std::uint64_t> elements = interpreter.output(outputs.front());
  if (const std::size_t missing = interpreter.not_stored(outputs.front()); missing != 0)
    refuse("--out: found {} of {} elements of \"//! global\" that {} did not store, allowed: 0", missing,
           elements.size(), options.file);
  const corpus::Tensor d = corpus::tensor_of_bits(
      fill.format, {static_cast<std::uint64_t>(fill.rows), static_cast<std::uint64_t>(fill.columns)},
      elements);
  corpus::save_tensor(options.out, d);
  return fmt::format("{} ({} {})", options.out, corpus::safetensors_name(d.dtype),
                     corpus::to_string(d.shape));
}

int execute(const Tcgen05Options& options, const Context& context) {
  tmem::PtxProgram program;
  if (const std::string reason = tmem::parse_ptx(text_of_file(options.file), program); !reason.empty())
    throw InputError(options.file + ": " + reason);
  std::vector<NamedFile> inputs = {{"file", options.file}, {"--model", context.model_file}};
  for (const tmem::Fill& fill : program.fills)
    if (fill.source == "file")
      inputs.push_back({fmt::format("line {} of {}", fill.line, options.file), fill.argument});
  try_outputs(options.outputs.files({{"--out", options.out}}), inputs);
  if (!options.out.empty()) corpus::check_tensor_target(options.out);
  for (tmem::Fill& fill : program.fills) read_elements(options.file, fill);
  std::string name = options.architecture;
  if (name.empty() && context.own() == nullptr) name = program.target.empty() ? "blackwell" : program.target;
  const Architecture& architecture = require_architecture(context, name);

  tmem::Interpreter interpreter(program, architecture);
  std::string trace;
  std::size_t steps = 0, products = 0;
  const std::string reason = interpreter.run([&](const tmem::Step& step) {
    ++steps;
    products +=
        step.instruction->opcode.size() > 1 && step.instruction->opcode[1] == "mma" && !step.what.empty()
            ? 1U
            : 0U;
    if (!options.trace || step.what.empty()) return;
    trace += fmt::format("line {}: {}\n  {}\n", step.instruction->line, printable(step.instruction->text),
                         step.what);
    if (step.tensor_memory)
      for (int cta = 0; cta < interpreter.ctas(); ++cta)
        trace += (interpreter.ctas() > 1 ? fmt::format("  CTA {}\n", cta) : "") + interpreter.picture(cta);
  });
  if (!reason.empty()) {
    print(trace);
    throw InputError(options.file + ": " + reason);
  }
  const std::string saved = options.out.empty() ? "" : " -> " + save_output(options, program, interpreter);
  report::Report found{.title = "A kernel of tcgen05 instructions"};
  found.headline = fmt::format("{}: {} steps, {} mma by the {} model{}", options.file, steps, products,
                               architecture.name, saved);
  found.headline_last = true;
  found.highlights = {{std::to_string(steps), "steps"}, {std::to_string(products), "mma"}};
  found.sections.push_back({.block = trace});
  return options.outputs.publish(found, context);
}

report::Report rules_report() {
  report::Table rules{.title = "Refused, by rule of the PTX ISA 9.0",
                      .columns = {"rule", "section", "allowed"}};
  for (const tmem::Rule& rule : tmem::kRules)
    rules.rows.push_back({rule.name, rule.section, fmt::format("{}: {}", rule.field, rule.allowed)});
  report::Table gaps{.title = "Not modelled", .columns = {"gap", "what"}};
  for (const tmem::Gap& gap : tmem::kGaps)
    gaps.rows.push_back({gap.name, fmt::format("{} ({})", gap.what, gap.why)});
  return {.title = "What the model of tcgen05 refuses", .sections = {section_of(rules), section_of(gaps)}};
}

}  // namespace

void add_tcgen05(Command& app) {
  auto options = std::make_shared<Tcgen05Options>();
  Command group = app.command("tcgen05", "Kernels of tcgen05 instructions, run by the model: no GPU",
                              {"mmaudit tcgen05 run kernel.ptx --trace"});
  group.requires_command();
  Command command = group.command("run", "Runs a PTX text over shared memory, tensor memory and registers",
                                  {"mmaudit tcgen05 run kernel.ptx --out D.npy"});
  command.option("file", options->file, "PTX text; \"//!\" lines say what is in shared memory").required();
  command.option("--arch", options->architecture, "whose arithmetic")
      .default_text("the .target of the file, or blackwell");
  add_model_option(command);
  command.flag("--trace", options->trace, "every step, with a picture of tensor memory");
  command.option("--out", options->out,
                 "what the program stored to its \"//! global\" memory: .npy or .safetensors");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return execute(*options, context); });
  auto of_rules = std::make_shared<Outputs>();
  Command rules = group.command("rules", "What a program is refused for, and what is not modelled",
                                {"mmaudit tcgen05 rules"});
  of_rules->add_to(rules);
  rules.runs([of_rules](const Context& context) {
    try_outputs(of_rules->files(), {});
    return of_rules->publish(rules_report(), context);
  });
  add_convolution(group);
}

}  // namespace mmaudit::cli
