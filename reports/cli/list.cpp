// mmaudit list: the datapaths of the model.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <memory>

#include "capabilities.hpp"
#include "common.hpp"
#include "every_part.hpp"
#include "functions.hpp"
#include "json_table.hpp"
#include "mmaudit/arithmetic/staged_dot.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/recipe.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct ListOptions {
  std::string architecture;
  std::vector<std::string> instructions;
  bool markdown = false, capabilities = false, cores = false, recipes = false, functions = false, all = false;
  Outputs outputs;
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

/// What a row says of the steps of a datapath: L, F, floor, order of k, rounding.
std::vector<report::Cell> rules_of(const Instruction& instruction, const Datapath& datapath) {
  const bool grouped = datapath.arithmetic == Arithmetic::grouped_dot_add;
  if (datapath.arithmetic == Arithmetic::integer)
    return {"-", "-", "-", "-", rounding_text(instruction, datapath)};
  if (!grouped && datapath.arithmetic != Arithmetic::fused_dot_add && !is_staged(datapath.arithmetic))
    return {"1", "-", "-", "ascending", "RNE f64, fused"};
  const std::string steps = std::to_string(products_per_step_of(instruction, datapath)),
                    fraction = std::to_string(datapath.fraction_bits);
  if (is_staged(datapath.arithmetic))
    return {steps, datapath.arithmetic == Arithmetic::two_stage_dot_add ? fraction : "-", "-", "ascending",
            rounding_text(datapath)};
  const bool cuts = cuts_anything(datapath);
  return {steps, cuts ? fraction : "-", cuts ? std::to_string(datapath.min_alignment_exponent) : "-",
          datapath.order == KOrder::pairs_of_four ? std::string("01|23 of 4")
                                                  : std::string(name_of(datapath.order)),
          rounding_text(datapath) + (grouped ? fmt::format(", groups of {}", datapath.group) : "")};
}

/// The instructions of an architecture that match; those that only mix formats are one row.
report::Table table_of(const Architecture& architecture, const std::vector<std::string>& patterns) {
  const std::string target = architecture.target.empty()
                                 ? "compute capability " + capability_text(architecture.compute_capability)
                                 : std::string(architecture.target);
  report::Table table{
      .title = fmt::format("{} ({}; {})", architecture.name, target, fmt::join(architecture.aliases, ", ")),
      .columns = {"instruction",
                  {"L", true},
                  {"F", true},
                  {"floor", true},
                  "order of k",
                  "known",
                  "rounding of a step"}};  // last, since a terminal breaks the last cell
  for (const Instruction& instruction : kInstructions) {
    const DatapathEntry* entry = find_datapath(architecture, instruction);
    if (entry == nullptr || !wanted(instruction, patterns)) continue;
    std::vector<report::Cell> row = rules_of(instruction, entry->datapath);
    row.insert(row.begin(), name_of_mix(instruction));
    row.insert(row.end() - 1, name_of(entry->evidence));
    if (table.rows.empty() || table.rows.back() != row) table.rows.push_back(std::move(row));
  }
  return table;
}

/// What a first look needs: which GPUs, how much of each, and how it is known.
report::Table overview(const std::vector<const Architecture*>& chosen) {
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
  return report::table_of<const Architecture*>({}, chosen, fields);
}

constexpr std::array kOverviewLegend = {
    "How the arithmetic of so many instructions is known: recorded on such a GPU, replayed from public data, "
    "from the literature.",
    "`mmaudit list --arch A` shows them; --inst '*.f16.f16.*' those that match, of every architecture; --all "
    "everything.",
    "--capabilities: types against generations. --cores: the sizes of tensor cores. "
    "--recipes: how people run products, and whose bytes that gives. --functions: exp2, reciprocal and their "
    "kin."};
constexpr std::array kLegend = {
    "L products per step, aligned to a common exponent (at least the floor) and truncated to F bits below "
    "it.",
    "N: 8 to 256 in steps of 8. M: 64, 128. A, B: any of e5m2, e4m3, e3m2, e2m3, e2m1. Left open in --inst "
    "they are 64, 128 and e4m3; where several instructions are chosen, any.",
    "recorded: replayed by every `mmaudit verify`. replayed: agrees with a public data set (`mmaudit verify "
    "--dataset`). literature: papers only."};

