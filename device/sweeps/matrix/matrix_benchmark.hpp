#pragma once
// What all benchmarks of matrix instructions have in common.
#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps {

inline constexpr int kWarpgroupWarps = 4;

/// What: a benchmark of one instruction: D of one step is C of the next. Its name, work, ceiling, opcodes,
/// refusals and setup are filled in; axes, kernel and the rest are the caller's. The axes "n" (columns) and
/// "a" (where A comes from: "shared" or "registers") are understood where they are.
Benchmark matrix_benchmark(const Instruction& instruction);

/// `instruction` with the n of the point, where it has one.
Instruction instruction_at(Instruction instruction, const Point& point);

/// Operands on the GPU, and the check of D against the model's chain. `promote`: see Workbench. `a_rotates`:
/// step i of the slot that begins at tile t takes A of tile (t + i) % kRotation, all else of tile t.
Setup matrix_setup(const Instruction& instruction, const Point& point, Workbench* bench,
                   bool a_rotates = false);

/// FMA per clock per multiprocessor at most; 0 where no document says. Sparse instructions count k in full.
double peak_fma(int compute_capability, const Instruction& instruction);

}  // namespace mmaudit::sweeps
