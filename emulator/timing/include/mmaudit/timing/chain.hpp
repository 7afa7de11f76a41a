#pragma once
// Programs written by hand: the loops that the papers time. A chain is a row of instructions each of which
// adds to the result of the one before; `ilp` chains run side by side in a warp.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"

namespace mmaudit::timing {

/// How a trip of the loop around the chains is compiled.
struct Trip {
  int unroll = 4;  ///< steps per trip
  /// Cycles from the last instruction to the first of the next trip; -1: what the compiler needs to have
  /// every result there; -2: the machine's counter, comparison and branch.
  int tail = -2;
};
/// A loop that chains are timed in, by the name that `--loop` takes.
struct Loop {
  std::string_view name, text;
  Trip chains, one_chain, loads;  ///< of instructions that compute: two chains or more, one; of loads
};
/// nvcc unrolls the loops of Sun et al. four times and counts at the end. Source: their repository's
/// ubench/mma, compiled.
inline constexpr Loop kPaperLoop = {
    "paper", "4 steps per trip, then a counter and a branch", {4, -2}, {4, -2}, {4, -2}};
/// The sweeps' own kernels (device/sweeps/engine/timed.cuh): results are waited for at the end of a trip. A
/// load of the last chain is six cycles from the next trip. Source: tests/data/h200_sweep_loops.sass.
inline constexpr Loop kSweepLoop = {
    "sweep",
    "4 steps per trip (one chain 16, loads 8), then every result is waited for",
    {4, -1},
    {16, -1},
    {8, 6}};
/// 1024 instructions in a row (Luo et al., section 6.2).
inline constexpr Loop kStraight = {
    "straight", "64 steps in a row, no end of a trip", {64, 0}, {64, 0}, {64, 0}};
/// Once: what one instruction takes by itself.
inline constexpr Loop kAlone = {"alone", "one step", {1, 0}, {1, 0}, {1, 0}};
/// Those that `--loop` takes.
std::span<const Loop> loops();
/// The one that `mmaudit time` takes for a machine unless told: its row "loop".
const Loop& default_loop(const Machine& machine);
/// Trips of a program that are timed: 1024 steps, as the papers time 999 to 1024 of them.
int trips_of(const Program& program);

/// What ptxas 13.0 makes of a wmma: so many mma beside one another, so many that add to the D of the one
/// before.
struct MmaParts {
  Instruction part;
  int side_by_side = 1, in_a_row = 1;
};
/// Range: a wmma that the GPU computes natively; any other instruction is its own part.
MmaParts parts_of(const Architecture& architecture, const Instruction& instruction);

/// What: `ilp` chains of one matrix instruction in each warp, with the control words a compiler would write.
/// wgmma: one instruction per trip and warpgroup, four warps each; ilp is not used. Range: ilp 1 to 16.
/// Errors: nullopt where the machine has no unit for the instruction, or its architecture no datapath;
/// InputError where it has one and no number says how long it takes.
std::optional<Program> chain_program(const Machine& machine, const Instruction& instruction, int ilp,
                                     const Loop& loop, bool a_from_registers = false);

/// What: cycles from a reading of the clock to one behind each HMMA or IMMA of a wmma.mma; the last waits
/// for its result. Errors: empty where the machine has no clock.cost. Source: Raihan et al., Table I.
std::vector<double> set_clocks(const Machine& machine, const Instruction& wmma);

/// An access to shared memory as the papers time it.
struct SharedAccess {
  std::string name;  ///< "ldmatrix.x4", "ld.shared.u32"
  int wavefronts = 1, registers = 1;
  bool is_matrix = false;
  double bytes = 128;  ///< of a warp
};

/// What: ldmatrix.x1, .x2, .x4 (also .trans) and ld.shared.u32, .u64, .v4.u32 with `ways` lanes per bank.
/// Errors: nullopt for another name, or where a load is wider than `ways` lets it be (ld.shared.u64 takes two
/// ways at least).
std::optional<SharedAccess> shared_access(std::string_view name, int ways);

/// What: `ilp` chains of loads in each warp, each of which loads the address of the next.
Program load_program(const Machine& machine, const SharedAccess& access, int ilp, const Loop& loop);

}  // namespace mmaudit::timing