/// The recipes of these architectures, and whose bytes they give.
report::Report recipe_report(const std::vector<const Architecture*>& chosen) {
  const auto text = [](std::string_view given) { return given.empty() ? Json() : Json(given); };
  Json rows = Json::array();
  // clang-format off
  for (const Recipe& one : recipes())
    if (std::find(chosen.begin(), chosen.end(), find_architecture(one.arch)) != chosen.end())
      rows.push_back({{"name", one.name}, {"arch", one.arch}, {"dtype", one.dtype}, {"scaling", text(one.scaling)},
                      {"policy", one.policy}, {"bytes_of", text(one.bytes_of)}, {"source", one.source}});
  report::Report out{.title = "Recipes"};
  out.sections.push_back({.tables = {checks::table_of("", rows, {
      {"name", "recipe"}, {"arch", "architecture"}, {"dtype", "--dtype"}, {"scaling", "--scale"}, {"policy", "--policy"},
      {"bytes_of", "bytes of"}})}});
  // clang-format on
  out.json = [rows] { return document({{"schema", "mmaudit.recipe_list/1"}, {"recipes", rows}}); };
  return out;
}

report::Report report_of(const ListOptions& options, const std::vector<const Architecture*>& chosen) {
  if (options.functions)
    return checks::report_of_functions(options.architecture.empty() ? *find_architecture(kDefaultArchitecture)
                                                                    : *chosen.front());
  if (options.recipes) return recipe_report(chosen);
  if (options.capabilities) return capability_report(chosen);
  if (options.cores) return core_report(chosen);
  report::Report out{.title = "Architectures of the model"};
  out.json = [chosen] {
    Json json = {{"schema", "mmaudit.list/1"}, {"architectures", Json::array()}};
    for (const Architecture* one : chosen) json["architectures"].push_back(corpus::to_json(*one));
    return document(json);
  };
  if (options.architecture.empty() && options.instructions.empty() && !options.all && !options.markdown) {
    out.sections.push_back(section_of(overview(chosen)));
    out.sections.push_back({.title = "Legend", .lines = {kOverviewLegend.begin(), kOverviewLegend.end()}});
    return out;
  }
  for (const std::string& pattern : options.instructions)
    if (std::all_of(chosen.begin(), chosen.end(),
                    [&](const Architecture* one) { return table_of(*one, {pattern}).rows.empty(); }))
      refuse_part("--inst", pattern, "a pattern or part of a name that `mmaudit list --all` prints");
  for (const Architecture* one : chosen)
    if (report::Table table = table_of(*one, options.instructions); !table.rows.empty())
      out.sections.push_back(section_of(std::move(table)));
  out.sections.push_back({.title = "Legend", .lines = {kLegend.begin(), kLegend.end()}});
  return out;
}

int list(ListOptions& options, const Context& context) {
  std::vector<const Architecture*> chosen;
  if (options.architecture.empty()) {
    for (const Architecture& row : architectures()) chosen.push_back(&row);
    if (context.own() != nullptr) chosen.push_back(context.own());
  } else {
    chosen.push_back(&require_architecture(context, options.architecture));
  }
  if (options.markdown) options.outputs.print_as("markdown");
  try_outputs(options.outputs.files(), {{"--model", context.model_file}});
  if (options.outputs.writes("--json") && !options.instructions.empty())
    refuse("--inst: found with --json, allowed: one of them");
  return options.outputs.publish(report_of(options, chosen), context);
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
  options->outputs.add_to(command);
  const Option capabilities =
      command
          .flag("--capabilities", options->capabilities,
                "the types that each generation multiplies, how, and which of them the OCP specifies")
          .excludes(chosen);
  const Option recipes =
      command.flag("--recipes", options->recipes, "how people run products, and whose bytes that gives")
          .excludes(chosen)
          .excludes(capabilities);
  const Option functions =
      command.flag("--functions", options->functions, "special functions: exp2, reciprocal and their kin")
          .excludes(chosen)
          .excludes(capabilities)
          .excludes(recipes);
  command
      .flag("--cores", options->cores,
            "what one tensor core of each generation multiplies per clock, and ratios")
      .excludes(chosen)
      .excludes(capabilities)
      .excludes(recipes)
      .excludes(functions);
  command.flag("--markdown", options->markdown, "every instruction, as Markdown");
  command.runs([options](const Context& context) { return list(*options, context); });
}

}  // namespace mmaudit::cli
