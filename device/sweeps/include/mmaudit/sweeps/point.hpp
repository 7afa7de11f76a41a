#pragma once
// What a sweep found, as plain data.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/provenance.hpp"
#include "mmaudit/sweeps/axes.hpp"
#include "mmaudit/sweeps/statistics.hpp"

namespace mmaudit::sweeps {

/// One number of a measured point, and how it is printed.
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
                      kFlopsPerWatt[] = "power/flops_per_watt", kLimit[] = "power/limit",
                      kPowerCap[] = "power/share_power_cap", kThermal[] = "power/share_thermal",
                      kPerStep[] = "sass/per_step", kFalls[] = "grid/falls",
                      kOperations[] = "rate/operations_per_clk_sm",
                      kOperationsPerSecond[] = "rate/operations", kBytesPerSecond[] = "rate/bytes",
                      kMemoryPeak[] = "memory/peak", kLeastBlock[] = "latency/least_block",
                      kMostBlock[] = "latency/most_block", kBlocks[] = "blocks",
                      kDistinct[] = "blocks/multiprocessors", kNearHit[] = "latency/near_hit",
                      kFarHit[] = "latency/far_hit", kNearMiss[] = "latency/near_miss",
                      kFarMiss[] = "latency/far_miss", kHitSpread[] = "latency/hit_spread",
                      kMissSpread[] = "latency/miss_spread", kFarShare[] = "latency/far_share",
                      kAgain[] = "latency/again", kIssue[] = "latency/issue", kExpect[] = "latency/expect",
                      kWait[] = "latency/wait";
}  // namespace tag

/// Many whole numbers of a measured point.
struct ListSpec {
  std::string_view tag, description;
};

std::span<const ListSpec> list_specs();

namespace list {
inline constexpr char kFirst[] = "loads/first", kAgain[] = "loads/again", kMap[] = "map/cycles",
                      kMapPlaces[] = "map/multiprocessors", kPlaces[] = "blocks/placed";
}  // namespace list

using Lists = std::map<std::string, std::vector<std::uint32_t>>;

/// One point of a sweep: what is timed, a value for each of its axes, and what was measured there.
struct Point {
  std::string subject;                                    ///< name of the benchmark
  std::vector<std::pair<std::string, std::string>> axes;  ///< (name, value), the first varies slowest
  std::string skipped = {};                               ///< reason; empty: measured
  std::map<std::string, double> summaries = {};           ///< by tag
  Lists lists = {};                                       ///< by tag

  [[nodiscard]] std::optional<double> get(std::string_view summary) const;
  /// Empty where the point lacks it.
  [[nodiscard]] std::span<const std::uint32_t> numbers(std::string_view list) const;
  /// FMA, bytes or operations per clock per multiprocessor.
  [[nodiscard]] std::optional<double> rate() const;
  /// Value of an axis, empty without it.
  [[nodiscard]] std::string_view axis(std::string_view name) const;
  /// Number of an axis, 0 without it.
  [[nodiscard]] int number(std::string_view name) const;
  /// Changes the value of an axis that the point has.
  void set(std::string_view name, const std::string& value);
  /// "wgmma... scope=sm n=8 ...": what makes two points the same. Axes named in `without` are left out.
  [[nodiscard]] std::string key(std::span<const std::string_view> without = {}) const;
  bool operator==(const Point&) const = default;
};

/// What the driver says of the GPU beside its provenance.
struct PropertySpec {
  std::string_view key;   ///< as NVBench writes it
  std::string_view name;  ///< for people
};

std::span<const PropertySpec> property_specs();

namespace property {
inline constexpr char kMemory[] = "global_memory_size", kMemoryClock[] = "global_memory_bus_peak_clock_rate",
                      kMemoryBus[] = "global_memory_bus_width", kSecondLevel[] = "l2_cache_size",
                      kShared[] = "shared_memory_per_sm";
}  // namespace property

struct SweepResult {
  Provenance provenance;
  std::map<std::string, double> properties = {};  ///< by key; empty in sweeps from before they were read
  RunRule rule;
  std::vector<Axis> axes;
  std::vector<Point> points;
  bool interrupted = false;
  /// How the code of the kernels was read, or why it was not; empty in sweeps from before there was a gate.
  std::string gate = {};

  [[nodiscard]] const Point* find(std::string_view key) const;
  /// Points whose result had other bits than the model.
  [[nodiscard]] int wrong() const;
};

}  // namespace mmaudit::sweeps
