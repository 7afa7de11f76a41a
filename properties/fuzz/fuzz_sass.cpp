// Text as the disassembly of a kernel: read, its loop found, and timed on every machine.
#include <cmath>
#include <stdexcept>

#include "mmaudit/timing/sass.hpp"
#include "mmaudit/timing/simulate.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  constexpr std::size_t kMostOps = 200;  // more only takes time
  try {
    const auto functions = sass::read(bytes.text());
    if (functions.empty()) fail("a disassembly without a function");
    const auto machines = timing::machines();
    const timing::Machine& machine = machines[bytes.rest().size() % machines.size()];
    const timing::Program program = timing::program_of(machine, functions.front());
    if (program.ops.empty()) fail("a loop without instructions");
    for (const std::string& note : program.notes) check_one_line(note);
    if (program.ops.size() > kMostOps) return;
    const timing::Timing result = timing::simulate(machine, program, {.warps = 4, .trips = 4});
    if (!std::isfinite(result.cycles_per_trip) || result.cycles_per_trip < 0)
      fail("a loop that takes no finite time");
  } catch (const std::runtime_error& refusal) {  // InputError, or a loop that never ends
    check_one_line(refusal.what());
  }
}
