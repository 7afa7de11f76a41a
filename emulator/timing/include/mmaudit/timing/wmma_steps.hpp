#pragma once
// wmma.mma taken apart, as Raihan et al. (ISPASS 2019) measured it: Volta's sets and steps, Turing's sets.
#include <vector>

#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"
#include "mmaudit/volta.hpp"

namespace mmaudit::timing {

/// What: wmma.mma.m16n16k16 of binary16 on Volta as its HMMA.884, in the order of issue, `trips` times one
/// after the other in a chain. Range: sum is f32 (16 HMMA) or f16 (8). Source: figures 9 and 10.
Program volta_program(const Machine& machine, Format sum);

/// What: cycles to the end of each set (HMMA or IMMA) of a wmma.mma on Turing. Range: m16n16k16, m32n8k16 and
/// m8n32k16 with A f16 or s8, m8n8k32 with s4 (one set). Errors: empty for others. Source: table I; how many
/// of its numbers are fitted stands in docs/results/timing.md.
std::vector<double> turing_set_clocks(const Instruction& wmma);

}  // namespace mmaudit::timing
