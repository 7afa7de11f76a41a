#pragma once
// The seam between what is swept and what runs: a GPU, or in tests a formula.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

struct Benchmark;

/// One run.
struct Sample {
  double cycles = 0;  ///< per step
  double event_seconds = 0, timer_seconds = 0;
  double hz = 0;  ///< clock held
};

struct Measurement {
  std::string skipped;  ///< why there is nothing; empty: there is
  int steps = 0;        ///< per run
  std::vector<Sample> samples;
  std::uint64_t compared = 0, differing = 0;  ///< elements of results
  int registers = 0;
  int blocks = 0;                        ///< of a run; 0: one per multiprocessor
  int blocks_per_multiprocessor = 1;     ///< that run at once
  std::map<std::string, double> others;  ///< what the benchmark itself found, by tag
  Lists lists = {};                      ///< the same, many numbers each
  double joules = 0, seconds = 0;        ///< scope energy: over all samples
  double power_limit = 0;                ///< watts; 0: not known
  int reasons_read = 0;  ///< runs of all multiprocessors during which NVML said why the clock is what it is
  int power_capped = 0,
      thermal = 0;  ///< how often it named the power limit; a temperature or the board's brake
};

/// What a sweep runs on: a GPU, or what a test has in its place.
class Rig {
 public:
  virtual ~Rig() = default;
  /// The GPU, its driver and its highest clock.
  virtual Provenance provenance() = 0;
  /// What its driver says beside that, by key of property_specs().
  virtual std::map<std::string, double> properties() { return {}; }
  /// Errors: EnvironmentError when the GPU fails; what the GPU can't run is `skipped`.
  virtual Measurement measure(const Benchmark& benchmark, const Point& point, const RunRule& rule) = 0;

 protected:
  Rig() = default;
  Rig(const Rig&) = default;
  Rig& operator=(const Rig&) = default;
};

/// What: the GPU `device`; the results of every kernel are checked. Errors: EnvironmentError without CUDA.
std::unique_ptr<Rig> gpu_machine(const device::DeviceInfo& device);

}  // namespace mmaudit::sweeps
