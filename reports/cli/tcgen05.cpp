// mmaudit tcgen05 run: a kernel of tcgen05 instructions on the model of Blackwell, without the GPU.
#include <fmt/format.h>

#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::cli {
namespace {

struct Tcgen05Options {
  std::string file, architecture, out;
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
    if (tensor.dtype != corpus::raw_type(format) && tensor.dtype != corpus::value_type(format.id))
      refuse("{}: {}: dtype: found {}, allowed: {}", where, fill.argument,
             corpus::safetensors_name(tensor.dtype), corpus::types_text(format));
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
  const FormatSpec format = spec_of(fill.format);
  corpus::Tensor tensor;
  tensor.name = "D";
  tensor.shape = {static_cast<std::size_t>(fill.rows), static_cast<std::size_t>(fill.columns)};
  tensor.dtype = corpus::value_type(fill.format);
  const std::vector<std::uint64_t> elements = interpreter.output(outputs.front());
  if (const std::size_t missing = interpreter.not_stored(outputs.front()); missing != 0)
    refuse("--out: found {} of {} elements of \"//! global\" that {} did not store, allowed: 0", missing,
           elements.size(), options.file);
  tensor.data.resize(elements.size() * format.storage_bytes());
  for (std::size_t i = 0; i < elements.size(); ++i)
    gen::store_bits(tensor.data, format.storage_bytes(), i, elements[i]);
  corpus::save_tensor(options.out, tensor);
  return fmt::format("{} ({} {})", options.out, corpus::safetensors_name(tensor.dtype),
                     corpus::to_string(tensor.shape));
}

int execute(const Tcgen05Options& options, const Context& context) {
  tmem::PtxProgram program;
  if (const std::string reason = tmem::parse_ptx(text_of_file(options.file), program); !reason.empty())
    throw InputError(options.file + ": " + reason);
  std::vector<NamedFile> inputs = {{"file", options.file}, {"--model", context.model_file}};
  for (const tmem::Fill& fill : program.fills)
    if (fill.source == "file")
      inputs.push_back({fmt::format("line {} of {}", fill.line, options.file), fill.argument});
  try_outputs({{"--out", options.out}}, inputs);
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
  if (options.trace) print(trace);
  if (!reason.empty()) throw InputError(options.file + ": " + reason);
  const std::string saved = options.out.empty() ? "" : " -> " + save_output(options, program, interpreter);
  print(fmt::format("{}: {} steps, {} mma by the {} model{}\n", options.file, steps, products,
                    architecture.name, saved));
  return kAllGood;
}

int print_rules() {
  std::string text = "Refused, by rule of the PTX ISA 9.0:\n";
  for (const tmem::Rule& rule : tmem::kRules)
    text += fmt::format("{:<20} {}: {} ({})\n", rule.name, rule.field, rule.allowed, rule.section);
  text += "\nNot modelled:\n";
  for (const tmem::Gap& gap : tmem::kGaps)
    text += fmt::format("{:<20} {} ({})\n", gap.name, gap.what, gap.why);
  print(text);
  return kAllGood;
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
  command.runs([options](const Context& context) { return execute(*options, context); });
  group.command("rules", "What a program is refused for, and what is not modelled", {"mmaudit tcgen05 rules"})
      .runs([](const Context&) { return print_rules(); });
  add_convolution(group);
}

}  // namespace mmaudit::cli
