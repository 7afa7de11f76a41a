// mmaudit list: the datapaths of the model.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <memory>

#include "capabilities.hpp"
#include "common.hpp"
#include "cores.hpp"
#include "mmaudit/arithmetic/staged_dot.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::cli {
namespace {

struct ListOptions {
  std::string architecture;
  std::vector<std::string> instructions;
  bool json = false, markdown = false, capabilities = false, cores = false, all = false;
};

struct Line {
  std::string instruction, l, f, floor, order, rounding, evidence;
  int groups = 0;  // products of a group; 0: there are none
  bool operator==(const Line&) const = default;
};

/// The name with A and B in place of the two formats where every mix of the small ones has a row.
std::string name_of_mix(const Instruction& inst) {
  std::string name = name_of(inst);
  if (inst.kind != MmaKind::f8f6f4 && inst.kind != MmaKind::mxf8f6f4) return name;
  const std::string mix = fmt::format(".{}.{}", mmaudit::name_of(inst.a), mmaudit::name_of(inst.b));
  return name.replace(name.find(mix), mix.size(), ".A.B");
}

/// Whether the name matches one of the patterns of a shell, or means what one of them spells without a
/// wildcard.
bool wanted(const Instruction& instruction, const std::vector<std::string>& patterns) {
  const std::string name = name_of(instruction);
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           if (pattern.find_first_of("*?[") == std::string::npos) return selected(instruction, {pattern});
           return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

std::vector<Line> lines_of(const Architecture& architecture, const std::vector<std::string>& patterns) {
  std::vector<Line> lines;
  for (const Instruction& instruction : kInstructions) {
    const DatapathEntry* entry = find_datapath(architecture, instruction);
    if (entry == nullptr || !wanted(instruction, patterns)) continue;
    Line line{name_of_mix(instruction),
              "1",
              "-",
              "-",
              "ascending",
              "RNE f64, fused",
              std::string(name_of(entry->evidence))};
    if (entry->datapath.arithmetic == Arithmetic::integer) {
      line.l = line.order = "-";
      line.rounding = rounding_text(instruction, entry->datapath);
    }
    if (entry->datapath.arithmetic == Arithmetic::grouped_dot_add) line.groups = entry->datapath.group;
    if (is_staged(entry->datapath.arithmetic)) {
      line.l = std::to_string(products_per_step_of(instruction, entry->datapath));
      if (entry->datapath.arithmetic == Arithmetic::two_stage_dot_add)
        line.f = std::to_string(entry->datapath.fraction_bits);
      line.rounding = rounding_text(entry->datapath);
    }
    if (line.groups != 0 || entry->datapath.arithmetic == Arithmetic::fused_dot_add) {
      line.l = std::to_string(products_per_step_of(instruction, entry->datapath));
      if (cuts_anything(entry->datapath)) {
        line.f = std::to_string(entry->datapath.fraction_bits);
        line.floor = std::to_string(entry->datapath.min_alignment_exponent);
      }
      line.order = entry->datapath.order == KOrder::pairs_of_four
                       ? "01|23 of 4"
                       : std::string(name_of(entry->datapath.order));
      line.rounding = rounding_text(entry->datapath);
    }
    if (line.groups != 0) line.rounding += fmt::format(", groups of {}", line.groups);
    // Rows that only mix formats are one line.
    if (lines.empty() || !(lines.back() == line)) lines.push_back(line);
  }
  return lines;
}

/// One block per architecture; Markdown has a heading for each.
std::string block_of(const Architecture& architecture, const std::vector<Line>& lines, bool markdown) {
  const report::Table table =
      report::table_of<Line>({}, lines,
                             {{{"instruction"}, [](const Line& line) { return line.instruction; }},
                              {{"L", true}, [](const Line& line) { return line.l; }},
                              {{"F", true}, [](const Line& line) { return line.f; }},
                              {{"floor", true}, [](const Line& line) { return line.floor; }},
                              {{"order of k"}, [](const Line& line) { return line.order; }},
                              {{"rounding of a step"}, [](const Line& line) { return line.rounding; }},
                              {{"known"}, [](const Line& line) { return line.evidence; }}});
  const std::string capability = capability_text(architecture.compute_capability);
  const std::string target =
      architecture.target.empty() ? "compute capability " + capability : std::string(architecture.target);
  const std::string title = markdown ? fmt::format("### {} ({})\n\n", architecture.name, target)
                                     : fmt::format("{} ({}; {})\n", architecture.name, target,
                                                   fmt::join(architecture.aliases, ", "));
  return title + (markdown ? to_markdown(table) : to_text(table)) + "\n";
}

/// What a first look needs: which GPUs, how much of each, and how it is known.
std::string overview(const std::vector<const Architecture*>& chosen) {
  const auto count = [](const Architecture& architecture, Evidence evidence) {
    return std::to_string(
        std::count_if(kInstructions.begin(), kInstructions.end(), [&](const Instruction& one) {
          const DatapathEntry* entry = find_datapath(architecture, one);
          return entry != nullptr && entry->evidence == evidence;
        }));
  };
  std::vector<report::Field<const Architecture*>> fields = {
      {{"architecture"}, [](const Architecture* one) { return one->name; }},
      {{"cc", true}, [](const Architecture* one) {
         return one->target.empty() ? capability_text(one->compute_capability) : std::string(one->target);
       }}};
  for (const Evidence evidence : {Evidence::recorded, Evidence::replayed, Evidence::literature})
    fields.push_back(
        {{name_of(evidence), true}, [=](const Architecture* one) { return count(*one, evidence); }});
  fields.push_back({{"also called"}, [](const Architecture* one) {
                      return fmt::format("{}", fmt::join(one->aliases, ", "));
                    }});
  return to_text(report::table_of<const Architecture*>({}, chosen, fields)) +
         "\nInstructions by how their arithmetic is known: recorded on such a GPU, replayed from public "
         "data, from the\n"
         "literature. `mmaudit list --arch A` shows them; --inst '*.f16.f16.*' those that match, of every "
         "architecture;\n"
         "--capabilities types against generations; --cores the sizes of tensor cores; --all everything.\n";
}

constexpr const char* kLegend =
    "D's formats. ?: known from papers alone. fp8: e4m3, e5m2; fp6: e3m2, e2m3; fp4: e2m1.\n"
    "A and B of one type, or any two of those named.\n"
    "async: the program goes on and waits for D later.\n"
    "OCP: what the Open Compute Project specifies. OFP8: the formats. MX: formats, scales and blocks of 32.\n"
    "elements: formats of MX, without scales. no: other formats, scales or blocks. -: not its subject.\n"
    "Under a generation, -: it lacks the instruction, or the instruction is one of those not in this "
    "model.\n";

constexpr const char* kCoresLegend =
    "A tensor core multiplies A (m x k) by B (k x n) per clock. FMA/clk/SM: cores * m * n * k.\n"
    "k: products per step of the datapath; of int8 twice the k of f16, because exact sums show no steps.\n"
    "x f16: ratio to f16. x before: ratio to the first of the types on the generation before.\n"
    "blackwell is sm_100. sm_103 (B300) lacks kind::i8: the int8 row is of sm_100 alone.\n"
    "The other architectures have no published sizes that fit their datapaths.\n"
    "Sources of cores, m and n:\n";

int list_cores(const ListOptions& options, const std::vector<const Architecture*>& chosen) {
  const std::vector<CoreLine> lines = core_lines(chosen);
  if (lines.empty()) {
    std::vector<std::string> known;
    for (const TensorCores& one : kTensorCores) known.emplace_back(one.architecture);
    refuse("--cores: found {}, whose tensor cores have no published sizes that fit, allowed: {}",
           chosen.front()->name, known);
  }
  if (options.json) {
    emit("-", core_json(lines));
    return kAllGood;
  }
  std::string text = (options.markdown ? to_markdown(core_table(lines)) : to_text(core_table(lines))) + "\n";
  text += kCoresLegend;
  for (const Architecture* one : chosen)
    if (const TensorCores* cores = find_tensor_cores(one->name))
      text += fmt::format("{}: {}.\n", cores->architecture, cores->source);
  emit("-", text);
  return kAllGood;
}

int list_capabilities(const ListOptions& options, const std::vector<const Architecture*>& chosen) {
  if (options.json) {
    emit("-", capability_json(chosen));
    return kAllGood;
  }
  const report::Table table = capability_table(chosen);
  emit("-", (options.markdown ? to_markdown(table) : to_text(table)) + "\n" + kLegend +
                fmt::format("Not in this model: {}.\n", not_in_the_model()));
  return kAllGood;
}

int list(const ListOptions& options, const Context& context) {
  std::vector<const Architecture*> chosen;
  if (options.architecture.empty()) {
    for (const Architecture& row : architectures()) chosen.push_back(&row);
    if (context.own() != nullptr) chosen.push_back(context.own());
  } else {
    chosen.push_back(&require_architecture(context, options.architecture));
  }
  if (options.capabilities) return list_capabilities(options, chosen);
  if (options.cores) return list_cores(options, chosen);
  if (options.json) {
    Json out = {{"schema", "mmaudit.list/1"}, {"architectures", Json::array()}};
    for (const Architecture* architecture : chosen)
      out["architectures"].push_back(corpus::to_json(*architecture));
    emit("-", document(out));
    return kAllGood;
  }
  if (options.architecture.empty() && options.instructions.empty() && !options.all && !options.markdown) {
    emit("-", overview(chosen));
    return kAllGood;
  }
  std::string text;
  for (const Architecture* architecture : chosen)
    if (const std::vector<Line> lines = lines_of(*architecture, options.instructions);
        !lines.empty() || options.instructions.empty())
      text += block_of(*architecture, lines, options.markdown);
  if (text.empty())
    refuse(
        "--inst: found no such instruction{}, allowed: a pattern or part of a name that `mmaudit list --all` "
        "prints{}",
        options.architecture.empty() ? "" : " on " + options.architecture,
        nearest_text(options.instructions));
  if (!options.markdown)
    text +=
        "L products per step, aligned to a common exponent (at least the floor) and truncated to F bits "
        "below it.\n"
        "N: 8 to 256 in steps of 8. M: 64, 128. A, B: any of e5m2, e4m3, e3m2, e2m3, e2m1. Left open in\n"
        "--inst they are 64, 128 and e4m3; where several instructions are chosen, any.\n"
        "recorded: replayed by every `mmaudit verify`. replayed: agrees with a public data set\n"
        "(`mmaudit verify --dataset`). literature: papers only.\n";
  emit("-", text);
  return kAllGood;
}

}  // namespace

void add_list(Command& app) {
  auto options = std::make_shared<ListOptions>();
  Command command = app.command(
      "list",
      "The model: architectures, their instructions with L, F, floor, rounding, evidence, and what each can "
      "do",
      {"mmaudit list", "mmaudit list --arch hopper --inst 'wgmma*.e4m3.*'", "mmaudit list --capabilities"});
  command.section("Which");
  command.option("--arch ARCH", options->architecture,
                 "one architecture, by name or alias (hopper, sm_90, h200, ...)");
  const Option chosen = command
                            .option("--inst GLOB", options->instructions,
                                    "instructions that match: '*.e4m3.*', with * ? [...] as in a shell; "
                                    "without them part of a name")
                            .comma_separated();
  command.flag("--all", options->all, "every instruction of every architecture");
  add_model_option(command);
  command.section("Output");
  const Option capabilities =
      command
          .flag("--capabilities", options->capabilities,
                "the types that each generation multiplies, how, and which of them the OCP specifies")
          .excludes(chosen);
  command
      .flag("--cores", options->cores,
            "what one tensor core of each generation multiplies per clock, and ratios")
      .excludes(chosen)
      .excludes(capabilities);
  command.flag("--json", options->json, "as JSON: every field of every datapath, as --model reads it")
      .excludes(chosen);
  command.flag("--markdown", options->markdown, "as a Markdown table");
  command.runs([options](const Context& context) { return list(*options, context); });
}

}  // namespace mmaudit::cli
