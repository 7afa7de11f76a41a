// mmaudit explain layout: which lane and register holds which element, declared and, on a GPU, seen.
#include <memory>

#include "common.hpp"
#include "layout_operands.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

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
  return options.outputs.publish(
      report_of(inst, found, compares ? std::optional(discover(inst)) : std::nullopt), context);
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
