#include "mmaudit/timing/simulate.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "mmaudit/error.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/drawing.hpp"

namespace mmaudit::timing {
namespace {

const Machine& hopper() { return *find_machine("hopper"); }

TimedOp multiply(int destination, int a, int latency = 20) {
  TimedOp op;
  op.unit = Unit::tensor;
  op.interval2 = 8;
  op.latency = static_cast<std::uint16_t>(latency);
  op.destination = {static_cast<std::int16_t>(destination), 4};
  op.sources[0] = {static_cast<std::int16_t>(a), 4};
  return op;
}

Timing once(const Program& program, Dependences dependences, bool raw = true, bool waw = true,
            int warps = 1) {
  Launch launch;
  launch.warps = warps;
  launch.trips = 1;
  launch.recorded = 64;
  launch.dependences = dependences;
  launch.checks_raw = raw;
  launch.checks_waw = waw;
  return simulate(hopper(), program, launch);
}

/// When the second of two instructions issues.
std::uint64_t second_issue(const TimedOp& first, const TimedOp& second, Dependences dependences,
                           bool raw = true, bool waw = true) {
  Program program;
  program.add(first, "first");
  program.add(second, "second");
  return once(program, dependences, raw, waw).events.at(1).issue;
}

TEST(Scoreboard, AReadWaitsForTheWrite) {
  // The second starts when the first is done (20), not when the unit is free.
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(16, 32), Dependences::scoreboard), 1U);
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(16, 8), Dependences::scoreboard), 20U);
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(16, 11), Dependences::scoreboard),
            20U);  // the last register
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(16, 12), Dependences::scoreboard), 1U);  // the next one
}

TEST(Scoreboard, AWriteWaitsForTheWrite) {
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(8, 32, 5), Dependences::scoreboard), 20U);
}

TEST(Scoreboard, APlantedBugChangesTheTiming) {
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(16, 8), Dependences::scoreboard, false, true), 1U);
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(8, 32, 5), Dependences::scoreboard, true, false), 1U);
  EXPECT_EQ(second_issue(multiply(8, 0), multiply(8, 32, 5), Dependences::scoreboard, false, true), 20U);
}

TEST(ControlWords, OnlyWhatTheInstructionSaysIsWaitedFor) {
  TimedOp first = multiply(8, 0);
  EXPECT_EQ(second_issue(first, multiply(16, 8), Dependences::control_words),
            1U);  // a hazard: the compiler's business
  first.stall = 13;
  EXPECT_EQ(second_issue(first, multiply(16, 8), Dependences::control_words), 13U);
  first.stall = 1;
  first.yields = true;
  EXPECT_EQ(second_issue(first, multiply(16, 8), Dependences::control_words), 2U);
}

TEST(Units, AnMmaTakesOfTheAdderPerRegisterOfItsResult) {
  TimedOp first = multiply(8, 0), second;
  second.unit = Unit::fma;
  EXPECT_EQ(second_issue(first, second, Dependences::control_words), 2U);  // 4 registers: 2.5 cycles
  first.destination.count = 2;
  EXPECT_EQ(second_issue(first, second, Dependences::control_words), 1U);  // 1 cycle
  first.destination.count = 4;
  second.unit = Unit::alu;
  EXPECT_EQ(second_issue(first, second, Dependences::control_words), 1U);  // another unit
  first.queued = true;
  second.unit = Unit::fma;
  EXPECT_EQ(second_issue(first, second, Dependences::control_words), 1U);  // wgmma runs beside its warps
}

TEST(ControlWords, ABarrierIsReleasedByTheResult) {
  TimedOp first = multiply(8, 0), second = multiply(16, 8);
  first.write_barrier = 3;
  second.wait_mask = 1U << 3;
  EXPECT_EQ(second_issue(first, second, Dependences::control_words), 20U);
  second.wait_mask = 1U << 2;
  EXPECT_EQ(second_issue(first, second, Dependences::control_words), 1U);
}

TEST(SharedMemory, EachWayOfABankConflictTakesTwoCycles) {
  std::vector<double> cycles;
  for (const int ways : {1, 2, 4, 8}) {
    Launch launch;
    launch.trips = 100;
    cycles.push_back(simulate(hopper(),
                              load_program(hopper(), *shared_access("ld.shared.u32", ways), 1, kSweepLoop),
                              launch)
                         .cycles_per_step);
  }
  EXPECT_NEAR(cycles[1] - cycles[0], 2, 0.05);
  EXPECT_NEAR(cycles[2] - cycles[1], 4, 0.05);
  EXPECT_NEAR(cycles[3] - cycles[2], 8, 0.1);
}

