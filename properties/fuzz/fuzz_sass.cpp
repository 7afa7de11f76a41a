// Text as the disassembly of a kernel: read, its loop found, and timed on every machine.
#include <cmath>
#include <stdexcept>

#include "mmaudit/timing/sass.hpp"
#include "mmaudit/timing/simulate.hpp"
#include "support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mmaudit;
  constexpr std::size_t kMostOps = 200;  // more only takes time
  try {
    const auto functions = sass::read(fuzz::Bytes(data, size).text());
    if (functions.empty()) fuzz::fail("a disassembly without a function");
    const auto machines = timing::machines();
    const timing::Machine& machine = machines[size % machines.size()];
    const timing::Program program = timing::program_of(machine, functions.front());
    if (program.ops.empty()) fuzz::fail("a loop without instructions");
    for (const std::string& note : program.notes) fuzz::check_one_line(note);
    if (program.ops.size() > kMostOps) return 0;
    const timing::Timing result = timing::simulate(machine, program, {.warps = 4, .trips = 4});
    if (!std::isfinite(result.cycles_per_trip) || result.cycles_per_trip < 0)
      fuzz::fail("a loop that takes no finite time");
  } catch (const std::runtime_error& refusal) {  // InputError, or a loop that never ends
    fuzz::check_one_line(refusal.what());
  }
  return 0;
}
