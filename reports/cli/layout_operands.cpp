#include "layout_operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "common.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/fragment_picture.hpp"
#include "mmaudit/wmma_fragments.hpp"

namespace mmaudit::cli {
namespace {

/// "volta, turing, hopper (m16n16k16 of f16), or --discover on a GPU"
std::string allowed_text() {
  std::vector<std::string> names;
  for (const WmmaFragments& one : published_wmma_fragments()) names.emplace_back(one.architecture);
  return with_commas(names) + " (m16n16k16 of f16), or --discover on a GPU";
}

struct Chosen {
  char name;  ///< 'A'
  device::WmmaOperand operand;
  Format format;
  bool columns;

  [[nodiscard]] std::string in_memory() const {
    return fmt::format("{} by {}", name, columns ? "columns" : "rows");
  }
};

std::vector<Chosen> chosen_of(const Instruction& inst, const LayoutChoice& choice) {
  std::vector<Chosen> chosen;
  for (const std::string& operand : choice.operands)
    for (const Chosen& one : {Chosen{'A', device::WmmaOperand::a, inst.a, choice.a == "col"},
                              {'B', device::WmmaOperand::b, inst.b, choice.b == "col"},
                              {'C', device::WmmaOperand::c, inst.c, choice.c == "col"},
                              {'D', device::WmmaOperand::d, inst.d, choice.c == "col"}})
      if (operand[0] - 'a' + 'A' == one.name) chosen.push_back(one);
  return chosen;
}

device::WmmaFragment slots_of(const FragmentMap& map) {
  device::WmmaFragment slots{map.rows, map.cols, map.lanes, map.values, {}};
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      slots.element.push_back(at.row * map.cols + at.col);
    }
  return slots;
}

}  // namespace

Layout specified_layout(const Instruction& instruction, const LayoutChoice& choice) {
  Layout layout;
  for (const Chosen& one : chosen_of(instruction, choice)) {
    const FragmentMap map = one.name == 'A'   ? fragment_a(instruction)
                            : one.name == 'B' ? fragment_b(instruction)
                            : one.name == 'C' ? fragment_c(instruction)
                                              : fragment_d(instruction);
    layout.operands.push_back({std::string(1, one.name), one.format, slots_of(map)});
  }
  return layout;
}

Layout published_wmma_layout(const Instruction& instruction, const Architecture* architecture,
                             const LayoutChoice& choice) {
  const std::string name = name_of(instruction);
  constexpr std::string_view kOpen = "whose fragments the PTX ISA leaves open";
  if (architecture == nullptr)
    refuse("--inst: found {}, {}, allowed: with --arch {}", name, kOpen, allowed_text());
  require_datapath(*architecture, instruction);
  const WmmaFragments* published = find_wmma_fragments(architecture->name, instruction);
  if (published == nullptr)
    refuse("--arch: found {} with {}, {}, allowed: {}", architecture->name, name, kOpen, allowed_text());
  if (!published->any_layout && (choice.a == "col" || choice.b == "row" || choice.c == "col"))
    refuse(
        "--arch: found {} with another layout, allowed: A by rows, B by columns, C and D by rows (what is "
        "known of it), or --discover on a GPU",
        architecture->name);
  const std::string evidence(mmaudit::name_of(published->evidence));
  Layout layout{{},
                fmt::format("{}: {}{}", evidence, published->source,
                            published->evidence == Evidence::literature ? "; not seen on a GPU here" : ""),
                evidence};
  for (const Chosen& one : chosen_of(instruction, choice)) {
    const volta::Layout order = one.columns ? volta::Layout::column : volta::Layout::row;
    const FragmentMap map = one.name == 'A'   ? published->a(order)
                            : one.name == 'B' ? published->b(order)
                                              : published->accumulator(one.format);
    layout.operands.push_back({one.in_memory(), one.format, slots_of(map)});
  }
  return layout;
}

Layout discovered_wmma_layout(const Instruction& instruction, const LayoutChoice& choice) {
  const device::DeviceInfo gpu = require_device();
  if (const std::string reason = device::why_not(gpu, instruction); !reason.empty())
    throw EnvironmentError(reason);
  Layout layout{{}, fmt::format("seen on {} (driver {})", gpu.name, gpu.driver), "seen"};
  for (const Chosen& one : chosen_of(instruction, choice)) {
    const device::WmmaFragment seen =
        device::read_wmma_fragment(instruction, one.operand, one.columns, [&](auto image, auto registers) {
          device::move_fragment(gpu, instruction, one.operand, one.columns, image, registers);
        });
    const int times = device::multiplicity(seen);
    layout.known +=
        fmt::format("; {}: {}", one.in_memory(),
                    times == 0 ? "elements not held equally often" : fmt::format("held {} x", times));
    layout.operands.push_back({one.in_memory(), one.format, seen});
  }
  return layout;
}

Discovered discover(const Instruction& instruction) {
  const device::DeviceInfo gpu = require_device();
  if (const std::string reason = device::why_not(gpu, instruction); !reason.empty())
    throw EnvironmentError(reason);
  const std::uint8_t modifiers = is_wgmma(instruction.op) ? kAFromRegisters : 0;
  Discovered result{gpu.name, 0, false, device::declared_meetings(instruction)};
  const device::FragmentMeetings seen =
      device::probe_fragments(instruction, modifiers, device::hardware_backend(gpu));
  for (std::size_t i = 0; i < seen.partner.size(); ++i)
    result.differing += seen.partner[i] != result.declared.partner[i];
  for (std::size_t i = 0; i < seen.passed.size(); ++i)
    result.differing += seen.passed[i] != result.declared.passed[i];
  result.agrees = seen == result.declared;
  return result;
}