TEST(SharedMemory, AFullQueueHoldsTheWarp) {
  TimedOp load;
  load.unit = Unit::shared;
  load.wavefronts = 8;
  Program program;
  for (int i = 0; i < 12; ++i) program.add(load, "LDS");
  const Timing timing = once(program, Dependences::control_words);
  const int depth = hopper().cycles(Parameter::shared_queue);
  for (int i = 0; i < depth; ++i)
    EXPECT_EQ(timing.events.at(static_cast<std::size_t>(i)).issue, static_cast<std::uint64_t>(i));
  const Event& held = timing.events.at(static_cast<std::size_t>(depth));
  EXPECT_EQ(held.wait, Wait::queue);
  EXPECT_GT(held.issue, static_cast<std::uint64_t>(depth));
}

TEST(Tensor, NoUnitIsBusyForMoreThanAllOfTheTime) {
  // The tensor unit still works on what is queued when the last warp has issued its last instruction.
  for (const char* name : {"wgmma.m64n256k16.f32.f16.f16", "mma.m16n8k16.f32.f16.f16.f32"}) {
    for (const int trips : {1, 2, 64}) {
      Launch launch;
      launch.warps = 4;
      launch.trips = trips;
      const auto program = chain_program(hopper(), *find_instruction(name), 1, kSweepLoop, name[0] == 'w');
      ASSERT_TRUE(program);
      const Timing timing = simulate(hopper(), *program, launch);
      for (const double share : timing.busy) EXPECT_LE(share, 1.0) << name << ", " << trips << " trips";
      EXPECT_GT(timing.busy[static_cast<std::size_t>(Unit::tensor)], 0.1) << name;
    }
  }
}

TEST(Tensor, AFullQueueHoldsTheWarp) {
  Program program;
  for (int i = 0; i < 6; ++i) program.add(multiply(8 * i, 100), "HMMA");
  const Timing timing = once(program, Dependences::control_words);
  // Two wait behind the one that runs; then one goes in whenever one starts, every four cycles.
  std::vector<std::uint64_t> issues;
  for (const Event& event : timing.events) issues.push_back(event.issue);
  EXPECT_EQ(issues, (std::vector<std::uint64_t>{0, 1, 2, 4, 8, 12}));
  EXPECT_EQ(timing.events[4].wait, Wait::unit);
}

TEST(Simulate, SubcoresAreIndependentAndWarpsOfOneShareItsUnit) {
  const auto program =
      chain_program(hopper(), find_instruction("mma.m16n8k16.f32.f16.f16.f32").value(), 6, kSweepLoop);
  Launch launch;
  const auto cycles = [&](int warps) {
    launch.warps = warps;
    return simulate(hopper(), *program, launch).cycles_per_step;
  };
  EXPECT_EQ(cycles(1), cycles(4));
  EXPECT_NEAR(cycles(8) / 72, 1, 0.02);  // twelve of six cycles in one sub-core
  EXPECT_NEAR(cycles(16), 2 * cycles(8), 1);
}

TEST(Simulate, TheSameInEveryRun) {
  const auto program =
      chain_program(hopper(), find_instruction("mma.m16n8k8.f32.f16.f16.f32").value(), 3, kSweepLoop);
  Launch launch;
  launch.warps = 12;
  launch.recorded = 500;
  const Timing x = simulate(hopper(), *program, launch), y = simulate(hopper(), *program, launch);
  EXPECT_EQ(x.cycles, y.cycles);
  ASSERT_EQ(x.events.size(), 500U);
  EXPECT_EQ(drawing_text(*program, x), drawing_text(*program, y));
}

TEST(Simulate, RefusesWhatCannotRun) {
  Program program;
  EXPECT_THROW(simulate(hopper(), program, {}), InputError);
  TimedOp op;
  op.flow = Flow::jump;
  op.target = 7;
  program.add(op, "BRA");
  EXPECT_THROW(simulate(hopper(), program, {}), InputError);
  Program waits;
  TimedOp load = multiply(8, 0);
  load.unit = Unit::shared;
  load.wait_mask = 1;
  load.write_barrier = 0;
  waits.add(load, "LDS");
  Launch launch;
  launch.warps = 65;
  EXPECT_THROW(simulate(hopper(), waits, launch), InputError);
}

