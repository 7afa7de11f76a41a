#include "sweeps/plausible.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/point_groups.hpp"

namespace mmaudit::sweeps {
namespace {

/// Less is noise of a median.
constexpr double kOverCeiling = 1.005;

/// Axes of all benchmarks and of each one, looked up once per file.
class Axes {
 public:
  /// Null for an axis that this program does not have.
  [[nodiscard]] const AxisSpec* find(const Benchmark* benchmark, std::string_view name) const {
    const AxisSpec* own = benchmark == nullptr ? nullptr : find_named(benchmark->axes, name);
    return own != nullptr ? own : find_named(all_, name);
  }

 private:
  std::vector<AxisSpec> all_ = axis_specs();
};

void require_axes(const Point& point, const Benchmark* benchmark, const Axes& axes,
                  const std::string& label) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : point.axes) {
    if (!seen.insert(name).second)
      refuse("{}: {}: found the axis {} twice, allowed: each axis once", label, printable(point.key()),
             printable(name, 40));
    const AxisSpec* spec = axes.find(benchmark, name);
    if (spec != nullptr && !allows(*spec, value))
      refuse("{}: {}: axis {}: found \"{}\", allowed: {}", label, printable(point.subject, 80), name,
             printable(value, 40), allowed_values(*spec));
  }
}

[[noreturn]] void refuse_rate(const Point& point, std::string_view tag, double found, double most,
                              std::string_view what, const std::string& label) {
  refuse("{}: {}: {}: found {}, allowed: at most {}, {}; more is a measurement bug", label,
         printable(point.key()), tag, found, most, what);
}

void require_rates(const Point& point, const Benchmark* benchmark, int compute_capability,
                   const std::string& label) {
  const double ceiling = benchmark == nullptr ? 0 : benchmark->ceiling(compute_capability);
  for (const char* tag : {tag::kFma, tag::kBytes, tag::kOperations})
    // The ceiling is of the first of them that the point has.
    if (const auto rate = point.get(tag)) {
      if (ceiling > 0 && *rate > kOverCeiling * ceiling)
        refuse_rate(point, tag, *rate, ceiling, "what the GPU can do", label);
      break;
    }
  if (const auto share = point.get(tag::kShareHeld); share && *share > kOverCeiling)
    refuse_rate(point, tag::kShareHeld, *share, 1, "the peak at the clock held", label);
  if (const auto share = share_of_memory(point); share && *share > kOverCeiling)
    refuse_rate(point, tag::kBytesPerSecond, *point.get(tag::kBytesPerSecond), *point.get(tag::kMemoryPeak),
                "the memory's peak", label);
}

/// What two points share that are the same, in whatever order their axes stand.
std::string identity(const Point& point) {
  Point sorted{.subject = point.subject, .axes = point.axes};
  std::sort(sorted.axes.begin(), sorted.axes.end());
  return sorted.key();
}

}  // namespace

void require_plausible(const SweepResult& result, const std::string& label) {
  const Axes axes;
  std::map<std::string_view, const Benchmark*> known;
  std::set<std::string> seen;
  for (const Point& point : result.points) {
    const auto [at, fresh] = known.try_emplace(point.subject);
    if (fresh) at->second = find_benchmark(point.subject);
    require_axes(point, at->second, axes, label);
    if (!seen.insert(identity(point)).second)
      refuse("{}: benchmarks: found the point {} twice, allowed: each point once", label,
             in_quotes(point.key()));
    require_rates(point, at->second, result.provenance.compute_capability, label);
  }
}

}  // namespace mmaudit::sweeps
