#include "mmaudit/timing/kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "first_level.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/timing/measured.hpp"
#include "second_level.hpp"

namespace mmaudit::timing {
namespace {

const Machine& hopper() { return *find_machine("hopper"); }

/// A kernel from instructions whose control words wait one cycle, or are given: "007f1 ...".
sass::Function kernel_of(const std::string& lines) {
  return sass::read_listing("kernel k\n" + lines, "sm_90a").front();
}

Grid grid_of(int threads, std::uint64_t pointer = std::uint64_t{1} << 32) {
  Grid grid;
  grid.threads = threads;
  for (int i = 0; i < 8; ++i) grid.parameters.push_back(static_cast<std::uint8_t>(pointer >> (8 * i)));
  return grid;
}

TEST(Walk, CountsTheTripsOfALoopAndWhatItReads) {
  const sass::Function function = kernel_of(
      "0007f1 S2R R0, SR_TID.X\n"
      "0007f1 ULDC.64 UR4, c[0x0][0x210]\n"
      "0007f1 IMAD.MOV.U32 R1, RZ, RZ, RZ\n"
      "0007f1 IMAD.SHL.U32 R2, R0, 0x4, RZ\n"
      "0007f1 IADD3 R4, P0, R2, UR4, RZ\n"
      "0007f1 IADD3.X R5, RZ, UR5, RZ, P0, !PT\n"
      "0007f1 LDG.E R6, desc[UR8][R4.64+0x40]\n"  // at 0x60: the loop
      "0007f1 VIADD R1, R1, 0x1\n"
      "0007f1 ISETP.GE.AND P1, PT, R1, 0xa, PT\n"
      "0007f1 @!P1 BRA 0x60\n"
      "0007f1 EXIT\n");
  const WalkedBlock block = walk(function, grid_of(64, (std::uint64_t{1} << 32) - 0x80), 0, 0, 100);
  EXPECT_EQ(block.trips, 10);
  EXPECT_EQ(block.instructions, 2U * (6 + 10 * 4 + 1));
  ASSERT_EQ(block.accesses.size(), 20U);
  // Warp 1 starts 128 bytes on, which carries into the upper word.
  EXPECT_EQ(block.accesses.back().sectors.front() * 32, (std::uint64_t{1} << 32) + 0x40);
  EXPECT_EQ(block.accesses.back().sectors.size(), 4U);
  EXPECT_EQ(block.accesses.back().lines, 2);
  // The middle of the loop can be left out.
  EXPECT_EQ(walk(function, grid_of(32), 0, 0, 8).warps[0].steps.size(), 6U + 8 * 4 + 1);
}

TEST(Walk, CountsBankConflicts) {
  const auto wavefronts = [](const std::string& shift, const std::string& load) {
    return walk(kernel_of("0007f1 S2R R0, SR_TID.X\n0007f1 IMAD.SHL.U32 R0, R0, " + shift + ", RZ\n0007f1 " +
                          load + "\n0007f1 EXIT\n"),
                grid_of(32), 0, 0, 8)
        .accesses.at(0)
        .wavefronts;
  };
  EXPECT_EQ(wavefronts("0x4", "LDS R4, [R0]"), 1);
  EXPECT_EQ(wavefronts("0x8", "LDS R4, [R0]"), 2);
  EXPECT_EQ(wavefronts("0x80", "LDS R4, [R0]"), 32);
  EXPECT_EQ(wavefronts("0x0", "LDS R4, [R0]"), 1);  // one word for all
  EXPECT_EQ(wavefronts("0x10", "LDS.128 R4, [R0]"), 4);
  EXPECT_EQ(wavefronts("0x10", "LDSM.16.M88.4 R4, [R0]"), 4);
  EXPECT_EQ(wavefronts("0x80", "LDSM.16.M88.4 R4, [R0]"), 32);
}

TEST(Walk, RefusesWhatDependsOnLoadedValues) {
  const auto refused = [](const std::string& lines) {
    try {
      walk(kernel_of(lines), grid_of(32), 0, 0, 8);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("0007f1 LDS R0, [RZ]\n0007f1 LDS R1, [R0]\n0007f1 EXIT\n").find("line 3"),
            std::string::npos);
  EXPECT_NE(
      refused(
          "0007f1 LDS R0, [RZ]\n0007f1 ISETP.GE.AND P0, PT, R0, 0x1, PT\n0007f1 @P0 BRA 0x0\n0007f1 EXIT\n")
          .find("a branch that depends on no loaded value"),
      std::string::npos);
  EXPECT_NE(refused("0007f1 S2R R0, SR_TID.X\n0007f1 ISETP.GE.AND P0, PT, R0, 0x1, PT\n0007f1 @P0 BRA "
                    "0x0\n0007f1 EXIT\n")
                .find("all threads of a warp"),
            std::string::npos);
}

KernelTiming timed(const std::string& lines, int threads, const Machine& machine = hopper(), int blocks = 1,
                   int resident = 1) {
  const sass::Function function = kernel_of(lines);
  GridLaunch launch;
  launch.blocks = blocks;
  launch.resident = resident;
  launch.operands[1].row = 4096;
  return simulate_kernel(machine, function, walk(function, grid_of(threads), 0, 0, 1 << 20), launch);
}

Machine with(Parameter parameter, double value) {
  Machine machine = hopper();
  machine.overridden[static_cast<std::size_t>(parameter)] = value;
  machine.is_overridden[static_cast<std::size_t>(parameter)] = true;
  return machine;
}

// A load releases barrier 0 (bits 5 to 7 of the control word), and the next instruction waits for it.
const std::string kLoad = "000711 LDG.E R4, desc[UR8][R2.64]\n";
const std::string kAddress = "0007f1 ULDC.64 UR4, c[0x0][0x210]\n0007f1 MOV R2, UR4\n0007f1 MOV R3, UR5\n";

TEST(Hazards, AReadOfALoadedRegisterWaitsForMemory) {
  const std::string waits = "000ff1 VIADD R5, R4, 0x1\n";
  const double with_wait = timed(kAddress + kLoad + waits + "0007f1 EXIT\n", 32).cycles,
               without = timed(kAddress + kLoad + "0007f1 VIADD R5, R5, 0x1\n0007f1 EXIT\n", 32).cycles;
  EXPECT_GT(with_wait - without, 200);
}

// Twelve stores of 32 wavefronts. With a queue of 8 the ninth waits until the first has left; with one of 16
// none waits, and the warp is done as soon as it has issued them.
TEST(Hazards, AFullQueueHoldsUpTheWarp) {
  std::string lines = "0007f1 S2R R0, SR_TID.X\n0007f1 IMAD.SHL.U32 R0, R0, 0x80, RZ\n";
  for (int i = 0; i < 12; ++i) lines += "0007f1 STS [R0], R4\n";
  lines += "0007f1 EXIT\n";
  const KernelTiming few = timed(lines, 32, with(Parameter::shared_queue, 8)),
                     many = timed(lines, 32, with(Parameter::shared_queue, 16));
  EXPECT_LT(many.cycles, 60);
  // The twelfth goes in when the fourth is out: four times 32 wavefronts of two cycles.
  EXPECT_NEAR(few.cycles - many.cycles, 4 * 32 * 2, 30);
  EXPECT_GT(few.detail.waits[static_cast<std::size_t>(Wait::queue)], 200);
  EXPECT_EQ(many.detail.waits[static_cast<std::size_t>(Wait::queue)], 0);
}

// Twenty stores of four sectors of 32 bytes: the load behind them waits until the port has taken them all,
// which lasts longer than the pipe takes to send them.
TEST(Hazards, ALoadWaitsForTheStoresBeforeIt) {
  std::string lines = kAddress + "0007f1 S2R R0, SR_TID.X\n0007f1 IMAD.SHL.U32 R0, R0, 0x4, RZ\n" +
                      "0007f1 IADD3 R2, R2, R0, RZ\n";
  for (int i = 0; i < 20; ++i) lines += "0007f1 STG.E desc[UR8][R2.64], R4\n";
  lines += kLoad + "000ff1 VIADD R5, R4, 0x1\n0007f1 EXIT\n";
  const double slow = timed(lines, 32, with(Parameter::store_bytes, 1)).cycles,
               fast = timed(lines, 32, with(Parameter::store_bytes, 2)).cycles;
  EXPECT_NEAR(slow - fast, 20 * 4 * (32.0 / 1 - 32.0 / 2), 4);
}

// Warp 0 skips a load before the barrier and does one behind it; warp 1 does the first alone.
TEST(Hazards, ABarrierWaitsForTheSlowestWarp) {
  const std::string wait = "000ff1 VIADD R5, R4, 0x1\n",
                    elsewhere = "000711 LDG.E R4, desc[UR8][R2.64+0x1000]\n",
                    lines = "0007f1 S2R R0, SR_TID.X\n0007f1 ISETP.GE.AND P0, PT, R0, 0x20, PT\n" + kAddress +
                            "0007f1 @!P0 BRA 0x80\n" + kLoad + wait +
                            "0007f1 BAR.SYNC 0x0\n0007f1 @P0 EXIT\n" + elsewhere + wait + "0007f1 EXIT\n";
  const double alone = timed(lines, 32).cycles, both = timed(lines, 64).cycles;
  EXPECT_GT(alone, 250);
  EXPECT_GT(both - alone, 250);
}

TEST(Hazards, CopiesAreThereWhenTheirGroupIsWaitedFor) {
  // Commit releases barrier 0; DEPBAR.LE SB0, 1 lets the last group be under way, 0 none.
  const std::string copy = "0007f1 LDGSTS.E.BYPASS.128 [R6], desc[UR8][R2.64]\n000711 LDGDEPBAR\n";
  const auto cycles = [&](const std::string& wait) {
    return timed(kAddress + copy + wait + "0007f1 EXIT\n", 32).cycles;
  };
  EXPECT_LT(cycles("0007f1 DEPBAR.LE SB0, 0x1\n"), 60);
  EXPECT_GT(cycles("0007f1 DEPBAR.LE SB0, 0x0\n"), 250);
}

TEST(Blocks, FollowEachOtherInTheirPlaces) {
  const std::string lines = kAddress + kLoad + "000ff1 VIADD R5, R4, 0x1\n0007f1 EXIT\n";
  const double one = timed(lines, 32).cycles, two = timed(lines, 32, hopper(), 2).cycles,
               beside = timed(lines, 32, hopper(), 2, 2).cycles;
  EXPECT_NEAR(two, 2 * one + hopper()[Parameter::block_launch], 5);
  EXPECT_NEAR(beside, one + hopper()[Parameter::block_apart], 20);
}

TEST(Blocks, BeginWhenTheyAreLaunched) {
  const KernelTiming two = timed(kAddress + kLoad + "000ff1 VIADD R5, R4, 0x1\n0007f1 EXIT\n", 32,
                                 with(Parameter::block_launch, 700), 2);
  ASSERT_EQ(two.blocks.size(), 2U);
  EXPECT_EQ(two.blocks[1].begin - two.blocks[0].end, 700);
}

// The second block of a multiprocessor is 132 blocks on: in the first row of a grid of 133 columns, and at
// the begin of the second row of one of 132. L1 has its lines where that distance is 0.
TEST(Blocks, ReadOtherLinesInOtherColumnsAndRows) {
  const sass::Function function = kernel_of(kAddress + kLoad + "000ff1 VIADD R5, R4, 0x1\n0007f1 EXIT\n");
  const auto hits = [&function](int columns, const Buffer& buffer) {
    GridLaunch launch;
    launch.blocks = 2;
    launch.columns = columns;
    launch.operands[1] = buffer;
    return simulate_kernel(with(Parameter::kernel_multiprocessors, 132), function,
                           walk(function, grid_of(32), 0, 0, 8), launch)
        .l1_hits;
  };
  const Buffer by_column{4096, 0}, by_row{0, 4096};
  EXPECT_EQ(hits(133, by_column), 0);
  EXPECT_EQ(hits(133, by_row), 0.5);
  EXPECT_EQ(hits(132, by_column), 0.5);
  EXPECT_EQ(hits(132, by_row), 0);
}

// Sixty additions that each read three registers of one bank take three cycles each; two banks give two per
// cycle; what the instruction before keeps (bit 17 of the control word: its first operand) is not read again.
TEST(Registers, AreReadOnePerBankAndCycle) {
  const auto cycles = [](const std::string& line, const Machine& machine) {
    std::string lines;
    for (int i = 0; i < 60; ++i) lines += line;
    return timed(lines + "0007f1 EXIT\n", 32, machine).cycles;
  };
  const std::string one_bank = "0007f1 FFMA R8, R2, R4, R6\n", both = "0007f1 FFMA R8, R2, R3, R4\n",
                    kept = "0207f1 FFMA R8, R2.reuse, R3, R4\n";
  const double fast = cycles(kept, hopper());
  EXPECT_NEAR(cycles(one_bank, hopper()) - fast, 2 * 60, 4);
  EXPECT_NEAR(cycles(both, hopper()) - fast, 60, 4);
  EXPECT_NEAR(cycles(one_bank, with(Parameter::register_window, 0)), fast, 4);
}

// Both blocks want every cycle of the FMA unit. That which began first has it; the other waits.
TEST(Scheduler, TheBlockThatBeganFirstGoesFirst) {
  std::string lines;
  for (int i = 0; i < 400; ++i) lines += "0007f2 HFMA2 R8, R2, R3, R8\n";
  const KernelTiming both = timed(lines + "0007f1 EXIT\n", 128, hopper(), 2, 2),
                     alone = timed(lines + "0007f1 EXIT\n", 128);
  ASSERT_EQ(both.blocks.size(), 2U);
  EXPECT_EQ(both.blocks[0].number, 0U);
  EXPECT_NEAR(both.blocks[0].end, alone.cycles, 20);
  EXPECT_GT(both.blocks[1].end, 1.9 * alone.cycles);
}

// A register that is put aside stays in L1 until as many lines as fit have come after it.
TEST(LocalMemory, ComesFromL2WhereOtherLinesHaveTakenItsPlace) {
  const auto cycles = [](int loads) {
    std::string lines = kAddress + "0007f1 MOV R1, RZ\n0007f1 STL [R1+0x8], R2\n";
    for (int i = 0; i < loads; ++i) {
      char offset[16];
      std::snprintf(offset, sizeof offset, "0x%x", (i + 1) * 128);
      lines += "000711 LDG.E R6, desc[UR8][R2.64+" + std::string(offset) + "]\n";
    }
    const std::string wait = "000ff1 VIADD R7, R6, 0x1\n";
    return timed(lines + wait + "000711 LDL R6, [R1+0x8]\n" + wait + "0007f1 EXIT\n", 32).cycles -
           timed(lines + wait + "0007f1 EXIT\n", 32).cycles;
  };
  EXPECT_LT(cycles(4), 60);
  EXPECT_GT(cycles(200), 250);
}

// 300 lines, one after the other, where 32 fit: every lot waits until the one before is there.
TEST(FirstLevel, MissesWaitForALine) {
  std::string lines = kAddress;
  for (int i = 0; i < 300; ++i) {
    char offset[16];
    std::snprintf(offset, sizeof offset, "0x%x", i * 128);
    lines += "000711 LDG.E R6, desc[UR8][R2.64+" + std::string(offset) + "]\n";
  }
  const auto cycles = [&lines](double ways) {
    return timed(lines + "000ff1 VIADD R7, R6, 0x1\n0007f1 EXIT\n", 32, with(Parameter::l1_ways, ways))
        .cycles;
  };
  EXPECT_GT(cycles(8), 9 * hopper()[Parameter::l2_latency]);
  EXPECT_LT(cycles(100), 4 * hopper()[Parameter::l2_latency]);
}

/// The first lines of a set, by number.
std::vector<std::uint64_t> lines_of_set(int set, std::size_t count) {
  const auto parity = [](std::uint64_t line, Parameter hash) {
    return std::popcount(line * 128 & static_cast<std::uint64_t>(hopper()[hash])) % 2;
  };
  std::vector<std::uint64_t> lines;
  for (std::uint64_t line = 1; lines.size() < count; ++line)
    if (parity(line, Parameter::l1_hash_low) + 2 * parity(line, Parameter::l1_hash_high) == set)
      lines.push_back(line);
  return lines;
}

// docs/results/h100-loaded, same and other: 72% of lines are there after 20 misses of their set, 41% after
// 40, and misses of other sets throw nothing out.
TEST(FirstLevel, ThrowsLinesOutByChance) {
  const std::vector<std::uint64_t> lines = lines_of_set(2, 20000), others = lines_of_set(1, 300);
  const auto survivors = [&](std::size_t misses) {
    FirstLevel l1(hopper());
    double now = 1;
    const auto found = [&](std::uint64_t line) {
      double from = now += 1000;
      FirstLevel::Line& one = l1.line_of(line, line, from);
      const bool there = one.ready[0] != FirstLevel::kAbsent;
      one.ready[0] = from;
      return there;
    };
    int asked = 0, there = 0;
    for (std::size_t first = 0; first + misses < lines.size(); first += misses + 1, ++asked) {
      for (std::size_t i = 0; i <= misses; ++i) found(lines[first + i]);
      for (const std::uint64_t other : others) found(other);
      there += found(lines[first]) ? 1 : 0;
    }
    return static_cast<double>(there) / asked;
  };
  EXPECT_NEAR(survivors(20), 0.725, 0.05);
  EXPECT_NEAR(survivors(40), 0.409, 0.05);
  EXPECT_EQ(survivors(60), 0);
}

// docs/results/h100-loaded, way: 48 lines of a set are on their way at once.
TEST(FirstLevel, WaitsForALineOfItsSet) {
  const std::vector<std::uint64_t> lines = lines_of_set(1, 49);
  FirstLevel l1(hopper());
  for (std::size_t i = 0; i < 49; ++i) {
    double from = 10;
    l1.line_of(lines[i], lines[i], from).keep(300 + static_cast<double>(i));
    EXPECT_EQ(from, i < 48 ? 10 : 300);
  }
}

// Eight loads of 32 lines. Four lines are looked up per cycle and one read, so 24 cycles of the pipe are left
// when the data of a load come, and those of the last come behind the others.
TEST(Loads, AreDoneWhenTheirDataAreThroughThePipe) {
  const auto cycles = [](int loads) {
    std::string lines =
        "0007f1 S2R R0, SR_TID.X\n0007f1 ULDC.64 UR4, c[0x0][0x210]\n0007f1 IMAD.SHL.U32 R2, R0, 0x80, RZ\n"
        "0007f1 IADD3 R4, P0, R2, UR4, RZ\n0007f1 IADD3.X R5, RZ, UR5, RZ, P0, !PT\n";
    for (int i = 0; i < loads; ++i)
      lines += "000711 LDG.E R6, desc[UR8][R4.64+" + std::to_string(i * 4) + "]\n";
    return timed(lines + "000ff1 VIADD R7, R6, 0x1\n0007f1 EXIT\n", 32).cycles;
  };
  EXPECT_NEAR(cycles(8) - cycles(1), 7 * 24, 8);
}

// A load of one line that L1 has is looked up and read in the same cycle of the pipe: eight warps do one each
// cycle.
TEST(Loads, OfALineTakeOneCycleOfThePipe) {
  const auto cycles = [](int loads) {
    std::string lines = kAddress;
    for (int i = 0; i < loads; ++i) lines += kLoad;
    return timed(lines + "000ff1 VIADD R7, R4, 0x1\n0007f1 EXIT\n", 8 * 32).cycles;
  };
  EXPECT_NEAR(cycles(200) - cycles(100), 8 * 100, 4);
}

/// Two loads, the second `offset` bytes on, where L2 has nothing and memory was asked `since` cycles ago.
KernelTiming two_misses(const std::string& offset, float since) {
  const sass::Function function = kernel_of(
      kAddress + "000711 LDG.E R6, desc[UR8][R2.64]\n000ff1 VIADD R7, R6, 0x1\n" +
      "000711 LDG.E R6, desc[UR8][R2.64+" + offset + "]\n000ff1 VIADD R7, R6, 0x1\n" + "0007f1 EXIT\n");
  const TripMemory trips[] = {{{1, since}, {1, since}}};
  GridLaunch launch;
  launch.trips = trips;
  launch.pitch = 4096;
  launch.piece = 128;
  return simulate_kernel(hopper(), function, walk(function, grid_of(32), 0, 0, 8), launch);
}

// A miss brings 64 bytes: four lines are two accesses to memory each, and all of L2 is cold.
TEST(Memory, BringsTwoSectorsAtOnce) {
  const KernelTiming beside = two_misses("0x20", -1), next = two_misses("0x40", -1);
  EXPECT_NEAR(beside.dram_bytes * beside.cycles, 64, 1e-9);
  EXPECT_NEAR(next.dram_bytes * next.cycles, 128, 1e-9);
  EXPECT_NEAR(next.cycles - beside.cycles,
              hopper()[Parameter::dram_latency] - hopper()[Parameter::l2_latency], 40);
}

// One load of 32 lines, each from memory, which gives all multiprocessors 264 bytes per cycle. Half of them
// have twice as much each.
TEST(Memory, IsSharedByTheMultiprocessorsAtWork) {
  const sass::Function function = kernel_of(
      kAddress +
      "0007f1 S2R R0, SR_TID.X\n0007f1 IMAD.SHL.U32 R0, R0, 0x80, RZ\n0007f1 IADD3 R2, R2, R0, RZ\n" + kLoad +
      "000ff1 VIADD R5, R4, 0x1\n0007f1 EXIT\n");
  const auto cycles = [&function](int multiprocessors) {
    const TripMemory trips[] = {{{1, -1}, {1, -1}}};
    GridLaunch launch;
    launch.multiprocessors = multiprocessors;
    launch.trips = trips;
    launch.pitch = 4096;
    launch.piece = 128;
    return simulate_kernel(with(Parameter::dram_bytes, 264), function, walk(function, grid_of(32), 0, 0, 8),
                           launch)
        .cycles;
  };
  EXPECT_NEAR(cycles(132) - cycles(66), 32 * 64 / (264 / 132.0) / 2, 60);
}

// What another block has asked memory for is waited for, but brought once.
TEST(Memory, IsAskedOnceByBlocksInStep) {
  const KernelTiming first = two_misses("0x40", -1), later = two_misses("0x40", 200),
                     late = two_misses("0x40", 5000);
  EXPECT_EQ(later.dram_bytes, 0);
  EXPECT_NEAR(first.cycles - later.cycles, 2 * 200, 20);
  EXPECT_NEAR(first.cycles - late.cycles,
              2 * (hopper()[Parameter::dram_latency] - hopper()[Parameter::l2_latency]), 80);
}

// Two loads of four registers while 64 mma of four registers of D run: each takes 0.1 * 4 * 4 cycles of the
// unit.
TEST(Matrices, TakeTheTensorUnitWhenTheyArrive) {
  std::string lines = "0007f1 MOV R0, RZ\n";
  for (int i = 0; i < 64; ++i) {
    lines += "0007f1 HMMA.16816.F32 R" + std::to_string(16 + i % 8 * 4) + ", R4, R8, RZ\n";
    if (i == 20 || i == 40) lines += "0007f1 LDSM.16.M88.4 R12, [R0]\n";
  }
  const sass::Function function = kernel_of(lines + "0007f1 EXIT\n");
  const auto cycles = [&function](const Machine& machine) {
    return simulate_kernel(machine, function, walk(function, grid_of(32), 0, 0, 8), {}).cycles;
  };
  EXPECT_NEAR(cycles(hopper()) - cycles(with(Parameter::matrix_write, 0)), 2 * 1.6, 1);
}

TEST(SecondLevel, ForgetsWhatDoesNotFit) {
  CacheProblem problem;
  problem.columns = problem.rows = 8;
  problem.multiprocessors = 8;  // one row of tiles at once
  problem.steps = 10;
  problem.piece_bytes = 100;
  problem.capacity = 1000;
  problem.alone = problem.together = 1000;
  problem.hit_latency = 300;
  problem.miss_latency = 1000;
  problem.memory_bytes = 100;
  // Nine tiles are at work: the row's is shared by all, every column's is read anew.
  const CacheTrips small = cache_trips(problem);
  EXPECT_LT(small.a.missed, 0.5);
  EXPECT_GT(small.b.missed, 0.9);
  EXPECT_EQ(small.trips.size(), 640U);
  problem.capacity = 20000;
  const CacheTrips large = cache_trips(problem);
  EXPECT_EQ(large.b.missed, 0);
  EXPECT_TRUE(large.trips.empty());
}

// Which blocks ask in step: shares of the trips that no block, or another one a moment ago, has asked for the
// same piece. Measured: docs/results/h100-loaded, inside; the times of a trip are the model's.
TEST(SecondLevel, BlocksAreAsMuchInStepAsOnAnH100) {
  const auto shares = [](int n, int tile, int resident, int ahead, double alone, double together) {
    CacheProblem problem;
    problem.columns = problem.rows = n / tile;
    problem.multiprocessors = 132;
    problem.resident = resident;
    problem.steps = n / 64;
    problem.ahead = ahead;
    problem.piece_bytes = tile * 128;
    problem.result_bytes = tile * tile * 4;
    problem.capacity = 24 * 1024 * 1024;
    problem.alone = alone;
    problem.together = together;
    problem.launch = 550;
    problem.hit_latency = 303;
    problem.miss_latency = 1045;
    problem.memory_bytes = 2336;
    return cache_trips(problem);
  };
  const CacheTrips small = shares(3072, 64, 5, 0, 1034, 3338), large = shares(5120, 64, 5, 0, 1034, 3338),
                   stages = shares(5120, 128, 2, 2, 1290, 2395);
  EXPECT_NEAR(small.b.far, 0.091, 0.05);
  EXPECT_NEAR(small.a.near, 0.886, 0.06);
  EXPECT_NEAR(small.b.near, 0.201, 0.1);
  EXPECT_NEAR(large.b.far, 0.535, 0.12);
  EXPECT_NEAR(large.a.near, 0.699, 0.2);
  EXPECT_NEAR(large.b.near, 0.186, 0.08);
  EXPECT_NEAR(stages.b.far, 0.303, 0.05);
  EXPECT_NEAR(stages.a.near, 0.897, 0.1);
  EXPECT_NEAR(stages.b.near, 0.113, 0.06);
}

TEST(Products, AreRefusedWhereTheTileDoesNotFit) {
  const Product& product = products().front();
  const auto refused = [&](int m, int n, int k) {
    EXPECT_THROW(time_product(hopper(), function_of(product), product, {m, n, k}), InputError);
  };
  refused(product.tile + 1, product.tile, 128);
  refused(product.tile, 0, 128);
  refused(product.tile, product.tile, 16);
  EXPECT_THROW(time_product(*find_machine("ga100"), function_of(product), product, {128, 128, 128}),
               InputError);
  for (const Product& one : products()) EXPECT_FALSE(function_of(one).lines.empty()) << one.name;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

KernelScore score(const std::string& file, int least_kernels,
                  const std::function<bool(const MeasuredKernel&)>& wanted) {
  std::vector<ComparedKernel> compared;
  for (const MeasuredKernel& one : read_measured(text_of(std::string(MMAUDIT_H200_KERNELS) + "/" + file)))
    if (wanted(one)) compared.push_back(compare(hopper(), one));
  const KernelScore result = score_of(compared);
  std::printf(
      "%s: %d kernels, Pearson of cycles per multiply-add %.4f, ratio %.3f +- %.3f, mean absolute error "
      "%.3f\n",
      file.c_str(), result.kernels, result.pearson.value_or(0), result.mean, result.deviation, result.error);
  EXPECT_GE(result.kernels, least_kernels);
  return result;
}

// docs/results/timing.md has the scores of all sizes; here those that take a second.
TEST(H200, WholeKernelsTakeTheCyclesMeasured) {
  const KernelScore result = score("kernels.csv", 54, [](const auto& one) { return one.n <= 512; });
  EXPECT_GT(result.pearson.value(), 0.998);
  EXPECT_LT(result.deviation, 0.042);
  EXPECT_LT(result.error, 0.034);
}

// Rows that no number was chosen for, those that take a second.
TEST(H200, WholeKernelsHeldOutTakeTheCyclesMeasured) {
  const KernelScore result = score("heldout.csv", 108, [](const auto& one) { return one.n <= 768; });
  EXPECT_GT(result.pearson.value(), 0.998);
  EXPECT_LT(result.deviation, 0.043);
  EXPECT_LT(result.error, 0.042);
}

// Products that L2 does not hold.
TEST(H200, ProductsLargerThanL2TakeTheCyclesMeasured) {
  const KernelScore result = score("heldout.csv", 6, [](const MeasuredKernel& one) {
    return one.n == 3072 && (one.kernel == "mma64_permuted" || one.kernel == "wmma_shared128");
  });
  EXPECT_LT(result.deviation, 0.055);
  EXPECT_LT(result.error, 0.058);
}

ComparedKernel compared_of(const std::string& kernel, const std::string& type, double measured,
                           double model) {
  ComparedKernel one;
  one.measured = {kernel, type, 256, measured, 0, 0};
  one.model.cycles = model;
  one.model.instructions = 1000;
  return one;
}

TEST(Measured, ScoresFamiliesAndThoseThatNothingIsFittedTo) {
  const std::vector<ComparedKernel> all = {
      compared_of("mma64_stages", "f16_f32", 100, 110), compared_of("sgemm_ahead", "f32_f32", 100, 80),
      compared_of("mma128_large", "f16_f32", 200, 220), compared_of("sgemm", "f32_f32", 50, 40)};
  const std::vector<KernelGroup> groups = groups_of(all);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].name, "mma");
  EXPECT_EQ(groups[0].score.kernels, 2);
  EXPECT_NEAR(groups[0].score.error, 0.1, 1e-12);
  EXPECT_NEAR(groups[0].score.deviation, 0, 1e-12);
  EXPECT_NEAR(groups[0].score.pearson.value(), 1, 1e-12);
  EXPECT_EQ(groups[1].name, "sgemm");
  EXPECT_NEAR(groups[1].score.mean, 0.8, 1e-12);
  EXPECT_EQ(groups[2].score.kernels, 1);
  // One kernel has no correlation.
  EXPECT_FALSE(groups[2].score.pearson.has_value());
  EXPECT_EQ(family_of("wmma_shared128"), "wmma_shared");
  EXPECT_EQ(family_of("hgemm_ahead"), "hgemm");
}

TEST(Measured, WmmaIsScoredAloneAndEverySizeToo) {
  std::vector<ComparedKernel> all = {compared_of("wmma_global1", "f16_f32", 100, 110),
                                     compared_of("wmma_shared64", "f16_f32", 100, 90),
                                     compared_of("mma64", "f16_f32", 100, 150)};
  all[0].measured.n = 1024;
  const std::vector<KernelGroup> groups = groups_of(all), sizes = sizes_of(all);
  const auto wmma =
      std::find_if(groups.begin(), groups.end(), [](const auto& one) { return one.name == "all of WMMA"; });
  ASSERT_NE(wmma, groups.end());
  EXPECT_EQ(wmma->score.kernels, 2);
  EXPECT_NEAR(wmma->score.deviation, 0.1, 1e-12);
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[0].name, "256");  // by number, not as text
  EXPECT_EQ(sizes[1].name, "1024");
  EXPECT_NEAR(sizes[0].score.error, 0.3, 1e-12);
}

// Cycles per multiply-add: kernels that are twice as slow at every n correlate, whatever they execute.
TEST(Measured, PearsonIsOverCyclesPerMultiplyAdd) {
  std::vector<ComparedKernel> all = {compared_of("mma64", "f16_f32", 100, 200),
                                     compared_of("mma64", "f16_f32", 300, 600),
                                     compared_of("mma64", "f16_f32", 200, 400)};
  all[2].model.instructions = 5;
  EXPECT_NEAR(score_of(all).pearson.value(), 1, 1e-12);
}

TEST(Measured, RefusesWrongResultsAndRowsWithoutCycles) {
  const std::string row =
      "sgemm,f32_f32,256,4,2,4,21,59138,59071,59181,58810,58966,29856,0.000036544,1980162604,24,";
  EXPECT_EQ(read_measured("# H200\nkernel,type\n" + row + "0\ncublas,f16_f32,256\n").size(), 1U);
  EXPECT_THROW(read_measured(row + "1\n"), InputError);
  EXPECT_THROW(read_measured("sgemm,f32_f32,256\n"), InputError);
  EXPECT_THROW(read_measured(row + "x\n"), InputError);
  const auto with = [](const std::string& n, const std::string& cycles, const std::string& compared) {
    return "sgemm,f32_f32," + n + ",4,2,4,21," + cycles + ",1,1,1,1,1,1,1," + compared + ",0\n";
  };
  EXPECT_EQ(read_measured(with("256", "9000", "24")).size(), 1U);
  for (const std::string& wrong :
       {with("256", "nan", "24"), with("256", "inf", "24"), with("256", "0", "24"), with("256", "9000", "0"),
        with("1e300", "9000", "24"), with("0", "9000", "24")})
    EXPECT_THROW(read_measured(wrong), InputError) << wrong;
}

}  // namespace
}  // namespace mmaudit::timing
