// mmaudit list: the datapaths of the model.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::cli {
namespace {

struct ListOptions {
  std::string architecture;
  bool json = false, markdown = false;
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

std::vector<Line> lines_of(const Architecture& architecture) {
  std::vector<Line> lines;
  for (const Instruction& instruction : kInstructions) {
    const DatapathEntry* entry = find_datapath(architecture, instruction);
    if (entry == nullptr) continue;
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
std::string block_of(const Architecture& architecture, bool markdown) {
  const report::Table table =
      report::table_of<Line>({}, lines_of(architecture),
                             {{{"instruction"}, [](const Line& line) { return line.instruction; }},
                              {{"L", true}, [](const Line& line) { return line.l; }},
                              {{"F", true}, [](const Line& line) { return line.f; }},
                              {{"floor", true}, [](const Line& line) { return line.floor; }},
                              {{"order of k"}, [](const Line& line) { return line.order; }},
                              {{"rounding of a step"}, [](const Line& line) { return line.rounding; }},
                              {{"known"}, [](const Line& line) { return line.evidence; }}});
  const std::string capability = capability_text(architecture.compute_capability);
  const std::string title =
      markdown ? fmt::format("### {} (compute capability {})\n\n", architecture.name, capability)
               : fmt::format("{} (compute capability {}; {})\n", architecture.name, capability,
                             fmt::join(architecture.aliases, ", "));
  return title + (markdown ? to_markdown(table) : to_text(table)) + "\n";
}

int list(const ListOptions& options, const Context& context) {
  std::vector<const Architecture*> chosen;
  if (options.architecture.empty()) {
    for (const Architecture& row : architectures()) chosen.push_back(&row);
    if (context.own() != nullptr) chosen.push_back(context.own());
  } else {
    chosen.push_back(&require_architecture(context, options.architecture));
  }
  if (options.json) {
    nlohmann::json out = {{"schema", "mmaudit.list/1"}, {"architectures", nlohmann::json::array()}};
    for (const Architecture* architecture : chosen)
      out["architectures"].push_back(corpus::to_json(*architecture));
    emit("-", out.dump(2) + "\n");
    return kAllGood;
  }
  std::string text;
  for (const Architecture* architecture : chosen) text += block_of(*architecture, options.markdown);
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
  Command command = app.command("list", "The model: every instruction with L, F, floor, rounding, evidence",
                                {"mmaudit list --arch hopper"});
  command.option("--arch", options->architecture,
                 "one architecture, by name or alias (hopper, sm_90, h200, ...)");
  add_model_option(command);
  command.flag("--json", options->json, "as JSON: every field of every datapath, as --model reads it");
  command.flag("--markdown", options->markdown, "as a Markdown table");
  command.runs([options](const Context& context) { return list(*options, context); });
}

}  // namespace mmaudit::cli
