// mmaudit explain layout: which lane and register holds which element, declared and, on a GPU, seen.
#include <fmt/format.h>

#include <memory>

#include "common.hpp"
#include "layout_operands.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/device/fragment_probe.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::cli {
namespace {

struct LayoutOptions {
  std::string instruction, architecture, svg;
  LayoutChoice choice;
  bool json = false, discover = false;
};

struct Discovered {
  std::string device;
  bool agrees = false;
  std::size_t differing = 0;
  device::FragmentMeetings declared;
};

/// Compares the declared meetings of slots with the meetings that the GPU shows.
Discovered discover(const Instruction& inst) {
  const device::DeviceInfo gpu = require_device();
  if (const std::string reason = device::why_not(gpu, inst); !reason.empty()) throw EnvironmentError(reason);
  const std::uint8_t modifiers = is_wgmma(inst.op) ? kAFromRegisters : 0;
  Discovered result{gpu.name, false, 0, device::declared_meetings(inst)};
  const device::FragmentMeetings seen =
      device::probe_fragments(inst, modifiers, device::hardware_backend(gpu));
  for (std::size_t i = 0; i < seen.partner.size(); ++i)
    result.differing += seen.partner[i] != result.declared.partner[i];
  for (std::size_t i = 0; i < seen.passed.size(); ++i)
    result.differing += seen.passed[i] != result.declared.passed[i];
  result.agrees = seen == result.declared;
  return result;
}

constexpr const char* kLegend =
    "T: lane, r: 32-bit register of the operand (pairs of them for 64-bit elements)\n";

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
  const Instruction inst = require_instruction(options.instruction);
  if (!has_fragment_maps(inst) && inst.op != Op::wmma)
    refuse("--inst: found {}, allowed: mma, mma.sp, wgmma, wgmma.sp, wmma ({})", mmaudit::name_of(inst),
           why_no_fragment_maps(inst));
  const Layout found = layout_of(options, context, inst);
  std::vector<report::FragmentPicture> pictures;
  std::string text;
  Json out = {
      {"schema", "mmaudit.layout/1"}, {"instruction", mmaudit::name_of(inst)}, {"operands", Json::array()}};
  for (const LayoutOperand& operand : found.operands) {
    pictures.push_back(picture_of(inst, operand));
    if (operand.map.lanes == 0) {
      text += fmt::format("{} of {}: in shared memory, held by no lane\n\n", operand.name,
                          mmaudit::name_of(inst));
      continue;
    }
    out["operands"].push_back(to_json(inst, operand));
    text += report::picture_text(pictures.back()) + "\n";
  }
  text += kLegend;
  int code = kAllGood;
  if (inst.op == Op::wmma) {  // there is nothing to compare with
    text += fmt::format("known: {}\n", found.known);
    out["evidence"] = found.evidence;
    out["known"] = found.known;
  } else if (options.discover) {
    const Discovered seen = discover(inst);
    text += seen.agrees
                ? fmt::format("{} agrees: {} slots of A, {} of B, {} of D meet as drawn\n", seen.device,
                              seen.declared.slots_a, seen.declared.slots_b, seen.declared.slots_d)
                : fmt::format("{} differs in {} of {} pairs of slots\n", seen.device, seen.differing,
                              seen.declared.partner.size() + seen.declared.passed.size());
    out["discovered"] = {{"device", seen.device}, {"agrees", seen.agrees}, {"differing", seen.differing}};
    code = seen.agrees ? kAllGood : kMismatch;
  }
  if (!options.svg.empty()) emit(options.svg, report::picture_svg(pictures));
  if (options.svg != "-") emit("-", options.json ? out.sorted().dump() + "\n" : text);
  return code;
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
  command.section("Output");
  command.option("--svg FILE", options->svg, "the picture as an SVG file; - for standard output");
  command.flag(
      "--discover", options->discover,
      "run the instruction on the GPU of this machine, slot by slot, and compare; wmma: show what it does");
  command.flag("--json", options->json, "(row, column) by lane and value");
  command.runs([options](const Context& context) { return layout(*options, context); });
}

}  // namespace mmaudit::cli
