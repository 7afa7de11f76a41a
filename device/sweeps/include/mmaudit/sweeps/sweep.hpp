#pragma once
// The engine: benchmarks times axes on a machine.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/sass.hpp"

namespace mmaudit::sweeps {

struct SweepOptions {
  std::vector<Benchmark> benchmarks;
  std::vector<Axis> axes;
  RunRule rule;
  SassBySymbol code = {};  ///< of the timed kernels; a point whose code is not what it says is refused
};

/// The symbols of the kernels that a sweep times, as TimedKernel has them.
std::set<std::string> symbols_of(const SweepOptions& options);

struct SweepHooks {
  /// Asked before each point; false stops the sweep.
  std::function<bool()> keep_going = [] { return true; };
  /// Called before each benchmark.
  std::function<void(const std::string& name, std::size_t done, std::size_t total)> progress = [](auto&&...) {
  };
  /// Called after each benchmark.
  std::function<void()> save = [] {};
};

/// What: measures every point that `result` does not have yet and appends it; one multiprocessor first, then
/// all of them at the best warps and ilp of every other coordinate. Errors: EnvironmentError when the machine
/// fails; what was measured stays in `result`. Sets result.interrupted when told to stop.
void run_sweep(Rig& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result);

/// What: `point` with everything that follows from its samples. A rate above what the GPU (or with `code` its
/// instructions) can do refuses the point.
Point measured_point(const Benchmark& benchmark, Point point, const Measurement& measured,
                     const Provenance& gpu, const SassKernel* code = nullptr);

/// What: refuses the measured points whose code (of the program that measured them) is not what they say, and
/// marks the others as read; returns how many points' code was found. A point whose code was not found stays,
/// not marked as read. For a sweep of a machine without cuobjdump.
int apply_gate(SweepResult& result, const SassBySymbol& code);

/// Marks the points of one multiprocessor whose rate is below the best of fewer warps and chains by more than
/// noise (1% at least).
void mark_falls(std::vector<Point>& points);

/// The point of one multiprocessor with the highest rate among those that agree with `like` in everything but
/// warps and ilp; of equals (within 0.5%) the first. Null when none was measured.
const Point* best_of(const SweepResult& result, const Point& like);

}  // namespace mmaudit::sweeps
