// mmaudit explain: one dot product, step by step.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "common.hpp"
#include "explained.hpp"
#include "functions.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/value_text.hpp"
#include "mmaudit/whole_number.hpp"
#include "outputs.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct ExplainOptions {
  std::string architecture, instruction, a, b, c, scale_a, scale_b, metadata, tile_file, x, y;
  std::vector<std::string> against;
  std::uint64_t tile = 0;
  int row = 0, column = 0;
  ModifierOptions modifiers;
  bool all = false;
  Outputs outputs;
};

/// A dot product of an instruction, and D of the recording it is from.
struct Question {
  Instruction instruction;
  DotCase dot;
  std::string recorded;  ///< hex; empty: not from a recording
};

/// "1.5,0x3c01,2^-12": at most k values, the rest +0.
std::vector<std::uint64_t> parse_list(const char* option, const std::string& text, const FormatSpec& format,
                                      int k, const char* most = "the depth of the instruction") {
  std::vector<std::uint64_t> values;
  if (!text.empty())
    for (const std::string& item : split_list(text)) {
      const ParsedValue value = parse_value(item, format);
      if (!value.error.empty())
        throw InputError(fmt::format("{}: value {}: {}", option, values.size(), value.error));
      values.push_back(value.bits);
    }
  if (values.size() > static_cast<std::size_t>(k))
    refuse("{}: found {} values, allowed: at most {} ({})", option, values.size(), k, most);
  values.resize(static_cast<std::size_t>(k), 0);
  return values;
}

/// "0,1,2,3,...": a position for every stored element; without any, the first ones of every group.
std::vector<std::uint8_t> parse_metadata(const std::string& text, const Instruction& instruction) {
  if (!is_sparse(instruction.op)) {
    if (text.empty()) return {};
    refuse("--metadata: found with {}, allowed: with sparse instructions only",
           mmaudit::name_of(instruction));
  }
  const Sparsity sparsity = sparsity_of(instruction);
  const auto stored = static_cast<std::size_t>(instruction.stored_k());
  std::vector<std::uint8_t> metadata;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string word = text.substr(start, comma - start);
    const int position = whole_number<int>(word).value_or(-1);
    if (position < 0 || position >= sparsity.group)
      refuse("--metadata: value {}: found '{}', allowed: 0 to {}", metadata.size(), word, sparsity.group - 1);
    metadata.push_back(static_cast<std::uint8_t>(position));
    start = comma + 1;
  }
  if (metadata.size() > stored || metadata.size() % static_cast<std::size_t>(sparsity.kept) != 0)
    refuse("--metadata: found {} positions, allowed: at most {}, in whole groups of {}", metadata.size(),
           stored, sparsity.kept);
  while (metadata.size() < stored) {
    metadata.resize(metadata.size() + static_cast<std::size_t>(sparsity.kept));
    write_pattern(sparsity, 0, &metadata[metadata.size() - static_cast<std::size_t>(sparsity.kept)]);
  }
  Instruction one_row = instruction;
  one_row.m = 1;
  if (const std::string reason = why_bad_metadata(one_row, metadata, 1); !reason.empty())
    throw InputError("--metadata: " + reason.substr(reason.find("group")));
  return metadata;
}

/// One scale per block of k; missing ones are 1.
std::vector<std::uint8_t> parse_scales(const char* option, const std::string& text, const Instruction& inst) {
  if (text.empty()) return {};
  if (inst.scale == Format::none)
    refuse("{}: found with {}, allowed: with block-scaled instructions only (kind_mx...)", option,
           mmaudit::name_of(inst));
  std::string padded = text;
  for (auto i = std::count(text.begin(), text.end(), ',') + 1; i < scales_of(inst); ++i) padded += ",1";
  const auto bits = parse_list(option, padded, spec_of(inst.scale), scales_of(inst), "blocks of k");
  return {bits.begin(), bits.end()};
}

