#pragma once
// What a sweep found, as plain data. Writers and findings read this and nothing else.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/sweeps/axes.hpp"
#include "mmaudit/sweeps/statistics.hpp"

namespace mmaudit::sweeps {

/// One number of a state, and how it is printed.
struct SummarySpec {
  std::string_view tag;   ///< key, here and in the JSON
  std::string_view name;  ///< heading
  std::string_view hint;  ///< unit: "cycles", "Hz", "s", "FLOP/s", "share", ""
  std::string_view description;
};

std::span<const SummarySpec> summary_specs();

namespace tag {
inline constexpr char kCycles[] = "cycles/median", kCyclesNoise[] = "cycles/noise",
                      kCyclesLeast[] = "cycles/min", kCyclesMost[] = "cycles/max",
                      kEvents[] = "time/events/median", kEventsNoise[] = "time/events/noise",
                      kTimer[] = "time/globaltimer/median", kTimerNoise[] = "time/globaltimer/noise",
                      kClock[] = "clock/held", kRuns[] = "runs", kThrottled[] = "runs/throttled",
                      kSteps[] = "steps", kFma[] = "rate/fma_per_clk_sm", kBytes[] = "rate/bytes_per_clk_sm",
                      kFlops[] = "rate/flops", kShareHeld[] = "share/peak_held",
                      kShareNominal[] = "share/peak_nominal", kCompared[] = "bits/compared",
                      kDiffering[] = "bits/differing", kRegisters[] = "registers", kWatts[] = "power/watts",
                      kFlopsPerWatt[] = "power/flops_per_watt";
}  // namespace tag

/// One point that was measured, or why not.
struct State {
  std::string subject;
  std::vector<std::pair<std::string, std::string>> axes;  ///< (name, value)
  std::string skipped;                                    ///< reason; empty: measured
  std::map<std::string, double> summaries;                ///< by tag

  [[nodiscard]] std::optional<double> get(std::string_view summary) const;
  /// Value of an axis, empty without it.
  [[nodiscard]] std::string_view axis(std::string_view name) const;
  /// Number of an axis, 0 without it.
  [[nodiscard]] int number(std::string_view name) const;
  /// "wgmma... scope=sm n=8 ...": what makes two states the same point.
  [[nodiscard]] std::string key() const;
  bool operator==(const State&) const = default;
};

struct DeviceFacts {
  std::string name, driver, cuda;
  int compute_capability = 0, multiprocessors = 0;
  double nominal_hz = 0;  ///< highest clock of the multiprocessors
  bool operator==(const DeviceFacts&) const = default;
};

struct SweepResult {
  std::string version, revision, date;
  std::vector<std::string> command;
  DeviceFacts device;
  RunRule rule;
  std::vector<Axis> axes;
  std::vector<State> states;
  bool interrupted = false;

  [[nodiscard]] const State* find(std::string_view key) const;
  /// Points whose result had other bits than the model.
  [[nodiscard]] int wrong() const;
};

}  // namespace mmaudit::sweeps
