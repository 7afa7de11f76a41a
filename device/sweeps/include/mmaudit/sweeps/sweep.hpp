#pragma once
// The engine: benchmarks times axes on a machine.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps {

struct SweepOptions {
  std::vector<Benchmark> benchmarks;
  std::vector<Axis> axes;
  RunRule rule;
};

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
void run_sweep(Machine& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result);

/// `point` with everything that follows from its samples.
Point measured_point(const Benchmark& benchmark, Point point, const Measurement& measured,
                     const Provenance& gpu);

/// The point of one multiprocessor with the highest rate among those that agree with `like` in everything but
/// warps and ilp; of equals (within 0.5%) the first. Null when none was measured.
const Point* best_of(const SweepResult& result, const Point& like);

}  // namespace mmaudit::sweeps