Question read_recording(const ExplainOptions& options) {
  const corpus::Recording recording = corpus::read_recording(options.tile_file);
  const Instruction inst = instruction_of(recording, options.tile_file);
  const auto require = [&](const char* option, std::int64_t found, std::int64_t size) {
    if (found < 0 || found >= size)
      refuse("{}: {}: found {}, allowed: 0 to {}", options.tile_file, option, found, size - 1);
  };
  require("--index", static_cast<std::int64_t>(options.tile), static_cast<std::int64_t>(recording.tiles));
  require("--row", options.row, inst.m);
  require("--col", options.column, inst.n);
  const TileView batch = view_of(recording);
  const std::uint64_t d = d_at(inst, batch, options.tile, options.row, options.column);
  return {inst, dot_at(inst, batch, options.tile, options.row, options.column),
          hex_text(d, spec_of(inst.d).storage_bits)};
}

Question read_text(const ExplainOptions& options) {
  if (options.instruction.empty())
    refuse("--inst: found nothing, allowed: an instruction of `mmaudit list`, or --tile with a recording");
  const Instruction inst = require_instruction(options.instruction);
  DotCase dot;
  dot.a = parse_list("--a", options.a, spec_of(inst.a), inst.stored_k());
  dot.metadata = parse_metadata(options.metadata, inst);
  dot.b = parse_list("--b", options.b, spec_of(inst.b), inst.k);
  dot.c = parse_list("--c", options.c, spec_of(inst.c), 1)[0];
  dot.scale_a = parse_scales("--scale-a", options.scale_a, inst);
  dot.scale_b = parse_scales("--scale-b", options.scale_b, inst);
  dot.modifiers = modifier_bits(inst, options.modifiers);
  return {inst, std::move(dot), {}};
}

/// The same dot product for an architecture that lacks the instruction: the formats stay, k is the least that
/// holds every product that is not +0 times +0. InputError when there is none, or when modifiers would be
/// lost.
Question moved_to(const Architecture& architecture, const Question& asked) {
  if (find_datapath(architecture, asked.instruction) != nullptr) return asked;
  std::size_t used = asked.dot.a.size();
  const Instruction& wanted = asked.instruction;
  if (is_sparse(wanted.op)) require_datapath(architecture, wanted);
  while (used > 0 && asked.dot.a[used - 1] == 0 && asked.dot.b[used - 1] == 0) --used;
  const std::optional<Instruction> best = shallowest(architecture, used, [&](const Instruction& inst) {
    return inst.scale == wanted.scale && inst.scale_block == wanted.scale_block && inst.a == wanted.a &&
           inst.b == wanted.b && inst.c == wanted.c && inst.d == wanted.d && !is_sparse(inst.op);
  });
  if (!best || (asked.dot.modifiers & unsigned{kScaleDZero | kNegateA | kNegateB}) != 0)
    require_datapath(architecture, wanted);
  Question moved = asked;
  moved.instruction = best.value();
  moved.dot.a.resize(static_cast<std::size_t>(best->k), 0);
  moved.dot.b.resize(static_cast<std::size_t>(best->k), 0);
  return moved;
}

/// What is no instruction may be a misspelt function: the nearest names of both.
void check_name(const std::string& name, bool has_operand) {
  if (read_instruction(name)) return;
  const std::vector<std::string> names = names_of(functions::all());
  if (!has_operand && nearest_word(name, names).empty()) return;
  const std::vector<std::string> near = nearest_instructions(name, 1);
  refuse("--inst: found {}, allowed: {}, {}", in_quotes(name),
         allowed_near(name, names, "mmaudit list --functions"),
         near.empty() ? "an instruction of `mmaudit list`" : "the instruction " + near.front());
}

