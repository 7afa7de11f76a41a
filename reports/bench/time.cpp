// mmaudit time: cycles of instructions and loops on GPUs that need not be here, by the timing model.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "beside.hpp"
#include "commands.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/drawing.hpp"
#include "mmaudit/timing/sass.hpp"
#include "mmaudit/timing/simulate.hpp"
#include "mmaudit/timing/wmma_steps.hpp"
#include "time_gemm.hpp"
#include "timing/timing_report.hpp"

namespace mmaudit::cli {
namespace {

using namespace timing;  // NOLINT(google-build-using-namespace): the whole command is about it

/// Of a block: 1024 threads. Source: CUDA C++ Programming Guide 13.0, table of technical specifications.
constexpr int kMostWarps = 32;
constexpr int kMostBlocks = 64, kMostChains = 16, kMostTrips = 1 << 20;

struct TimeOptions : MachineChoice {
  Outputs outputs;
  std::string instruction, a = "shared", loop, svg, sass, kernel, compare;
  int warps = 4, ilp = 1, ways = 0, trips = 0, blocks = 1, rows = 24;
  bool papers = false, from_clock = false;
};

/// An instruction or a load, with what it is compiled into.
struct Timed {
  std::string unit;
  Program program;
  std::string loop;                              ///< that it is in; empty: one of its own
  int most_ilp = kMostChains, warps_of_one = 1;  ///< chains that it can have; warps that share an instruction
};

/// Refuses chains and warps that the program does not have.
void require_point(const TimeOptions& options, const Timed& what) {
  if (options.ilp > what.most_ilp)
    refuse("--ilp: found {} with {}, allowed: 1", options.ilp, what.program.name);
  if (options.warps % what.warps_of_one != 0)
    refuse("--warps: found {} with {}, allowed: multiples of {}", options.warps, what.program.name,
           what.warps_of_one);
}

/// Refuses more warps than the multiprocessor holds.
void require_room(const TimeOptions& options, const Machine& machine) {
  const int warps = options.warps * options.blocks;
  for (const Number& number : machine.numbers)
    if (number.parameter == Parameter::warps_of_sm && warps > machine[number.parameter])
      refuse("--warps: found {} on one multiprocessor of {}, allowed: at most {} ({})", warps, machine.name,
             machine[number.parameter], number.source);
}

const Loop& chosen_loop(const TimeOptions& options, const Machine& machine) {
  for (const Loop& loop : loops())
    if (loop.name == options.loop) return loop;
  return default_loop(machine);
}

/// What holds a program whose trips the compiler does not choose.
Timed without_loop(const TimeOptions& options, Timed what) {
  if (!options.loop.empty())
    refuse("--loop: found {} with {}, allowed: nothing, it is timed alone", options.loop, what.program.name);
  return what;
}

Timed timed(const TimeOptions& options, const Machine& machine, int ilp) {
  const Loop& loop = chosen_loop(options, machine);
  const std::string said = fmt::format("{}, {}", loop.name, loop.text);
  if (options.instruction.empty())
    refuse("--inst: found nothing, allowed: an instruction, as `mmaudit list` prints it, or a load");
  const auto access = shared_access(options.instruction, std::max(1, options.ways));
  if (options.ways > 0 && (access ? access->is_matrix : !options.instruction.starts_with("ld.shared")))
    refuse("--ways: found {} with {}, allowed: with ld.shared alone", options.ways,
           printable(options.instruction));
  if (options.a == "registers" && options.instruction.find("wgmma") == std::string::npos)
    refuse("--a: found registers with {}, allowed: with wgmma alone", printable(options.instruction));
  if (access) return {"B/clk/SM", load_program(machine, *access, ilp, loop), said};
  const Instruction inst = require_instruction(options.instruction);
  require_datapath(machine.architecture(), inst);
  if (machine[Parameter::step_interval_f32] > 0 && inst.op == Op::wmma && inst.m == volta::kSide &&
      inst.a == Format::f16)  // one chain: the paper's
    return without_loop(
        options, {"FMA/clk/SM", volta_program(machine, inst.d == inst.c ? inst.d : Format::f32), {}, 1});
  auto program = chain_program(machine, inst, ilp, loop, options.a == "registers");
  if (!program)
    throw InputError(fmt::format(
        "--inst: {} has no unit for {} of its own; `mmaudit time sass` reads what the compiler makes of it",
        machine.name, mmaudit::name_of(inst)));
  if (is_wgmma(inst.op)) return without_loop(options, {"FMA/clk/SM", std::move(*program), {}, 1, 4});
  return {"FMA/clk/SM", std::move(*program), said};
}

Timing run(const Machine& machine, const Program& program, const TimeOptions& options, int recorded = 0) {
  require_room(options, machine);
  Launch launch;
  launch.warps = options.warps * options.blocks;
  launch.blocks = options.blocks;
  launch.trips = options.trips > 0 ? options.trips : options.sass.empty() ? trips_of(program) : 256;
  launch.recorded = recorded;
  try {
    return simulate(machine, program, launch);
  } catch (const InputError&) {
    throw;
  } catch (const std::runtime_error& error) {  // a loop that never ends
    const std::string where = options.sass.empty() ? "" : fmt::format("{}: {}: ", options.sass, program.name);
    throw InputError(where + error.what());
  }
}

/// The report, and the drawing where --svg asks for it.
int publish(const TimeOptions& options, TimedProgram timed, const Context& context) {
  std::vector<corpus::TextFile> drawing;
  if (!options.svg.empty()) drawing.push_back({options.svg, drawing_svg(timed.program, timed.timing)});
  return options.outputs.publish(report_of(timed), context, std::move(drawing));
}

/// Before the work: the files that are written.
void try_files(const TimeOptions& options) {
  std::vector<NamedFile> files = options.outputs.files();
  files.push_back({"--svg", options.svg});
  try_outputs(files, {{"FILE", options.sass}, {"--machine", options.file}, {"--compare", options.compare}});
}

/// With so many instructions recorded.
int time_one(const TimeOptions& options, const Context& context, int recorded) {
  try_files(options);
  const Machine machine = machine_of(options);
  Timed what = timed(options, machine, options.ilp);
  require_point(options, what);
  const Timing timing = run(machine, what.program, options, recorded);
  return publish(options,
                 {machine, std::move(what.program), timing, options.warps, options.ilp, std::move(what.unit),
                  std::move(what.loop)},
                 context);
}

/// Each cell that papers print of this program, computed as `mmaudit time machines --papers` scores it.
std::vector<PaperCell> printed_of(const Machine& machine, const std::string& program, int ways) {
  return paper_cells([&](const PaperCell& cell) {
    const auto& subjects = cell.row->subjects;
    // A row of several types counts for each of them; wgmma's program also says N and where A is.
    return cell.machine->name == machine.name && cell.ways == ways &&
           (cell.program == program ||
            std::find(subjects.begin(), subjects.end(), program) != subjects.end());
  });
}

/// Measured loops of a file, each beside the model.
int compare_loops(const TimeOptions& options, const Context& context) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 24;
  const Machine machine = machine_of(options);
  const Loop& loop = chosen_loop(options, machine);
  const std::string csv = text_of_file(options.compare, kMostBytes);
  const ComparedLoops out = in_file(options.compare, [&] {
    ComparedLoops found{machine, loop, {}};
    for (const MeasuredLoop& one : read_measured_loops(csv))
      if (options.instruction.empty() || options.instruction == one.instruction)
        found.loops.push_back(timing::compare(machine, one, loop));
    if (found.loops.empty()) refuse("found no loop to compare, allowed: loops of --inst");
    return found;
  });
  return options.outputs.publish(report_of(out), context);
}

int grid(const TimeOptions& options, const Context& context) {
  constexpr int kMostIlp = 6;
  try_files(options);
  if (!options.compare.empty()) return compare_loops(options, context);
  TimedGrid out{machine_of(options), {}, {}, {}, {}, {}};
  for (const int warps : {1, 2, 4, 6, 8, 12, 16, 32})
    for (int ilp = 1; ilp <= kMostIlp; ++ilp) {
      TimeOptions point = options;
      point.warps = warps;
      const Timed what = timed(options, out.machine, ilp);
      if (ilp > what.most_ilp || warps % what.warps_of_one != 0) break;
      if (out.cells.empty()) out.program = what.program.name, out.unit = what.unit, out.loop = what.loop;
      const Timing timing = run(out.machine, what.program, point);
      out.cells.push_back({warps, ilp, timing.cycles_per_step, timing.work_per_cycle});
    }
  if (options.file.empty()) out.beside = printed_of(out.machine, out.program, std::max(1, options.ways));
  return options.outputs.publish(report_of(out), context);
}

/// The function with this name, or the only one whose name holds it.
const sass::Function& chosen(const std::vector<sass::Function>& functions, const std::string& kernel) {
  if (kernel.empty()) refuse("--kernel: found nothing, allowed: a name, or a part that no other has");
  std::vector<const sass::Function*> holding, exact;
  for (const sass::Function& one : functions) {
    if (one.name.find(kernel) != std::string::npos) holding.push_back(&one);
    if (one.name == kernel) exact.push_back(&one);
  }
  if (exact.size() > 1)
    refuse("--kernel: found {}, the name of {} functions, allowed: a file that holds one", kernel,
           exact.size());
  if (exact.size() == 1) return *exact.front();
  if (holding.size() == 1) return *holding.front();
  if (holding.empty())
    refuse("--kernel: found {}, allowed: part of one of the {} functions of the file, e.g. {}", kernel,
           functions.size(), functions.front().name);
  refuse("--kernel: found {}, which {} functions hold, allowed: a part of one", kernel, holding.size());
}

int sass(const TimeOptions& options, const Context& context) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
  try_files(options);
  const std::string text = text_of_file(options.sass, kMostBytes);
  const auto functions = in_file(options.sass, [&] { return sass::read(text); });
  const sass::Function& function = chosen(functions, options.kernel);
  TimeOptions named = options;
  if (options.machine.empty() && options.file.empty() && find_machine(function.target) != nullptr)
    named.machine = function.target;
  const Machine machine = machine_of(named);
  Program program = in_file(options.sass, [&] {
    return program_of(machine, function, {options.ways, options.from_clock});
  });
  const auto queued = [](const TimedOp& op) { return op.queued; };
  if (options.warps % 4 != 0 && std::any_of(program.ops.begin(), program.ops.end(), queued))
    refuse("--warps: found {} with wgmma, allowed: multiples of 4", options.warps);
  const Timing timing = run(machine, program, options, options.svg.empty() ? 0 : options.rows);
  program.name = fmt::format("{} for {}", function.name, function.target);
  return publish(options,
                 {machine, std::move(program), timing, options.warps * options.blocks, 0, "FMA/clk/SM"},
                 context);
}

