#pragma once
// wmma.mma taken apart, as Raihan et al. (ISPASS 2019) measured it: Volta's sets and steps, Turing's sets.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"
#include "mmaudit/volta.hpp"

namespace mmaudit::timing {

/// What: wmma.mma.m16n16k16 of binary16 on Volta as its HMMA.884, in the order of issue, `trips` times one
/// after the other in a chain. Range: sum is f32 (16 HMMA) or f16 (8). Source: figures 9 and 10.
Program volta_program(const Machine& machine, Format sum);

/// What: cycles from the first HMMA's issue to the result of each, by a scoreboard. The last is figure 9's.
std::vector<int> volta_clocks(const Machine& machine, Format sum);

/// What one HMMA of Volta reads and multiplies. Source: section IV of the paper.
struct StepCost {
  double operand_bits_per_cycle = 0;   ///< of one tensor core; a warp uses two
  double multiply_adds_per_cycle = 0;  ///< of one tensor core: 64 is one 4 x 4 x 4
  double dot_products_per_cycle = 0;   ///< of four elements, one tensor core
};
StepCost step_cost(const Machine& machine, Format sum);

/// What: cycles to the end of each set (HMMA or IMMA) of a wmma.mma on Turing. Range: m16n16k16, m32n8k16 and
/// m8n32k16 with A f16 or s8, m8n8k32 with s4 (one set). Errors: empty for others. Source: table I; how many
/// of its numbers are fitted stands in docs/results/timing.md.
std::vector<double> turing_set_clocks(const Instruction& wmma);

/// How a lane fetches its fragment: loads of this many bits, and how far apart they start.
struct FragmentLoads {
  int loads = 0, bits = 0;
  int stride = 0;   ///< elements between two loads of a lane; 0: side by side
  int sectors = 0;  ///< of 32 bytes that the warp touches, each load counted by itself
};
/// What: the loads of a whole wmma.load on Volta from a 16 x 16 matrix with that leading dimension. `operand`
/// is 'a' or 'b'. Source: section III-B; figure 7.
FragmentLoads volta_loads(char operand, volta::Layout layout, int leading_dimension = 16);

}  // namespace mmaudit::timing
