#include "mmaudit/timing/chain.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mmaudit/error.hpp"
#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

constexpr int kMostStall = 15, kChainBarriers = 6, kFirstChainRegister = 64, kLoadStall = 4;

/// A stall of `cycles` behind an op: what does not fit its control word goes to a NOP, of two cycles at
/// least.
void add_with_stall(Program& program, TimedOp op, const std::string& text, int cycles) {
  cycles = std::max(1, cycles);
  op.stall = static_cast<std::uint8_t>(std::min(cycles, kMostStall));
  program.add(op, text);
  cycles -= op.stall;
  for (; cycles > 0; cycles -= kMostStall) {
    TimedOp nop;
    nop.stall = static_cast<std::uint8_t>(std::clamp(cycles, 2, kMostStall));
    program.add(nop, "NOP");
  }
}

void close_loop(Program& program, int cycles) {
  TimedOp branch;
  branch.unit = Unit::branch;
  branch.flow = Flow::loop;
  branch.target = 0;
  branch.stall = static_cast<std::uint8_t>(std::clamp(cycles, 1, kMostStall));
  program.add(branch, "BRA");
}

/// From the last instruction to the end of the trip.
void add_tail(Program& program, const Machine& machine, const Trip& loop, TimedOp last,
              const std::string& text, int needed) {
  const int branch_taken = machine.cycles(Parameter::branch_taken);
  int tail = loop.tail;
  if (tail == -2) tail = std::max(needed, machine.cycles(Parameter::loop_tail));
  if (tail == -1) tail = needed + 1;
  if (tail <= 0) {
    last.flow = Flow::loop;
    last.target = 0;
    add_with_stall(program, last, text, needed);
    return;
  }
  const int before = std::max(1, tail - branch_taken - kMostStall);
  add_with_stall(program, last, text, before);
  close_loop(program, tail - branch_taken - before);
}

Program wgmma_program(const Instruction& inst, const MatrixCost& cost, bool a_from_registers) {
  Program program;
  program.name = name_of(inst) + (a_from_registers ? ", A in registers" : ", A in shared memory");
  TimedOp op;
  op.unit = Unit::tensor;
  op.queued = true;
  op.interval2 = static_cast<std::uint32_t>(cost.interval2);
  op.latency = static_cast<std::uint32_t>(cost.latency);
  op.destination = {kFirstChainRegister / 2, static_cast<std::uint8_t>(std::min(cost.d_registers, 128))};
  op.flow = Flow::loop;
  op.target = 0;
  program.add(op, name_of(inst));
  program.work = static_cast<double>(inst.m) * inst.n * inst.k / 4;
  return program;
}

/// How long one wmma takes by itself, where a paper measured what its clock adds.
std::string alone(const Machine& machine, const Instruction& inst) {
  std::string text;
  for (const double clock : set_clocks(machine, inst))
    text += (text.empty() ? "" : ", ") + std::to_string(static_cast<int>(clock));
  return text.empty() ? text : text + " cycles to the end of each set, the clock's own with them";
}

}  // namespace

std::span<const Loop> loops() {
  static constexpr Loop kLoops[] = {kPaperLoop, kSweepLoop, kStraight};
  return kLoops;
}

const Loop& default_loop(const Machine& machine) {
  for (const Loop& loop : loops())
    if (loop.name == machine.loop) return loop;
  throw std::logic_error("emulator/timing/machines: loop " + std::string(machine.loop));
}

int trips_of(const Program& program) {
  constexpr int kSteps = 1024;
  return std::max(1, kSteps / std::max(1, program.steps));
}

MmaParts parts_of(const Architecture& architecture, const Instruction& inst) {
  if (inst.op != Op::wmma || inst.a == Format::f64) return {inst};
  const bool turing = architecture.compute_capability < 80, half = core_type_of(inst) == CoreType::f16;
  Instruction part = inst;
  part.op = Op::mma;
  part.m = inst.m * inst.n < 16 * 8 || (turing && !half) ? 8 : 16;
  part.n = 8;
  if (inst.a == Format::tf32 || (turing && half)) part.k = static_cast<std::int16_t>(inst.k / 2);
  return {part, inst.m * inst.n / (part.m * part.n), inst.k / part.k};
}

