#pragma once
// The engine: subjects times axes on a machine.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/sweeps/machine.hpp"

namespace mmaudit::sweeps {

struct SweepOptions {
  std::vector<Subject> subjects;
  std::vector<Axis> axes;
  RunRule rule;
};

/// Called after every subject (and before the first) so that a caller can save and show; returns false to
/// stop. `within`: also asked between points, when it should be quick.
struct SweepHooks {
  std::function<bool()> keep_going = [] { return true; };
  std::function<void(const std::string& subject, std::size_t done, std::size_t total)> progress =
      [](auto&&...) {};
  std::function<void()> save = [] {};
};

/// What: measures every point that `result` does not have yet and appends it; per multiprocessor first, then
/// all of them at the best warps and ilp of every other coordinate. Errors: EnvironmentError when the machine
/// fails; what was measured stays in `result`. Sets result.interrupted when told to stop.
void run_sweep(Machine& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result);

/// A measured cell as a state, with everything that follows from the samples.
State state_of(const Cell& cell, const Measurement& measured, const DeviceFacts& device);

/// The point with the highest rate per cycle among those that agree with `like` in everything but warps and
/// ilp; of equals (within 0.5%) the first. Null when none was measured.
const State* best_of(const SweepResult& result, const Cell& like);

/// Multiply-adds a cycle a multiprocessor at most; 0 when no document says. By compute capability and type of
/// A. `dense` only; a sparse instruction has twice that.
struct PeakRow {
  int compute_capability;
  Format format;
  double fma;
  std::string_view source;
};
double peak_fma(int compute_capability, const Instruction& instruction);
/// Of loads: bytes a cycle a multiprocessor, 32 banks of 4 bytes.
inline constexpr double kPeakBytes = 128;

}  // namespace mmaudit::sweeps