int list_machines(const TimeOptions& options, const Context& context) {
  const bool all = options.machine.empty() && options.file.empty();
  return options.outputs.publish(options.papers ? report_of(paper_cells([&](const PaperCell& cell) {
                                   return all || cell.machine->name == machine_of(options).name;
                                 }))
                                 : all          ? report_of(machines())
                                                : report_of(machine_of(options)),
                                 context);
}

void add_point_options(Command& command, TimeOptions& options) {
  add_machine_options(command, options);
  command.option("--inst", options.instruction,
                 "mma, mma.sp, wgmma or wmma; ldmatrix.x4, ld.shared.u32, ...");
  std::vector<std::string> names;
  for (const Loop& loop : loops()) names.emplace_back(loop.name);
  command.option("--loop", options.loop, "around the instructions; `straight`: none")
      .one_of(names)
      .default_text("sweep on Hopper, else paper");
  command.option("--a", options.a, "wgmma: where A is").one_of({"shared", "registers"});
  command.option("--ways", options.ways, "ld.shared: lanes that meet in one bank")
      .range(1, 32)
      .default_text("1");
}
void add_launch_options(Command& command, TimeOptions& options) {
  command.option("--warps", options.warps, "of the block").range(1, kMostWarps);
  command.option("--ilp", options.ilp, "independent chains in each warp").range(1, kMostChains);
}

}  // namespace

