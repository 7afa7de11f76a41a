// mmaudit list: the rows of the model.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "row_text.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string architecture;
  bool json = false, markdown = false;
};

struct Line {
  std::string architecture, instruction, l, f, floor, order, rounding, evidence;
};

std::vector<Line> lines_of(const Architecture& architecture) {
  std::vector<Line> lines;
  for (const Instruction& instruction : kInstructions) {
    const DatapathRow* row = find_datapath(architecture, instruction);
    if (row == nullptr) continue;
    Line line{std::string(architecture.name),
              name_of(instruction),
              "1",
              "-",
              "-",
              "ascending",
              "RNE f64, fused",
              std::string(name_of(row->evidence))};
    if (row->model.arithmetic == Arithmetic::integer) {
      line.l = line.order = "-";
      line.rounding = rounding_text(instruction, row->model);
    }
    if (row->model.arithmetic == Arithmetic::fused_dot_add) {
      line.l = std::to_string(block_of(instruction, row->model));
      line.f = std::to_string(row->model.fraction_bits);
      line.floor = std::to_string(row->model.floor);
      line.order =
          row->model.order == KOrder::pairs_of_four ? "01|23 of 4" : std::string(name_of(row->model.order));
      line.rounding = rounding_text(row->model);
    }
    lines.push_back(line);
  }
  return lines;
}

std::string table(const std::vector<Line>& lines, bool markdown) {
  const char* row = markdown ? "| {} | {} | {} | {} | {} | {} | {} | {} |\n"
                             : "{:<9} {:<37} {:>3} {:>3} {:>6}  {:<11} {:<30} {}\n";
  std::string text = fmt::format(fmt::runtime(row), "arch", "instruction", "L", "F", "floor", "order of k",
                                 "rounding of a step", "known");
  if (markdown) text += "|---|---|---|---|---|---|---|---|\n";
  for (const Line& line : lines) {
    text += fmt::format(fmt::runtime(row), line.architecture, line.instruction, line.l, line.f, line.floor,
                        line.order, line.rounding, line.evidence);
  }
  return text;
}

int list(const Options& options) {
  std::vector<const Architecture*> chosen;
  if (options.architecture.empty()) {
    for (const Architecture& row : architectures()) chosen.push_back(&row);
  } else {
    chosen.push_back(&require_architecture(options.architecture));
  }
  if (options.json) {
    nlohmann::json out = {{"schema", "mmaudit.list/1"}, {"architectures", nlohmann::json::array()}};
    for (const Architecture* architecture : chosen) {
      nlohmann::json rows = nlohmann::json::array();
      for (const Instruction& instruction : kInstructions)
        if (const DatapathRow* row = find_datapath(*architecture, instruction))
          rows.push_back(to_json(instruction, *row));
      out["architectures"].push_back({{"name", architecture->name},
                                      {"compute_capability", architecture->compute_capability},
                                      {"aliases", architecture->aliases},
                                      {"instructions", rows}});
    }
    emit("-", out.dump(2) + "\n");
    return kAllGood;
  }
  std::vector<Line> lines;
  for (const Architecture* architecture : chosen)
    for (Line& line : lines_of(*architecture)) lines.push_back(std::move(line));
  std::string text = table(lines, options.markdown);
  if (!options.markdown) {
    text +=
        "\nL products a step, aligned to a common exponent (at least the floor) and truncated to F bits "
        "below it.\n"
        "N: 8 to 256 in steps of 8. recorded: replayed by every `mmaudit verify`.\n";
  }
  emit("-", text);
  return kAllGood;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("list", "Rows of the model: every instruction with L, F, floor, rounding, evidence");
  command->add_option("--arch", options->architecture,
                      "one architecture, by name or alias (hopper, sm_90, h200, ...)");
  command->add_flag("--json", options->json, "as JSON");
  command->add_flag("--markdown", options->markdown, "as a Markdown table");
  command->callback([&action, options] { action = [options] { return list(*options); }; });
}

}  // namespace mmaudit::cli