namespace {

report::FragmentPicture picture_of(const Instruction& instruction, const LayoutOperand& operand) {
  const device::WmmaFragment& map = operand.map;
  report::FragmentPicture picture{
      fmt::format(
          "{} of {}: {} x {} {}{}", operand.name, name_of(instruction), map.rows, map.cols,
          name_of(operand.format),
          map.lanes == 0 ? "" : fmt::format(", {} values in each of {} lanes", map.values, map.lanes)),
      map.rows,
      map.cols,
      elements_per_register(instruction, operand.format),
      {},
      operand.name[0]};
  if (map.lanes == 0) return picture;
  picture.holders.resize(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.cols));
  for (int slot = 0; slot < map.lanes * map.values; ++slot)
    if (const std::int32_t element = map.element[static_cast<std::size_t>(slot)];
        element != device::WmmaFragment::kNone)
      picture.holders[static_cast<std::size_t>(element)].push_back({slot / map.values, slot % map.values});
  return picture;
}

Json json_of(const Instruction& instruction, const LayoutOperand& operand) {
  const device::WmmaFragment& map = operand.map;
  Json lanes = Json::array();
  for (int slot = 0; slot < map.lanes * map.values; ++slot) {
    if (slot % map.values == 0) lanes.push_back(Json::array());
    const std::int32_t element = map.element[static_cast<std::size_t>(slot)];
    if (element == device::WmmaFragment::kNone)
      lanes.back().push_back(nullptr);
    else
      lanes.back().push_back({element / map.cols, element % map.cols});
  }
  return {{"operand", operand.name},
          {"format", name_of(operand.format)},
          {"rows", map.rows},
          {"cols", map.cols},
          {"values_per_register", elements_per_register(instruction, operand.format)},
          {"row_col_by_lane_and_value", lanes}};
}

/// "Each of 32 lanes holds 4 registers of A, 2 of B, 4 of D."
std::string registers_text(const Instruction& instruction, const Layout& layout) {
  std::vector<std::string> held, in_memory;
  int lanes = 0;
  for (const LayoutOperand& one : layout.operands) {
    if (one.map.lanes == 0) {
      in_memory.push_back(one.name);
      continue;
    }
    lanes = one.map.lanes;
    const int per_register = elements_per_register(instruction, one.format);
    held.push_back(fmt::format("{}{} of {}", (one.map.values + per_register - 1) / per_register,
                               held.empty() ? " registers" : "", one.name));
  }
  std::string out =
      held.empty() ? "" : fmt::format("Each of {} lanes holds {}.", lanes, fmt::join(held, ", "));
  for (const std::string& name : in_memory)
    out += fmt::format("{}{} is in shared memory.", out.empty() ? "" : " ", name);
  return out;
}

Json json_of(const Instruction& instruction, const Layout& layout,
             const std::optional<Discovered>& discovered) {
  Json out = {
      {"schema", "mmaudit.layout/1"}, {"instruction", name_of(instruction)}, {"operands", Json::array()}};
  for (const LayoutOperand& operand : layout.operands)
    if (operand.map.lanes != 0) out["operands"].push_back(json_of(instruction, operand));
  if (!layout.known.empty()) {
    out["evidence"] = layout.evidence;
    out["known"] = layout.known;
  }
  if (discovered)
    out["discovered"] = {
        {"device", discovered->device}, {"agrees", discovered->agrees}, {"differing", discovered->differing}};
  return out.sorted();
}

}  // namespace

report::Report report_of(const Instruction& instruction, const Layout& layout,
                         const std::optional<Discovered>& discovered) {
  report::Report out{.title = "Registers of " + name_of(instruction)};
  out.headline = registers_text(instruction, layout);
  if (discovered) {
    const device::FragmentMeetings& declared = discovered->declared;
    out.tone = discovered->agrees ? report::Tone::good : report::Tone::bad;
    out.lead.push_back(std::exchange(
        out.headline,
        discovered->agrees
            ? fmt::format("{} agrees: {} slots of A, {} of B, {} of D meet as drawn", discovered->device,
                          declared.slots_a, declared.slots_b, declared.slots_d)
            : fmt::format("{} differs in {} of {} pairs of slots", discovered->device, discovered->differing,
                          declared.partner.size() + declared.passed.size())));
  }
  out.lead.emplace_back("T: lane, r: 32-bit register of the operand (pairs of them for 64-bit elements)");
  if (!layout.known.empty()) out.lead.push_back("known: " + layout.known);
  std::vector<report::FragmentPicture> pictures;
  for (const LayoutOperand& operand : layout.operands) pictures.push_back(picture_of(instruction, operand));
  out.sections.push_back({.title = "Picture",
                          .figures = {report::fragment_figure(pictures)},
                          .shown = report::kOnPage,
                          .layout = report::Layout::wide});
  for (const report::FragmentPicture& picture : pictures) out.sections.push_back(section_of(picture));
  out.json = [instruction, layout, discovered] {
    return json_of(instruction, layout, discovered).dump() + "\n";
  };
  return out;
}

}  // namespace mmaudit::cli