std::optional<Program> chain_program(const Machine& machine, const Instruction& inst, int ilp,
                                     const Loop& timed_in, bool a_from_registers) {
  const Trip& loop = ilp == 1 ? timed_in.one_chain : timed_in.chains;
  if (find_datapath(machine.architecture(), inst) == nullptr) return std::nullopt;
  const MatrixPath path = path_of(machine.architecture(), inst).value();
  if (path.use != UnitUse::native || ilp < 1 || ilp > 16) return std::nullopt;
  const MmaParts parts = parts_of(machine.architecture(), inst);
  const Instruction& part = parts.part;
  const std::optional<MatrixCost> cost = cost_of(machine, part, a_from_registers);
  if (!cost) {
    const std::string_view missing = missing_number(machine, part);
    throw InputError(
        "--inst: found " + name_of(inst) + ", which the tensor cores of " + std::string(machine.name) +
        " compute (" + std::string(path.opcode) + ") in a time that no source gives, allowed: " +
        (missing.empty() ? "instructions that were timed" : "--machine with " + std::string(missing)));
  }
  if (is_wgmma(inst.op)) return wgmma_program(inst, *cost, a_from_registers);
  Program program;
  program.name = name_of(inst);
  if (&timed_in != &kAlone) program.alone = alone(machine, inst);
  program.steps = loop.unroll;
  program.work = static_cast<double>(inst.m) * inst.n * inst.k * ilp * loop.unroll;
  TimedOp op;
  op.unit = Unit::tensor;
  op.interval2 = static_cast<std::uint32_t>(cost->interval2);
  op.latency = static_cast<std::uint32_t>(cost->latency);
  const int chains = ilp * parts.side_by_side, total = chains * parts.in_a_row * loop.unroll;
  const int slack = std::max(0, cost->latency - chains * cost->gap);
  // Half cycles that an instruction ends behind the first one's start: on average they are the interval.
  const auto ends2 = [&](int count) {
    return static_cast<std::uint32_t>(std::lround(2 * cost->interval * count));
  };
  for (int i = 0; i < total; ++i) {
    if (cost->interval > 0) op.interval2 = ends2(i + 1) - ends2(i);
    const int chain = i % chains, width = cost->d_registers;
    op.destination = {static_cast<std::int16_t>((kFirstChainRegister + chain * width) % 240),
                      static_cast<std::uint8_t>(width)};
    op.sources = {Registers{0, static_cast<std::uint8_t>(cost->a_registers)},
                  Registers{16, static_cast<std::uint8_t>(cost->b_registers)}, op.destination};
    const std::string text = name_of(part) + "  #" + std::to_string(chain);
    const bool ends_step = chain == chains - 1;
    const int cycles = cost->gap + (ends_step ? slack : 0);
    if (i + 1 == total)
      add_tail(program, machine, loop, op, text, loop.tail == -1 ? cost->latency : cycles);
    else
      add_with_stall(program, op, text, cycles);
  }
  return program;
}

std::vector<double> set_clocks(const Machine& machine, const Instruction& inst) {
  const int clock = machine.cycles(Parameter::clock_cost);
  if (inst.op != Op::wmma || clock == 0) return {};
  const std::optional<Program> program = chain_program(machine, inst, 1, kAlone);
  if (!program) return {};
  Launch launch;
  launch.trips = 1;
  launch.recorded = static_cast<int>(program->ops.size());
  std::vector<double> clocks;
  for (const Event& event : simulate(machine, *program, launch).events) {
    const TimedOp& op = program->ops[static_cast<std::size_t>(event.op)];
    if (op.unit != Unit::tensor) continue;
    const bool last = clocks.size() + 1 == static_cast<std::size_t>(launch.recorded);
    clocks.push_back(static_cast<double>(clock) +
                     static_cast<double>(last ? event.result : event.issue + op.stall));
  }
  return clocks;
}

std::optional<SharedAccess> shared_access(std::string_view name, int ways) {
  const std::string trimmed(name.substr(0, name.find(".trans")));
  for (const int matrices : {1, 2, 4})
    if (trimmed == "ldmatrix.x" + std::to_string(matrices))
      return SharedAccess{std::string(name), matrices, matrices, true, 128.0 * matrices};
  constexpr std::pair<std::string_view, int> kLoads[] = {
      {"ld.shared.u32", 1}, {"ld.shared.u64", 2}, {"ld.shared.v4.u32", 4}};
  for (const auto& [load, words] : kLoads)
    if (name == load && ways >= words && ways % words == 0)
      return SharedAccess{std::string(name), ways, words, false, 128.0 * words};
  return std::nullopt;
}

Program load_program(const Machine& machine, const SharedAccess& access, int ilp, const Loop& timed_in) {
  const Trip& loop = timed_in.loads;
  Program program;
  program.name = access.name;
  program.steps = loop.unroll;
  program.work = access.bytes * ilp * loop.unroll;
  TimedOp op;
  op.unit = Unit::shared;
  op.wavefronts = static_cast<std::uint16_t>(access.wavefronts);
  if (!access.is_matrix)
    op.latency = static_cast<std::uint32_t>((access.registers - 1) * machine.cycles(Parameter::shared_wide));
  for (int i = 0; i < ilp * loop.unroll; ++i) {
    const int chain = i % ilp;
    op.write_barrier = static_cast<std::int8_t>(chain % kChainBarriers);
    op.wait_mask = static_cast<std::uint8_t>(1U << chain % kChainBarriers);
    op.destination = {static_cast<std::int16_t>(kFirstChainRegister + 4 * chain),
                      static_cast<std::uint8_t>(access.registers)};
    op.sources[0] = {op.destination.first, 1};
    const std::string text = access.name + "  #" + std::to_string(chain);
    if (i + 1 == ilp * loop.unroll)
      add_tail(program, machine, loop, op, text, 1);
    else
      add_with_stall(program, op, text, std::min(kLoadStall, machine.cycles(Parameter::shared_subcore)));
  }
  return program;
}

}  // namespace mmaudit::timing
