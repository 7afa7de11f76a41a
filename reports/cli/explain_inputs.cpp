#include "explain_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "common.hpp"
#include "mismatch_text.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/value_text.hpp"
#include "replay.hpp"

namespace mmaudit::cli {
namespace {

/// "1.5,0x3c01,2^-12": at most k values, the rest +0.
std::vector<std::uint64_t> parse_list(const char* option, const std::string& text, const FormatSpec& format,
                                      int k, const char* most = "the depth of the instruction") {
  std::vector<std::uint64_t> values;
  for (std::size_t start = 0; start <= text.size() && !text.empty();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    std::string_view item = std::string_view(text).substr(start, comma - start);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    const ParsedValue value = parse_value(item, format);
    if (!value.error.empty())
      throw InputError(fmt::format("{}: value {}: {}", option, values.size(), value.error));
    values.push_back(value.bits);
    start = comma + 1;
  }
  if (values.size() > static_cast<std::size_t>(k)) {
    throw InputError(
        fmt::format("{}: found {} values, allowed at most {} ({})", option, values.size(), k, most));
  }
  values.resize(static_cast<std::size_t>(k), 0);
  return values;
}

/// "0,1,2,3,...": a position for every stored element; without any, the first ones of every group.
std::vector<std::uint8_t> parse_metadata(const std::string& text, const Instruction& instruction) {
  if (!is_sparse(instruction.op)) {
    if (text.empty()) return {};
    throw InputError(fmt::format("--metadata: found with {}, allowed with sparse instructions only",
                                 mmaudit::name_of(instruction)));
  }
  const Sparsity sparsity = sparsity_of(instruction);
  const auto stored = static_cast<std::size_t>(instruction.stored_k());
  std::vector<std::uint8_t> metadata;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    int position = -1;
    const auto [end, error] = std::from_chars(text.data() + start, text.data() + comma, position);
    if (error != std::errc() || end != text.data() + comma || position < 0 || position >= sparsity.group)
      throw InputError(fmt::format("--metadata: value {}: found '{}', allowed 0 to {}", metadata.size(),
                                   text.substr(start, comma - start), sparsity.group - 1));
    metadata.push_back(static_cast<std::uint8_t>(position));
    start = comma + 1;
  }
  if (metadata.size() > stored || metadata.size() % static_cast<std::size_t>(sparsity.kept) != 0)
    throw InputError(fmt::format("--metadata: found {} positions, allowed at most {}, in whole groups of {}",
                                 metadata.size(), stored, sparsity.kept));
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

/// One scale a block of k; what is missing is 1.
std::vector<std::uint8_t> parse_scales(const char* option, const std::string& text, const Instruction& inst) {
  if (text.empty()) return {};
  if (inst.scale == Format::none)
    throw InputError(
        fmt::format("{}: found with {}, allowed with block-scaled instructions only (kind_mx...)", option,
                    mmaudit::name_of(inst)));
  const FormatSpec format = spec_of(inst.scale);
  const std::string padded = text + [&] {
    std::string ones;
    for (auto i = std::count(text.begin(), text.end(), ',') + 1; i < scales_of(inst); ++i) ones += ",1";
    return ones;
  }();
  std::vector<std::uint8_t> bytes;
  for (const std::uint64_t bits : parse_list(option, padded, format, scales_of(inst), "blocks of k"))
    bytes.push_back(static_cast<std::uint8_t>(bits));
  return bytes;
}

}  // namespace

ExplainInputs inputs_of_recording(const ExplainOptions& options) {
  const corpus::Recording recording = corpus::read_recording(options.tile_file);
  ExplainInputs inputs;
  inputs.instruction = instruction_of(recording, options.tile_file);
  const Instruction& inst = inputs.instruction;
  const auto refuse = [&](const char* option, std::uint64_t found, std::uint64_t size) {
    throw InputError(
        fmt::format("{}: {}: found {}, allowed 0 to {}", options.tile_file, option, found, size - 1));
  };
  if (options.tile >= recording.tiles) refuse("--index", options.tile, recording.tiles);
  if (options.row < 0 || options.row >= inst.m)
    refuse("--row", static_cast<std::uint64_t>(options.row), static_cast<std::uint64_t>(inst.m));
  if (options.column < 0 || options.column >= inst.n)
    refuse("--col", static_cast<std::uint64_t>(options.column), static_cast<std::uint64_t>(inst.n));
  const auto m = static_cast<std::size_t>(inst.m);
  const auto n = static_cast<std::size_t>(inst.n);
  const auto k = static_cast<std::size_t>(inst.k);
  const auto stored = static_cast<std::size_t>(inst.stored_k());
  const auto i = static_cast<std::size_t>(options.row);
  const auto j = static_cast<std::size_t>(options.column);
  for (std::size_t p = 0; p < stored; ++p) {
    const std::size_t at = (options.tile * m + i) * stored + p;
    inputs.a.push_back(gen::load_bits(recording.a.data, spec_of(inst.a).storage_bytes(), at));
    if (!recording.metadata.empty()) inputs.metadata.push_back(recording.metadata[at]);
  }
  for (std::size_t p = 0; p < k; ++p) {
    inputs.b.push_back(
        gen::load_bits(recording.b.data, spec_of(inst.b).storage_bytes(), (options.tile * k + p) * n + j));
  }
  const std::size_t element = (options.tile * m + i) * n + j;
  inputs.c = gen::load_bits(recording.c.data, spec_of(inst.c).storage_bytes(), element);
  inputs.modifiers = recording.modifiers[options.tile];
  const FormatSpec d = spec_of(inst.d);
  inputs.recorded = hex_text(gen::load_bits(recording.d.data, d.storage_bytes(), element), d.storage_bits);
  return inputs;
}

std::vector<std::uint64_t> factors_of_b(const ExplainInputs& inputs) {
  if (!is_sparse(inputs.instruction.op)) return inputs.b;
  std::vector<std::uint64_t> met;
  for (std::size_t k = 0; k < inputs.a.size(); ++k)
    met.push_back(
        inputs.b[static_cast<std::size_t>(selected_k(sparsity_of(inputs.instruction), MetadataRule::selected,
                                                     inputs.metadata.data(), static_cast<int>(k)))]);
  return met;
}

oracle::ExactDot exact_of(const ExplainInputs& inputs) {
  return oracle::exact_dot(inputs.instruction, {.a = inputs.a,
                                                .b = inputs.b,
                                                .c = inputs.c,
                                                .modifiers = static_cast<std::uint8_t>(inputs.modifiers),
                                                .metadata = inputs.metadata,
                                                .scale_a = inputs.scale_a,
                                                .scale_b = inputs.scale_b});
}

ExplainInputs inputs_of_text(const ExplainOptions& options) {
  ExplainInputs inputs;
  inputs.instruction = require_instruction(options.instruction);
  inputs.a = parse_list("--a", options.a, spec_of(inputs.instruction.a), inputs.instruction.stored_k());
  inputs.metadata = parse_metadata(options.metadata, inputs.instruction);
  inputs.b = parse_list("--b", options.b, spec_of(inputs.instruction.b), inputs.instruction.k);
  inputs.c = parse_list("--c", options.c, spec_of(inputs.instruction.c), 1)[0];
  inputs.scale_a = parse_scales("--scale-a", options.scale_a, inputs.instruction);
  inputs.scale_b = parse_scales("--scale-b", options.scale_b, inputs.instruction);
  inputs.modifiers = modifier_bits(inputs.instruction, options.scale_d, options.negate_a, options.negate_b);
  return inputs;
}

ExplainInputs inputs_on(const Architecture& architecture, const ExplainInputs& inputs) {
  if (find_datapath(architecture, inputs.instruction) != nullptr) return inputs;
  std::size_t used = inputs.a.size();
  const Instruction& wanted = inputs.instruction;
  if (is_sparse(wanted.op)) require_datapath(architecture, wanted);
  while (used > 0 && inputs.a[used - 1] == 0 && inputs.b[used - 1] == 0) --used;
  std::optional<Instruction> best;
  for (const Instruction& inst : all_instructions(kWgmmaMinN)) {
    const bool same = inst.scale == wanted.scale && inst.scale_block == wanted.scale_block &&
                      inst.a == wanted.a && inst.b == wanted.b && inst.c == wanted.c && inst.d == wanted.d &&
                      !is_sparse(inst.op);
    if (!same || static_cast<std::size_t>(inst.k) < used || find_datapath(architecture, inst) == nullptr)
      continue;
    if (!best || inst.k < best->k) best = inst;
  }
  if (!best || (inputs.modifiers & unsigned{kScaleDZero | kNegateA | kNegateB}) != 0)
    require_datapath(architecture, wanted);
  ExplainInputs moved = inputs;
  moved.instruction = best.value();
  moved.a.resize(static_cast<std::size_t>(best->k), 0);
  moved.b.resize(static_cast<std::size_t>(best->k), 0);
  return moved;
}

}  // namespace mmaudit::cli
