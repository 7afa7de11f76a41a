#pragma once
// The disassembly of a kernel, or the loop of it, as a program for the timing model.
#include "mmaudit/sass/text.hpp"
#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"

namespace mmaudit::timing {

/// How to run a loop whose instructions alone do not say it.
struct SassOptions {
  int conflict_ways = 0;    ///< of each LDS; 0: as few as its width needs
  bool from_clock = false;  ///< also what stands between the reading of the clock and the loop, once
};

/// What: the loop of a function that holds most instructions of the tensor unit, else of shared memory, else
/// most instructions, of those between the last two readings of the clock where there are two; calls are
/// followed. Its branches: the last one is taken until the trips are over, forward ones with a predicate
/// are not taken, others are. `steps` is by how much the loop's counter moves. Errors: InputError,
/// in one clause, where there is no loop, or with the line of a matrix instruction of a shape that no GPU
/// has. `work` is 0, and a note says why, where the machine has no unit for a matrix instruction of the loop.
Program program_of(const Machine& machine, const sass::Function& function, const SassOptions& options = {});

/// What: every instruction of a function, one op per line, for a whole kernel (kernel.hpp). Errors: as above.
Program whole_program_of(const Machine& machine, const sass::Function& function);

}  // namespace mmaudit::timing
