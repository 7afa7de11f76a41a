// mmaudit explain layout: which lane and register holds which element, declared and, on a GPU, seen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <utility>

#include "common.hpp"
#include "explained.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/device/fragment_probe.hpp"
#include "mmaudit/device/wmma_fragment.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/fragment_picture.hpp"
#include "mmaudit/wmma_fragments.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

/// What of an instruction is to be shown; of wmma, whether an operand lies in memory by "row" or by "col".
struct LayoutChoice {
  std::vector<std::string> operands = {"a", "b", "d"};
  std::string a = "row", b = "col", c = "row";
};

struct LayoutOperand {
  std::string name;  ///< "A", "A by columns"
  Format format = Format::none;
  device::WmmaFragment map;
};

/// How the operands of an instruction lie in registers, and how that is known.
struct Layout {
  std::vector<LayoutOperand> operands;
  std::string known;                    ///< one line; empty: the PTX ISA says it
  std::string evidence;                 ///< "literature", "seen"
  std::vector<std::string> moved = {};  ///< wmma: how each operand is loaded or stored
};

/// The declared meetings of slots beside those that the GPU of this machine shows.
struct Discovered {
  std::string device;
  std::size_t differing = 0;  ///< pairs of slots
  bool agrees = false;
  device::FragmentMeetings declared;
};

/// "--arch volta, turing, or --discover on a GPU": the GPUs whose fragments of it are known.
std::string allowed_text(const Instruction& instruction) {
  std::string names;
  for (const WmmaFragments& one : published_wmma_fragments())
    if (one.holds(instruction)) names += (names.empty() ? "--arch " : ", ") + std::string(one.architecture);
  return names + (names.empty() ? "" : ", or ") + "--discover on a GPU";
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

/// What the PTX ISA says of any instruction with has_fragment_maps().
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

/// Fragments of wmma, which the PTX ISA leaves unspecified: what is published about `architecture`. Errors:
/// InputError when nothing is, and without an architecture.
Layout published_wmma_layout(const Instruction& instruction, const Architecture* architecture,
                             const LayoutChoice& choice) {
  const std::string name = name_of(instruction);
  constexpr std::string_view kOpen = "whose fragments the PTX ISA leaves open";
  if (architecture == nullptr)
    refuse("--inst: found {}, {}, allowed: {}", name, kOpen, allowed_text(instruction));
  require_datapath(*architecture, instruction);
  const WmmaFragments* published = find_wmma_fragments(architecture->name, instruction);
  if (published == nullptr)
    refuse("--arch: found {} with {}, {}, allowed: {}", architecture->name, name, kOpen,
           allowed_text(instruction));
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
    const FragmentMap map = one.name == 'A'   ? published->a(instruction, order)
                            : one.name == 'B' ? published->b(instruction, order)
                                              : published->accumulator(instruction, one.format);
    layout.operands.push_back({one.in_memory(), one.format, slots_of(map)});
    const FragmentAccesses moved =
        accesses_of(map, register_bits(one.format), one.columns, published->transposes);
    layout.moved.push_back(fmt::format("{}: {} of {} bits per lane, {} sectors of 32 bytes", one.in_memory(),
                                       moved.count, moved.bits, moved.sectors));
  }
  return layout;
}

/// The same as this machine's GPU shows them. Errors: EnvironmentError without one.
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

/// Errors: EnvironmentError without a GPU that runs it.
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
  if (!layout.moved.empty()) out["moved"] = layout.moved;
  if (discovered)
    out["discovered"] = {
        {"device", discovered->device}, {"agrees", discovered->agrees}, {"differing", discovered->differing}};
  return out.sorted();
}

