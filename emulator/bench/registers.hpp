#pragma once
// The steps of the vector code with every operand in a register: what their operations take where none waits
// for memory or for another one.
#include "../src/fast/level.hpp"

namespace mmaudit::fast {

/// Steps of `count` products each, `per_instruction` of them in an instruction without scales or metadata.
/// Returns the multiply-adds of them all.
using InRegisters = double (*)(const Rules& rules, int count, int per_instruction, int steps);
double in_registers_avx2(const Rules& rules, int count, int per_instruction, int steps);
double in_registers_avx512(const Rules& rules, int count, int per_instruction, int steps);

}  // namespace mmaudit::fast
