// mmaudit layout: which lane and register holds which element, declared and, on a GPU, seen.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "mmaudit/device/incidence.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/report/fragment_picture.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string instruction, svg;
  std::vector<std::string> operands = {"a", "b", "d"};
  bool json = false, discover = false;
};

struct Operand3 {
  std::string_view name;
  FragmentMap map;
  Format format;
};

std::vector<Operand3> operands_of(const Options& options, const Instruction& is) {
  std::vector<Operand3> chosen;
  for (const std::string& name : options.operands) {
    if (name == "a") chosen.push_back({"A", fragment_a(is), is.a});
    if (name == "b") chosen.push_back({"B", fragment_b(is), is.b});
    if (name == "c") chosen.push_back({"C", fragment_c(is), is.c});
    if (name == "d") chosen.push_back({"D", fragment_d(is), is.d});
  }
  return chosen;
}

report::FragmentPicture picture_of(const Instruction& is, const Operand3& operand) {
  const FragmentMap& map = operand.map;
  report::FragmentPicture picture{
      fmt::format("{} of {}: {} x {} {}, {} values in each of {} lanes", operand.name, mmaudit::name_of(is),
                  map.rows, map.cols, mmaudit::name_of(operand.format), map.values, map.lanes),
      map.rows,
      map.cols,
      elements_per_register(operand.format),
      {}};
  picture.holders.resize(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.cols));
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      picture
          .holders[static_cast<std::size_t>(at.row) * static_cast<std::size_t>(map.cols) +
                   static_cast<std::size_t>(at.col)]
          .push_back({lane, value});
    }
  return picture;
}

nlohmann::json to_json(const Operand3& operand) {
  nlohmann::json lanes = nlohmann::json::array();
  for (int lane = 0; lane < operand.map.lanes; ++lane) {
    nlohmann::json values = nlohmann::json::array();
    for (int value = 0; value < operand.map.values; ++value) {
      const Coord at = operand.map.at(lane, value);
      values.push_back({at.row, at.col});
    }
    lanes.push_back(values);
  }
  return {{"operand", operand.name},
          {"format", mmaudit::name_of(operand.format)},
          {"rows", operand.map.rows},
          {"cols", operand.map.cols},
          {"values_per_register", elements_per_register(operand.format)},
          {"row_col_by_lane_and_value", lanes}};
}

struct Discovered {
  std::string device;
  bool agrees = false;
  std::size_t differing = 0;
  device::Incidence declared;
};

/// On the GPU: the same incidence, or the number of pairs of slots that differ.
Discovered discover(const Instruction& is) {
  const device::DeviceInfo gpu = require_device();
  if (const std::string reason = device::why_not(gpu, is); !reason.empty()) throw EnvironmentError(reason);
  const std::uint8_t modifiers = is_wgmma(is.op) ? kAFromRegisters : 0;
  Discovered result{gpu.name, false, 0, device::declared_incidence(is)};
  const device::Incidence seen = device::discovered_incidence(
      is, modifiers, [&](const TileBatch& batch) { device::run(gpu, is, batch); });
  for (std::size_t i = 0; i < seen.partner.size(); ++i)
    result.differing += seen.partner[i] != result.declared.partner[i];
  for (std::size_t i = 0; i < seen.passed.size(); ++i)
    result.differing += seen.passed[i] != result.declared.passed[i];
  result.agrees = seen == result.declared;
  return result;
}

int layout(const Options& options) {
  const Instruction is = require_instruction(options.instruction);
  if (!has_fragment_maps(is))
    throw InputError(fmt::format("--inst: found {}, allowed: an instruction whose fragments are known",
                                 mmaudit::name_of(is)));
  std::vector<report::FragmentPicture> pictures;
  std::string text;
  nlohmann::json out = {{"schema", "mmaudit.layout/1"},
                        {"instruction", mmaudit::name_of(is)},
                        {"operands", nlohmann::json::array()}};
  for (const Operand3& operand : operands_of(options, is)) {
    if (operand.map.lanes == 0) {
      text +=
          fmt::format("{} of {}: in shared memory, held by no lane\n\n", operand.name, mmaudit::name_of(is));
      continue;
    }
    out["operands"].push_back(to_json(operand));
    pictures.push_back(picture_of(is, operand));
    text += report::picture_text(pictures.back()) + "\n";
  }
  text += "T: lane, r: 32-bit register of the operand (pairs of them for 64-bit elements)\n";
  int code = kAllGood;
  if (options.discover) {
    const Discovered seen = discover(is);
    text += seen.agrees
                ? fmt::format("{} agrees: {} slots of A, {} of B, {} of D meet as drawn\n", seen.device,
                              seen.declared.slots_a, seen.declared.slots_b, seen.declared.slots_d)
                : fmt::format("{} differs in {} of {} pairs of slots\n", seen.device, seen.differing,
                              seen.declared.partner.size() + seen.declared.passed.size());
    out["discovered"] = {{"device", seen.device}, {"agrees", seen.agrees}, {"differing", seen.differing}};
    if (!seen.agrees) code = kMismatch;
  }
  if (!options.svg.empty()) emit(options.svg, report::picture_svg(pictures));
  if (options.json) text = out.dump() + "\n";
  if (options.svg != "-") emit("-", text);
  return code;
}

}  // namespace

void add_layout(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("layout", "Which lane and register holds which element of A, B, C and D");
  command->add_option("--inst", options->instruction, "instruction, as `mmaudit list` prints it")->required();
  command->add_option("--operand", options->operands, "a, b, c, d; several with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"a", "b", "c", "d"}))
      ->capture_default_str();
  command->add_option("--svg", options->svg, "the picture as an SVG file; - for standard output");
  command->add_flag("--discover", options->discover,
                    "run it on the GPU of this machine, slot by slot, and compare");
  command->add_flag("--json", options->json, "(row, column) by lane and value");
  command->callback([&action, options] { action = [options] { return layout(*options); }; });
}

}  // namespace mmaudit::cli
