#pragma once
// The mistake that the gate is there for, kept as a kernel.
#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps::test {

/// What: FP8 mma with the same A and B at every step, of which ptxas computes the product once per turn of
/// the loop. Named as the instruction, with "+hoisted" behind it.
Benchmark hoisted_fp8();

}  // namespace mmaudit::sweeps::test