TEST(Machines, EachNumberHasASourceAndEachMachineAName) {
  EXPECT_EQ(machines().size(), 7U);
  for (const Machine& machine : machines()) {
    EXPECT_FALSE(machine.numbers.empty());
    EXPECT_EQ(find_machine(machine.name), &machine);
    for (const std::string_view alias : machine.aliases) EXPECT_EQ(find_machine(alias), &machine) << alias;
    for (const Number& number : machine.numbers) EXPECT_GE(number.source.size(), 4U) << machine.name;
  }
  EXPECT_EQ(find_machine("H200"), find_machine("sm_90a"));
  // By the names of its generation; other GPUs of that are not this machine.
  constexpr std::pair<std::string_view, std::string_view> kGenerations[] = {
      {"volta", "v100"},   {"sm_70", "v100"},  {"Turing", "tu102"}, {"sm_75", "tu102"},
      {"ampere", "ga100"}, {"sm_80", "ga100"}, {"ga10x", "ga104"},  {"sm_86", "ga104"},
      {"ada", "ad102"},    {"sm_89", "ad102"}, {"sm_90", "hopper"}, {"sm_90a", "hopper"}};
  for (const auto& [generation, name] : kGenerations) {
    ASSERT_NE(find_machine(generation), nullptr) << generation;
    EXPECT_EQ(find_machine(generation)->name, name) << generation;
  }
  for (const char* other : {"pascal", "sm_72", "sm_87", "t4", "h20", "sm_100"})
    EXPECT_EQ(find_machine(other), nullptr) << other;
  EXPECT_LT((*find_machine("h100"))[Parameter::dram_bytes], (*find_machine("h200"))[Parameter::dram_bytes]);
  EXPECT_EQ((*find_machine("h100"))[Parameter::l2_bytes], (*find_machine("h200"))[Parameter::l2_bytes]);
}

TEST(Drawing, ShowsWhoWaitsForWhat) {
  Program program;
  for (int i = 0; i < 5; ++i) program.add(multiply(8 * i, 100), "HMMA <" + std::to_string(i) + ">");
  const Timing timing = once(program, Dependences::control_words);
  const std::string text = drawing_text(program, timing);
  EXPECT_NE(text.find("a busy unit"), std::string::npos) << text;
  EXPECT_NE(text.find("I===----------------"), std::string::npos) << text;
  EXPECT_NE(drawing_svg(program, timing).find("HMMA &lt;4&gt;"), std::string::npos);
}

TEST(Simulate, AProgramStaysInsideItsRegistersAndItself) {
  const auto refused = [](const TimedOp& op) -> std::string {
    Program program;
    program.add(op, "it");
    try {
      once(program, Dependences::scoreboard);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string registers = "program: found a register beyond R255, allowed: R0 to R255",
                    branch = "program: found a branch that leaves the loop, allowed: one inside it";
  EXPECT_EQ(refused(multiply(252, 0)), "");
  EXPECT_EQ(refused(multiply(253, 0)), registers);
  EXPECT_EQ(refused(multiply(0, 252)), "");
  EXPECT_EQ(refused(multiply(0, 253)), registers);
  for (const Flow flow : {Flow::loop, Flow::jump, Flow::call})
    for (const int target : {-1, 1}) {
      TimedOp op;
      op.flow = flow, op.target = target;
      EXPECT_EQ(refused(op), branch) << static_cast<int>(flow);
    }
}

TEST(Simulate, IssueSlotsAreNoUnit) {
  Timing timing;
  timing.busy[static_cast<std::size_t>(Unit::none)] = timing.issue_busy = 0.95;
  timing.busy[static_cast<std::size_t>(Unit::fma)] = 0.5;
  EXPECT_EQ(timing.bound(), "issue slots, 95% busy");
}

TEST(Simulate, MemoryThatWasIdleIsNotFasterLater) {
  TimedOp load;
  load.unit = Unit::global, load.bytes = 128, load.latency = 30;
  load.destination = {16, 1}, load.sources[0] = {8, 1};
  Program program;
  program.add(multiply(8, 0, 1000), "slow");
  program.add(load, "load");
  program.add(multiply(32, 16), "reader");
  EXPECT_GE(once(program, Dependences::scoreboard).events.at(2).issue, 1000U + 30);
}

}  // namespace
}  // namespace mmaudit::timing