int explain_command(const ExplainOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--tile", options.tile_file}, {"--model", context.model_file}});
  if (const auto rows = functions::rows_of(options.instruction); !rows.empty()) {
    const functions::Function* function = rows.front();  // "ex2" is its form of binary32
    if (!(options.a + options.b + options.c + options.tile_file).empty() || !options.against.empty())
      refuse("{}: found --a, --b, --c, --tile or --against, allowed: --x, --y", function->name);
    if (options.outputs.writes("--svg"))
      refuse("--svg: found with {}, allowed: with dot products", function->name);
    if (require_architecture(context, options.architecture).compute_capability !=
        functions::kRecordedCapability)
      refuse("--arch: found {} with {}, allowed: hopper", options.architecture, function->name);
    return options.outputs.publish(checks::explain_function(*function, options.x, options.y), context);
  }
  if (options.tile_file.empty()) check_name(options.instruction, !(options.x + options.y).empty());
  if (!(options.x + options.y).empty())
    refuse("--x: found with {}, allowed: with a special function of `mmaudit list --functions`",
           options.instruction);
  const Question asked = options.tile_file.empty() ? read_text(options) : read_recording(options);
  std::vector<std::string> names = {options.architecture};
  names.insert(names.end(), options.against.begin(), options.against.end());
  std::vector<Explained> explained;
  for (const std::string& name : names) {
    const Architecture& architecture = require_architecture(context, name);
    const Question own = explained.empty() ? asked : moved_to(architecture, asked);
    explained.push_back(
        explain(architecture, require_datapath(architecture, own.instruction), own.instruction, own.dot));
  }
  return options.outputs.publish(report_of(explained, options.all, asked.recorded), context);
}

}  // namespace

void add_explain(Command& app) {
  auto options = std::make_shared<ExplainOptions>();
  Command command = app.command(
      "explain", "One dot product: exponents, maximum, what alignment loses, sum, rounding, error",
      {"mmaudit explain --inst mma.m16n8k16.f32.f16.f16.f32 --a 1,2^-12 --b 1,1 --c 0.5",
       "mmaudit explain --inst mma.m16n8k16.f32.f16.f16.f32 --a 1,2^-12 --b 1,1 --against volta,ampere",
       "mmaudit explain --inst ex2.approx.f32 --x 0.3"});
  command.section("Which instruction");
  add_instruction_option(command, options->instruction);
  add_architecture_options(command, options->architecture);
  command.section("The dot product");
  const Option a =
      command
          .option("--a LIST", options->a,
                  "row of A: \"1.5,0x3c01,-2^-12,1.5*2^3,inf,nan,max,min,tiny\"; missing values are +0")
          .may_be_empty();
  const Option b = command.option("--b LIST", options->b, "column of B").may_be_empty();
  const Option c = command.option("--c X", options->c, "c");
  const Option scale_a = command.option(
      "--scale-a LIST", options->scale_a,
      "block-scaled: scales of the row of A, one per block of k: \"2^-3,0x7f,nan\"; missing ones are 1");
  const Option scale_b =
      command.option("--scale-b LIST", options->scale_b, "block-scaled: scales of the column of B");
  const Option metadata = command.option(
      "--metadata LIST", options->metadata,
      "sparse: the position of every element of A inside its group, \"0,1,1,3\"; missing groups: "
      "their first positions");
  command.section("Beside it");
  command
      .option("--against ARCH", options->against,
              "other architectures, side by side; one that lacks the instruction takes the "
              "shallowest of the same formats")
      .comma_separated();
  command.section("A special function");
  command.option("--x X", options->x, "its operand, as in --a");
  command.option("--y Y", options->y, "of a quotient: the divisor");
  command.section("A dot product of a recording");
  Option tile =
      command.option("--tile FILE", options->tile_file, "take the dot product from this recording instead");
  for (const Option& one : {a, b, c, scale_a, scale_b, metadata}) tile.excludes(one);
  command.option("--index", options->tile, "with --tile: which tile");
  command.option("--row", options->row, "with --tile: row of D");
  command.option("--col", options->column, "with --tile: column of D");
  command.section("Modifiers");
  add_modifier_options(command, options->modifiers);
  options->outputs.add_to(command);
  options->outputs.add_picture_to(command, "every product's bits on one axis of powers of two");
  command.flag("--all", options->all, "list zero products too");
  command.runs([options](const Context& context) { return explain_command(*options, context); });
  add_layout(command);
}

}  // namespace mmaudit::cli