timing::Machine machine_of(const MachineChoice& options) {
  if (!options.file.empty()) return machine_of_file(options.file);
  const std::string name = options.machine.empty() ? "hopper" : options.machine;
  if (const Machine* machine = find_machine(name)) return *machine;
  std::vector<std::string> names;
  for (const Machine& machine : machines())
    for (const std::string_view one : machine.names()) names.emplace_back(one);
  refuse("--arch: found {}, allowed: {}{}", name, machine_list(), did_you_mean(name, names));
}

void add_machine_options(Command& command, MachineChoice& options) {
  command.option("--arch", options.machine, "machine, as `mmaudit time machines` prints it")
      .default_text("hopper");
  command.option("--machine", options.file, "machine.json: a machine with numbers of your own");
}

void add_time(Command& app) {
  auto options = std::make_shared<TimeOptions>();
  Command command =
      app.command("time", std::string(bench_text("time")),
                  {"mmaudit time --arch ampere --inst mma.m16n8k16.f32.f16.f16.f32 --warps 8 --ilp 3",
                   "mmaudit time --arch hopper --inst wgmma.m64n256k16.f32.f16.f16 --a registers"});
  add_point_options(command, *options);
  add_launch_options(command, *options);
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return time_one(*options, context, 0); });

  Command table = command.command("grid", "The table of warps and chains, beside what papers printed",
                                  {"mmaudit time grid --arch ampere --inst mma.m16n8k16.f32.f16.f16.f32",
                                   "mmaudit time grid --arch ad102 --inst mma.m16n8k16.f32.f16.f16.f32"});
  add_point_options(table, *options);
  table.option("--compare", options->compare, "grid.csv: measured loops, each beside the model");
  options->outputs.add_to(table);
  table.runs([options](const Context& context) { return grid(*options, context); });

  Command drawing = command.command(
      "explain", "The pipeline, instruction by instruction: which unit, which wait",
      {"mmaudit time explain --arch ga104 --inst mma.m16n8k16.f32.f16.f16.f32 --warps 8",
       "mmaudit time explain --arch hopper --inst mma.m16n8k16.f32.f16.f16.f32 --svg pipeline.svg"});
  add_point_options(drawing, *options);
  add_launch_options(drawing, *options);
  drawing.option("--rows", options->rows, "instructions drawn").range(1, 1000);
  drawing.option("--svg", options->svg, "the picture as an SVG file; - for standard output");
  options->outputs.add_to(drawing);
  drawing.runs([options](const Context& context) { return time_one(*options, context, options->rows); });

  Command disassembly =
      command.command("sass", "Cycles per trip of a kernel's loop, from its disassembly",
                      {"mmaudit time sass kernels.sass --kernel gemm --warps 8",
                       "mmaudit time sass kernels.sass --kernel gemm --warps 4 --blocks 2 --svg loop.svg"});
  disassembly.option("FILE", options->sass, "what cuobjdump -sass printed").required();
  disassembly.option("--kernel", options->kernel, "its name, or a part that no other has").required();
  add_machine_options(disassembly, *options);
  disassembly.option("--warps", options->warps, "of a block").range(1, kMostWarps);
  disassembly.option("--blocks", options->blocks, "on the multiprocessor").range(1, kMostBlocks);
  disassembly.option("--trips", options->trips, "of the loop").range(1, kMostTrips).default_text("256");
  disassembly.flag("--from-clock", options->from_clock,
                   "also what stands between the reading of the clock and the loop, once");
  disassembly.option("--ways", options->ways, "lanes of each LDS that meet in one bank")
      .range(1, 32)
      .default_text("as its width needs");
  disassembly.option("--rows", options->rows, "instructions drawn").range(1, 1000);
  disassembly.option("--svg", options->svg, "the first instructions as an SVG file");
  options->outputs.add_to(disassembly);
  disassembly.runs([options](const Context& context) { return sass(*options, context); });

  add_time_gemm(command);

  Command listing = command.command("machines", "The machines, or each number of one with its source",
                                    {"mmaudit time machines --arch ga100", "mmaudit time machines --papers"});
  add_machine_options(listing, *options);
  listing.flag("--papers", options->papers, "how many printed cells the model meets, table by table");
  options->outputs.add_to(listing);
  listing.runs([options](const Context& context) { return list_machines(*options, context); });
}

}  // namespace mmaudit::cli