report::Report report_of(const Instruction& instruction, const Layout& layout,
                         const std::optional<Discovered>& discovered, const std::string& gpu) {
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
  for (const std::string& line : layout.moved) out.lead.push_back("load or store of " + line);
  std::vector<report::FragmentPicture> pictures;
  for (const LayoutOperand& operand : layout.operands) pictures.push_back(picture_of(instruction, operand));
  out.sections.push_back({.title = "Picture",
                          .figures = {report::fragment_figure(pictures)},
                          .shown = report::kOnPage,
                          .layout = report::Layout::wide});
  for (const report::FragmentPicture& picture : pictures) out.sections.push_back(section_of(picture));
  out.sections.back().notes.push_back(checks::to_play_with("view=fragments&inst=" + name_of(instruction) +
                                                           (gpu.empty() ? "" : "&gpu=" + gpu)));
  out.json = [instruction, layout, discovered] {
    return json_of(instruction, layout, discovered).dump() + "\n";
  };
  return out;
}

struct LayoutOptions {
  std::string instruction, architecture;
  LayoutChoice choice;
  bool discover = false;
  Outputs outputs;
};

Layout layout_of(const LayoutOptions& options, const Context& context, const Instruction& inst) {
  const Architecture* architecture =
      options.architecture.empty() ? nullptr : &require_architecture(context, options.architecture);
  if (inst.op == Op::wmma)
    return options.discover ? discovered_wmma_layout(inst, options.choice)
                            : published_wmma_layout(inst, architecture, options.choice);
  if (architecture != nullptr) require_datapath(*architecture, inst);
  return specified_layout(inst, options.choice);
}

int layout(const LayoutOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {});
  const Instruction inst = require_instruction(options.instruction);
  if (!has_fragment_maps(inst) && inst.op != Op::wmma)
    refuse("--inst: found {}, allowed: mma, mma.sp, wgmma, wgmma.sp, wmma ({})", mmaudit::name_of(inst),
           why_no_fragment_maps(inst));
  const Layout found = layout_of(options, context, inst);
  // Of wmma there is nothing to compare with.
  const bool compares = options.discover && inst.op != Op::wmma;
  const Architecture* gpu = find_architecture(options.architecture);
  return options.outputs.publish(
      report_of(inst, found, compares ? std::optional(discover(inst)) : std::nullopt,
                gpu == nullptr ? "" : std::string(gpu->name)),
      context);
}

}  // namespace

void add_layout(Command& explain) {
  auto options = std::make_shared<LayoutOptions>();
  Command command = explain.command(
      "layout", "Which lane and register holds which element of A, B, C and D",
      {"mmaudit explain layout --inst mma.m16n8k16.f32.f16.f16.f32 --operand a",
       "mmaudit explain layout --inst wgmma.m64n64k32.f32.e4m3.e4m3 --operand d --svg d.svg",
       "mmaudit explain layout --inst wmma.m16n16k16.f32.f16.f16.f32 --arch volta --layout-a col"});
  command.option("--inst INST", options->instruction, "instruction, as `mmaudit list` prints it").required();
  command.option("--operand", options->choice.operands, "a, b, c, d; several with commas")
      .comma_separated()
      .one_of({"a", "b", "c", "d"});
  command.option("--arch ARCH", options->architecture,
                 "wmma: whose fragments, where they are published; others: refused where it lacks the "
                 "instruction");
  const auto in_memory = [&](const char* name, std::string& value, const char* text) {
    command.option(name, value, text).one_of({"row", "col"});
  };
  in_memory("--layout-a", options->choice.a, "wmma: A in memory by rows or columns");
  in_memory("--layout-b", options->choice.b, "wmma: B in memory");
  in_memory("--layout-c", options->choice.c, "wmma: C and D in memory");
  command.flag(
      "--discover", options->discover,
      "run the instruction on the GPU of this machine, slot by slot, and compare; wmma: show what it does");
  options->outputs.add_to(command);
  options->outputs.add_picture_to(command, "the operands, coloured by lane");
  command.runs([options](const Context& context) { return layout(*options, context); });
}

}  // namespace mmaudit::cli
