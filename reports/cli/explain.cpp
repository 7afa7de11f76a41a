// mmaudit explain: one dot product, step by step.
#include "mmaudit/explain.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "common.hpp"
#include "explain_integers.hpp"
#include "explain_scaled.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/emulator.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "mmaudit/value_text.hpp"
#include "replay.hpp"
#include "row_json.hpp"
#include "row_text.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string architecture, instruction, a, b, c, scale_a, scale_b, metadata, tile_file;
  std::vector<std::string> against;
  std::uint64_t tile = 0;
  int row = 0, column = 0, scale_d = 1;
  bool json = false, negate_a = false, negate_b = false, all = false;
};

struct Inputs {
  Instruction instruction;
  std::vector<std::uint64_t> a, b;
  std::vector<std::uint8_t> scale_a, scale_b;  // empty: every scale is 1
  std::uint64_t c = 0;
  unsigned modifiers = 0;
  std::vector<std::uint8_t> metadata;  // sparse: of the row of A
  std::string recorded;                // D of the recording, hex; empty: none
};

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

Inputs inputs_of_recording(const Options& options) {
  const corpus::Recording recording = corpus::read_recording(options.tile_file);
  Inputs inputs;
  inputs.instruction = instruction_of(recording, options.tile_file);
  const Instruction& row = inputs.instruction;
  const auto refuse = [&](const char* option, std::uint64_t found, std::uint64_t size) {
    throw InputError(
        fmt::format("{}: {}: found {}, allowed 0 to {}", options.tile_file, option, found, size - 1));
  };
  if (options.tile >= recording.tiles) refuse("--index", options.tile, recording.tiles);
  if (options.row < 0 || options.row >= row.m)
    refuse("--row", static_cast<std::uint64_t>(options.row), static_cast<std::uint64_t>(row.m));
  if (options.column < 0 || options.column >= row.n)
    refuse("--col", static_cast<std::uint64_t>(options.column), static_cast<std::uint64_t>(row.n));
  const auto m = static_cast<std::size_t>(row.m);
  const auto n = static_cast<std::size_t>(row.n);
  const auto k = static_cast<std::size_t>(row.k);
  const auto stored = static_cast<std::size_t>(row.stored_k());
  const auto i = static_cast<std::size_t>(options.row);
  const auto j = static_cast<std::size_t>(options.column);
  for (std::size_t p = 0; p < stored; ++p) {
    const std::size_t at = (options.tile * m + i) * stored + p;
    inputs.a.push_back(gen::load_bits(recording.a.data, spec_of(row.a).storage_bytes(), at));
    if (!recording.metadata.empty()) inputs.metadata.push_back(recording.metadata[at]);
  }
  for (std::size_t p = 0; p < k; ++p) {
    inputs.b.push_back(
        gen::load_bits(recording.b.data, spec_of(row.b).storage_bytes(), (options.tile * k + p) * n + j));
  }
  const std::size_t element = (options.tile * m + i) * n + j;
  inputs.c = gen::load_bits(recording.c.data, spec_of(row.c).storage_bytes(), element);
  inputs.modifiers = recording.modifiers[options.tile];
  const FormatSpec d = spec_of(row.d);
  inputs.recorded = hex_text(gen::load_bits(recording.d.data, d.storage_bytes(), element), d.storage_bits);
  return inputs;
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

/// The dense dot product that a sparse one is: B's elements that the stored ones of A meet, `k` of the
/// listing counting stored elements.
std::vector<std::uint64_t> factors_of_b(const Inputs& inputs) {
  if (!is_sparse(inputs.instruction.op)) return inputs.b;
  std::vector<std::uint64_t> met;
  for (std::size_t k = 0; k < inputs.a.size(); ++k)
    met.push_back(
        inputs.b[static_cast<std::size_t>(selected_k(sparsity_of(inputs.instruction), MetadataRule::selected,
                                                     inputs.metadata.data(), static_cast<int>(k)))]);
  return met;
}

oracle::ExactDot exact_of(const Inputs& inputs) {
  return oracle::exact_dot(inputs.instruction, inputs.a, inputs.b, inputs.c, inputs.modifiers,
                           {inputs.scale_a, inputs.scale_b}, inputs.metadata);
}

/// One scale a block of k; what is missing is 1.
std::vector<std::uint8_t> parse_scales(const char* option, const std::string& text, const Instruction& row) {
  if (text.empty()) return {};
  if (row.scale == Format::none)
    throw InputError(
        fmt::format("{}: found with {}, allowed with block-scaled instructions only (kind_mx...)", option,
                    mmaudit::name_of(row)));
  const FormatSpec format = spec_of(row.scale);
  const std::string padded = text + [&] {
    std::string ones;
    for (auto i = std::count(text.begin(), text.end(), ',') + 1; i < scales_of(row); ++i) ones += ",1";
    return ones;
  }();
  std::vector<std::uint8_t> bytes;
  for (const std::uint64_t bits : parse_list(option, padded, format, scales_of(row), "blocks of k"))
    bytes.push_back(static_cast<std::uint8_t>(bits));
  return bytes;
}

Inputs inputs_of_text(const Options& options) {
  Inputs inputs;
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

bool is_plain_zero(const ExplainedAddend& x) { return x.kind == Kind::finite && x.exact.significand == 0; }

std::string result_text(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  const std::string rounding = rounding_text(trace.plan.row);
  const std::string sum = step.special ? "  -> "
                                       : fmt::format("  sum {} -> {} -> ", number(step.sum),
                                                     rounding.substr(0, rounding.find(',')));
  const FormatSpec& output = trace.plan.step.output;
  std::string text = sum + hex_value(step.result, output) + "\n";
  if (trace.each_add)
    text += fmt::format("  added to {}, to nearest: {}\n", index == 0 ? "c" : "the sum",
                        hex_value(step.total, output));
  return text;
}

std::string step_text(const Explanation& trace, const ExplainedStep& step, std::size_t index, bool all) {
  const AccumulatorModel& row = trace.plan.row;
  std::string text = fmt::format("step {} of {}", index + 1, trace.steps.size());
  if (step.special) {
    text += ": an input is NaN or infinite, no sum is formed\n";
  } else {
    text += fmt::format(": E = {}{}, F = {}, last kept bit 2^{}\n", step.maximum,
                        step.floor_decided ? " (the floor)" : "", row.fraction_bits,
                        step.maximum - row.fraction_bits);
  }
  if (trace.plan.grouped) return text + groups_text(trace, step, index) + result_text(trace, step, index);
  text += fmt::format("  {:>3}  {:<24} {:<24} {:>4}  {:<24} {:<24} {}\n", "k", "a", "b", "e", "exact", "kept",
                      "lost");
  std::size_t zeros = 0;
  for (const ExplainedAddend& x : step.addends) {
    if (x.k >= 0 && is_plain_zero(x) && !all) {
      ++zeros;
      continue;
    }
    const std::string exponent = x.in_maximum && x.kind == Kind::finite ? std::to_string(x.exponent) : "-";
    const std::string left = x.k < 0 ? hex_value(x.a, step.addend_format) : hex_value(x.a, trace.plan.a);
    const std::string right = x.k < 0 ? "" : hex_value(x.b, trace.plan.b);
    const bool finite = !step.special;
    const std::string label = x.k >= 0                         ? std::to_string(x.k)
                              : trace.each_add                 ? "-0"
                              : index == 0 && !trace.final_add ? "c"
                                                               : "sum";
    text += fmt::format("  {:>3}  {:<24} {:<24} {:>4}  {:<24} {:<24} {}\n", label, left, right, exponent,
                        x.kind == Kind::finite ? number(x.exact) : "-", finite ? number(x.kept) : "-",
                        finite ? number(x.lost) : "-");
  }
  if (zeros != 0) text += fmt::format("       ({} zero products, which take no part in E)\n", zeros);
  return text + result_text(trace, step, index);
}

std::string exact_line(const Inputs& inputs, const Explanation& trace, const FormatSpec& output) {
  const oracle::ExactDot exact = exact_of(inputs);
  if (output.integer()) return integer_verdict(trace, exact.value, exact.decimal);
  const std::uint64_t nearest = oracle::correctly_rounded(exact, inputs.instruction.d);
  const double d = decode_value(trace.result, output);
  return fmt::format("exact {}{}   relative error {:.3g}   {:+.4g} ulp   correctly rounded {}\n",
                     exact.decimal, exact.decimal_is_exact ? "" : "...", oracle::relative_error(exact, d),
                     oracle::error_in_ulps(exact, trace.result, inputs.instruction.d),
                     hex_value(nearest, output));
}

std::string trace_text(const Inputs& inputs, const Explanation& trace, bool all) {
  const FormatSpec& output = spec_of(inputs.instruction.d);
  std::string text = scales_text(trace);
  if (!inputs.metadata.empty())
    text += fmt::format("k counts the stored elements of A; metadata {}\n", fmt::join(inputs.metadata, ","));
  if (trace.plan.wide.id != Format::none) {
    text += fmt::format("operands are widened to {}; {}\n", mmaudit::name_of(trace.plan.wide.id),
                        trace.plan.row.order == KOrder::pairs_of_four ? "k mod 4 in {0,1} first, then {2,3}"
                                                                      : "k in row order");
  }
  for (std::size_t i = 0; i < trace.steps.size(); ++i) text += step_text(trace, trace.steps[i], i, all);
  if (trace.plan.integer) text += products_text(trace, all);
  for (const ExplainedFma& x : trace.fmas) {
    text += fmt::format("  k {:>2}: fma({}, {}, {}) -> {}\n", x.k, hex_value(x.a, output),
                        hex_value(x.b, output), value_text(x.before, output), hex_value(x.after, output));
  }
  if (trace.final_add) {
    text += fmt::format("c {} is added last, {} -> {}\n", hex_value(trace.addend, trace.plan.step.addend),
                        name_of(final_add_rounding(trace.plan.row)), hex_value(trace.result, output));
  }
  return text + fmt::format("D = {}\n", hex_value(trace.result, output)) + exact_line(inputs, trace, output);
}

nlohmann::json dyadic_json(Dyadic x) {
  return {{"significand", x.significand},
          {"exponent", x.exponent},
          {"value", std::ldexp(static_cast<double>(x.significand), x.exponent)}};
}

nlohmann::json trace_json(const Inputs& inputs, const Explanation& trace, const Architecture& architecture,
                          const DatapathRow& row) {
  const FormatSpec output = spec_of(inputs.instruction.d);
  nlohmann::json steps = nlohmann::json::array();
  for (const ExplainedStep& step : trace.steps) {
    nlohmann::json addends = nlohmann::json::array();
    for (const ExplainedAddend& x : step.addends) {
      nlohmann::json one = {{"k", x.k}, {"in_maximum", x.in_maximum}, {"exponent", x.exponent}};
      if (x.k < 0)
        one["addend"] = hex_text(x.a, step.addend_format.storage_bits);
      else if (trace.plan.grouped) {
        one["count"] = x.count;
        one["products"] = dyadic_json(x.products);
      } else {
        one["a"] = hex_text(x.a, trace.plan.a.storage_bits);
        one["b"] = hex_text(x.b, trace.plan.b.storage_bits);
      }
      if (!step.special) {
        one["exact"] = dyadic_json(x.exact);
        one["kept"] = dyadic_json(x.kept);
        one["lost"] = dyadic_json(x.lost);
      }
      addends.push_back(one);
    }
    steps.push_back({{"maximum", step.maximum},
                     {"floor_decided", step.floor_decided},
                     {"special", step.special},
                     {"addends", addends},
                     {"sum", dyadic_json(step.sum)},
                     {"result", hex_text(step.result, trace.plan.step.output.storage_bits)}});
  }
  nlohmann::json fmas = nlohmann::json::array();
  for (const ExplainedFma& x : trace.fmas)
    fmas.push_back({{"k", x.k},
                    {"a", hex_text(x.a, 64)},
                    {"b", hex_text(x.b, 64)},
                    {"before", hex_text(x.before, 64)},
                    {"after", hex_text(x.after, 64)}});
  const oracle::ExactDot exact = exact_of(inputs);
  nlohmann::json out = {{"architecture", architecture.name},
                        {"row", to_json(inputs.instruction, row)},
                        {"c", hex_text(trace.addend, trace.plan.step.addend.storage_bits)},
                        {"final_add", trace.final_add},
                        {"d", hex_text(trace.result, output.storage_bits)},
                        {"exact", exact.decimal},
                        {"exact_is_complete", exact.decimal_is_exact}};
  if (!inputs.metadata.empty()) out["metadata"] = inputs.metadata;
  if (trace.plan.integer) {
    out["products"] = products_json(trace);
    return out;
  }
  out["correctly_rounded"] =
      hex_text(oracle::correctly_rounded(exact, inputs.instruction.d), output.storage_bits);
  if (!trace.steps.empty()) out["steps"] = steps;
  if (trace.plan.block_scaled()) out["scales"] = scales_json(trace);
  if (!trace.fmas.empty()) out["fmas"] = fmas;
  const double relative = oracle::relative_error(exact, decode_value(trace.result, output));
  const double ulps = oracle::error_in_ulps(exact, trace.result, inputs.instruction.d);
  out["relative_error"] = std::isfinite(relative) ? nlohmann::json(relative) : nlohmann::json();
  out["error_ulps"] = std::isfinite(ulps) ? nlohmann::json(ulps) : nlohmann::json();
  return out;
}

/// The same dot product for an architecture that lacks the instruction: the formats stay, k is the least
/// that holds every product that is not +0 times +0. Refused as require_row() does when there is none, or
/// when modifiers would be lost.
Inputs inputs_on(const Architecture& architecture, const Inputs& inputs) {
  if (find_datapath(architecture, inputs.instruction) != nullptr) return inputs;
  std::size_t used = inputs.a.size();
  const Instruction& wanted = inputs.instruction;
  if (is_sparse(wanted.op)) require_row(architecture, wanted);
  while (used > 0 && inputs.a[used - 1] == 0 && inputs.b[used - 1] == 0) --used;
  std::optional<Instruction> best;
  for (const Instruction& row : all_instructions(kWgmmaMinN)) {
    const bool same = row.scale == wanted.scale && row.scale_block == wanted.scale_block &&
                      row.a == wanted.a && row.b == wanted.b && row.c == wanted.c && row.d == wanted.d &&
                      !is_sparse(row.op);
    if (!same || static_cast<std::size_t>(row.k) < used || find_datapath(architecture, row) == nullptr)
      continue;
    if (!best || row.k < best->k) best = row;
  }
  if (!best || (inputs.modifiers & unsigned{kScaleDZero | kNegateA | kNegateB}) != 0)
    require_row(architecture, wanted);
  Inputs moved = inputs;
  moved.instruction = best.value();
  moved.a.resize(static_cast<std::size_t>(best->k), 0);
  moved.b.resize(static_cast<std::size_t>(best->k), 0);
  return moved;
}

int explain_command(const Options& options) {
  if (options.tile_file.empty() && options.instruction.empty()) {
    throw InputError(
        "--inst: found nothing, allowed: an instruction of `mmaudit list`, or --tile with a recording");
  }
  const Inputs inputs = options.tile_file.empty() ? inputs_of_text(options) : inputs_of_recording(options);
  std::vector<std::string> names = {options.architecture};
  names.insert(names.end(), options.against.begin(), options.against.end());
  nlohmann::json traces = nlohmann::json::array();
  std::string text;
  std::string summary;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Architecture& architecture = require_architecture(names[i]);
    const Inputs own = i == 0 ? inputs : inputs_on(architecture, inputs);
    const DatapathRow& row = require_row(architecture, own.instruction);
    const Explanation trace =
        explain(make_plan(own.instruction, row.model), own.a.data(), factors_of_b(own).data(), own.c,
                own.modifiers, own.scale_a.empty() ? nullptr : own.scale_a.data(),
                own.scale_b.empty() ? nullptr : own.scale_b.data());
    traces.push_back(trace_json(own, trace, architecture, row));
    text += fmt::format("{} on {} ({})\n", mmaudit::name_of(own.instruction), architecture.name,
                        mmaudit::name_of(row.evidence));
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

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain", "One dot product: exponents, maximum, what alignment loses, sum, rounding, error");
  command->add_option("--inst", options->instruction,
                      "instruction, as `mmaudit list` prints it; N as a number");
  command->add_option("--arch", options->architecture, "architecture of the model")
      ->default_str(kDefaultArchitecture);
  add_model_option(*command);
  command->add_option("--a", options->a,
                      "row of A: \"1.5,0x3c01,-2^-12,1.5*2^3,inf,nan,max,min,tiny\"; missing values are +0");
  command->add_option("--b", options->b, "column of B");
  command->add_option("--c", options->c, "c");
  command->add_option(
      "--scale-a", options->scale_a,
      "block-scaled: scales of the row of A, one a block: \"2^-3,0x7f,nan\"; missing ones are 1");
  command->add_option("--scale-b", options->scale_b, "block-scaled: scales of the column of B");
  command->add_option(
      "--metadata", options->metadata,
      "sparse: the position of every element of A inside its group, \"0,1,1,3\"; missing groups: "
      "their first positions");
  command
      ->add_option("--against", options->against,
                   "other architectures, side by side; one that lacks the instruction takes the "
                   "shallowest of the same formats")
      ->delimiter(',');
  command->add_option("--tile", options->tile_file, "take the dot product from this recording instead");
  command->add_option("--index", options->tile, "with --tile: which tile")->capture_default_str();
  command->add_option("--row", options->row, "with --tile: row of D")->capture_default_str();
  command->add_option("--col", options->column, "with --tile: column of D")->capture_default_str();
  command->add_option("--scale-d", options->scale_d, "wgmma, tcgen05: 0 leaves C out")
      ->check(CLI::IsMember({0, 1}));
  command->add_flag("--negate-a", options->negate_a, "wgmma, tcgen05: A negated");
  command->add_flag("--negate-b", options->negate_b, "wgmma, tcgen05: B negated");
  command->add_flag("--all", options->all, "list zero products too");
  command->add_flag("--json", options->json, "the trace as JSON");
  command->callback([&action, options] { action = [options] { return explain_command(*options); }; });
}

}  // namespace mmaudit::cli
