#include "mmaudit/sweeps/point.hpp"

#include <algorithm>
#include <cstdlib>

namespace mmaudit::sweeps {
namespace {

// clang-format off
constexpr SummarySpec kSummarySpecs[] = {
    {tag::kCycles,       "Cycles",      "cycles", "one step of every chain of every warp of the block: span of the loop over steps, median"},
    {tag::kCyclesNoise,  "Noise",       "share",  "distance of the quartiles of the cycles over their median"},
    {tag::kCyclesLeast,  "Least",       "cycles", "least of all runs"},
    {tag::kCyclesMost,   "Most",        "cycles", "most of all runs"},
    {tag::kEvents,       "Events",      "s",      "a run by CUDA events, launch included, median"},
    {tag::kEventsNoise,  "Noise",       "share",  "distance of the quartiles of the events' time over its median"},
    {tag::kTimer,        "Globaltimer", "s",      "a run by %globaltimer, first start to last stop, median"},
    {tag::kTimerNoise,   "Noise",       "share",  "distance of the quartiles of the globaltimer's time over its median"},
    {tag::kClock,        "Clock held",  "Hz",     "cycles of %clock64 over nanoseconds of %globaltimer, all runs"},
    {tag::kRuns,         "Runs",        "",       "runs after the warm-up"},
    {tag::kThrottled,    "Throttled",   "",       "runs whose clock was below 98% of the highest one; counted, not dropped"},
    {tag::kSteps,        "Steps",       "",       "steps of a run"},
    {tag::kFma,          "FMA/clk/SM",  "",       "multiply-adds a cycle a multiprocessor, from the cycles"},
    {tag::kBytes,        "B/clk/SM",    "",       "bytes a cycle a multiprocessor, from the cycles"},
    {tag::kFlops,        "FLOP/s",      "FLOP/s", "2 * multiply-adds over the time by CUDA events"},
    {tag::kShareHeld,    "Of peak",     "share",  "of the peak at the clock held"},
    {tag::kShareNominal, "Of nominal",  "share",  "of the peak at the highest clock"},
    {tag::kCompared,     "Compared",    "",       "elements of D compared with the model, bit for bit"},
    {tag::kDiffering,    "Differing",   "",       "elements of D, or chains, whose bits differ"},
    {tag::kRegisters,    "Registers",   "",       "of a thread of the kernel"},
    {tag::kWatts,        "Power",       "W",      "board power at steady state"},
    {tag::kFlopsPerWatt, "FLOP/J",      "FLOP/J", "rate over power at steady state"},
    {tag::kLimit,        "Limit",       "W",      "power limit that NVML enforces"},
    {tag::kPowerCap,     "Power cap",   "share",  "runs after which NVML named a power cap as a reason for the clock"},
    {tag::kThermal,      "Thermal",     "share",  "runs after which NVML named a temperature or the board's brake as a reason"},
    {tag::kPerStep,      "SASS/step",   "",       "expected SASS instructions of a step of a chain, in the loop; none: the code was not read"},
    {tag::kFalls,        "Falls",       "share",  "by which the rate is below the best of fewer warps and chains, where more than noise"},
    {tag::kOperations,   "Op/clk/SM",   "",       "operations a cycle a multiprocessor, from the cycles; packed ones count each part"},
    {tag::kOperationsPerSecond, "Op/s",  "op/s",  "operations over the time by CUDA events, launch included"},
    {tag::kBytesPerSecond, "B/s",       "B/s",    "bytes over the time by CUDA events"},
    {tag::kMemoryPeak,   "Memory",      "B/s",    "what the clock and the bus of the memory allow"},
    {tag::kLeastBlock,   "Least block", "cycles", "one step of the block that takes least, last run"},
    {tag::kMostBlock,    "Most block",  "cycles", "one step of the block that takes longest, last run"},
    {tag::kBlocks,       "Blocks",      "",       "of a run"},
    {tag::kDistinct,     "SMs",         "",       "multiprocessors on which the blocks of the last run were"},
    {tag::kNearHit,      "Near hit",    "cycles", "median of the lesser group of loads of lines that the second-level cache holds"},
    {tag::kFarHit,       "Far hit",     "cycles", "median of the greater group"},
    {tag::kNearMiss,     "Near miss",   "cycles", "median of the lesser group of loads of lines that it does not hold"},
    {tag::kFarMiss,      "Far miss",    "cycles", "median of the greater group"},
    {tag::kHitSpread,    "Hit spread",  "cycles", "distance of the quartiles of near or far hits, the larger"},
    {tag::kMissSpread,   "Miss spread", "cycles", "distance of the quartiles of near or far misses, the larger"},
    {tag::kFarShare,     "Far",         "share",  "of the loads that are in the greater group"},
    {tag::kAgain,        "Again",       "cycles", "a second load of the same line, median"},
    {tag::kIssue,        "Issue",       "cycles", "until the copy is issued, median"},
    {tag::kExpect,       "Expect",      "cycles", "until the barrier expects the bytes, median"},
    {tag::kWait,         "Wait",        "cycles", "until the barrier lets go, median"},
};

constexpr ListSpec kListSpecs[] = {
    {list::kFirst,     "cycles of the last first loads of lines, one by one"},
    {list::kAgain,     "cycles of the second loads of the same lines"},
    {list::kMap,       "cycles of a single access, median of the last visits; one row of lines per block"},
    {list::kMapPlaces, "multiprocessor of each row"},
    {list::kPlaces,    "multiprocessor of each block; the blocks of a cluster are neighbours"},
};
constexpr PropertySpec kPropertySpecs[] = {
    {property::kMemory,      "memory, bytes"},
    {property::kMemoryClock, "memory clock, Hz"},
    {property::kMemoryBus,   "memory bus, bits"},
    {property::kSecondLevel, "second-level cache, bytes"},
    {property::kShared,      "shared memory per multiprocessor, bytes"},
};
// clang-format on

}  // namespace

std::span<const SummarySpec> summary_specs() { return kSummarySpecs; }
std::span<const ListSpec> list_specs() { return kListSpecs; }
std::span<const PropertySpec> property_specs() { return kPropertySpecs; }

std::optional<double> Point::get(std::string_view summary) const {
  const auto at = summaries.find(std::string(summary));
  return at == summaries.end() ? std::nullopt : std::optional(at->second);
}

std::span<const std::uint32_t> Point::numbers(std::string_view list) const {
  const auto at = lists.find(std::string(list));
  return at == lists.end() ? std::span<const std::uint32_t>() : at->second;
}

std::optional<double> Point::rate() const {
  for (const char* tag : {tag::kFma, tag::kBytes, tag::kOperations})
    if (const std::optional<double> found = get(tag)) return found;
  return std::nullopt;
}

std::string_view Point::axis(std::string_view name) const {
  for (const auto& [axis, value] : axes)
    if (axis == name) return value;
  return {};
}

int Point::number(std::string_view name) const {
  return std::atoi(std::string(axis(name)).c_str());
}  // NOLINT

void Point::set(std::string_view name, const std::string& value) {
  for (auto& [axis, old] : axes)
    if (axis == name) old = value;
}

std::string Point::key(std::span<const std::string_view> without) const {
  std::string key = subject;
  for (const auto& [axis, value] : axes) {
    if (std::find(without.begin(), without.end(), axis) != without.end()) continue;
    key += ' ';
    key += axis;
    key += '=';
    key += value;
  }
  return key;
}

const Point* SweepResult::find(std::string_view key) const {
  const auto at =
      std::find_if(points.begin(), points.end(), [&](const Point& point) { return point.key() == key; });
  return at == points.end() ? nullptr : &*at;
}

int SweepResult::wrong() const {
  return static_cast<int>(std::count_if(points.begin(), points.end(), [](const Point& point) {
    return point.get(tag::kDiffering).value_or(0) > 0;
  }));
}

}  // namespace mmaudit::sweeps
