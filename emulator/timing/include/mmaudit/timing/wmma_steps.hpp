#pragma once
// wmma.mma taken apart, as Raihan et al. (ISPASS 2019) measured it: Volta's sets and steps. Turing's sets:
// chain.hpp.
#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"
#include "mmaudit/volta.hpp"

namespace mmaudit::timing {

/// What: wmma.mma.m16n16k16 of binary16 on Volta as its HMMA.884, in the order of issue, `trips` times one
/// after the other in a chain. Range: sum is f32 (16 HMMA) or f16 (8). Source: figures 9 and 10.
Program volta_program(const Machine& machine, Format sum);

}  // namespace mmaudit::timing
