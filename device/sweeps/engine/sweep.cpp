#include "mmaudit/sweeps/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace mmaudit::sweeps {
namespace {

constexpr double kSameRate = 1.005;
/// Less is noise: of a rate over its ceiling, of a rate that falls.
constexpr double kOverCeiling = 1.005, kLeastFall = 0.01;
const std::string kRefused = "refused: ";
/// What the whole GPU picks itself.
constexpr std::string_view kPicked[] = {"scope", "warps", "ilp"};

bool wanted(const std::vector<Axis>& axes, std::string_view scope) {
  const Axis& axis = axis_of(axes, "scope");
  return std::find(axis.values.begin(), axis.values.end(), scope) != axis.values.end();
}

class Sweep {
 public:
  Sweep(Rig& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result)
      : machine_(machine), options_(options), hooks_(hooks), result_(result) {
    for (const Point& point : result.points) known_.insert(point.key());
  }

  void run() {
    result_.interrupted = false;
    for (std::size_t i = 0; i < options_.benchmarks.size(); ++i) {
      const Benchmark& benchmark = options_.benchmarks[i];
      hooks_.progress(benchmark.name, i, options_.benchmarks.size());
      const bool went_on = sweep_one(benchmark);
      mark_falls(result_.points);
      hooks_.save();
      if (!went_on) {
        result_.interrupted = true;
        return;
      }
    }
  }

 private:
  bool sweep_one(const Benchmark& benchmark) {
    const std::vector<Point> points = points_of(benchmark, options_.axes);
    if (wanted(options_.axes, "sm"))
      for (const Point& point : points) {
        if (!hooks_.keep_going()) return false;
        measure(benchmark, point);
      }
    for (const char* scope : {"gpu", "energy"})
      if (benchmark.whole_gpu && wanted(options_.axes, scope) && !sweep_gpu(benchmark, points, scope))
        return false;
    return true;
  }

  /// One point for every coordinate but warps and ilp.
  bool sweep_gpu(const Benchmark& benchmark, const std::vector<Point>& points, const char* scope) {
    std::set<std::string> seen;
    for (const Point& point : points) {
      const std::string key = point.key(kPicked);
      if (!seen.insert(key).second) continue;
      if (!hooks_.keep_going()) return false;
      if (const Point* best = best_of(result_, point)) {
        Point at_best = *best;
        at_best.set("scope", scope);
        measure(benchmark, at_best);
        continue;
      }
      // No grid to choose from: the most warps and chains that run.
      for (std::size_t i = points.size(); i-- > 0;) {
        if (points[i].key(kPicked) != key) continue;
        Point most = points[i];
        most.set("scope", scope);
        if (measure(benchmark, most)) break;
      }
    }
    return true;
  }

  /// False when the machine skips the point.
  bool measure(const Benchmark& benchmark, const Point& where) {
    Point point{.subject = where.subject, .axes = where.axes};
    if (const Point* known = known_.count(point.key()) > 0 ? result_.find(point.key()) : nullptr)
      return known->skipped.empty();
    const auto at = options_.code.find(benchmark.kernel ? benchmark.kernel(point).symbol : "");
    const SassKernel* code = at == options_.code.end() ? nullptr : &at->second;
    Measurement measured;
    if (const std::string why = code == nullptr ? "" : why_not_timed(benchmark, point, *code); !why.empty())
      measured.skipped = kRefused + why;
    else
      measured = machine_.measure(benchmark, point, options_.rule);
    result_.points.push_back(measured_point(benchmark, std::move(point), measured, result_.provenance, code));
    return result_.points.back().skipped.empty();
  }

  Rig& machine_;
  const SweepOptions& options_;
  const SweepHooks& hooks_;
  SweepResult& result_;
  std::set<std::string> known_;  ///< keys of what an earlier sweep measured
};

/// Why the GPU, or the instructions of the code, can't have the rate; empty when they can.
std::string why_impossible(const Point& point, double ceiling, const Provenance& gpu,
                           const SassKernel* code) {
  for (const double most : {ceiling, code == nullptr ? 0 : ceiling_of(gpu.compute_capability, *code)})
    if (most > 0 && point.rate().value_or(0) > kOverCeiling * most)
      return std::to_string(std::lround(*point.rate())) + " per clock, above the " +
             std::to_string(std::lround(most)) + " that the GPU can do";
  return {};
}

Point refused(Point point, const std::string& why) {
  point.skipped = kRefused + why;
  point.summaries.clear();
  point.lists.clear();
  return point;
}

Statistics statistics_of_member(const std::vector<Sample>& samples, double Sample::*member) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.*member);
  return statistics_of(std::move(values));
}

}  // namespace

void run_sweep(Rig& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result) {
  Sweep(machine, options, hooks, result).run();
}

const Point* best_of(const SweepResult& result, const Point& like) {
  const std::string key = like.key(kPicked);
  const Point* best = nullptr;
  for (const Point& point : result.points) {
    if (point.subject != like.subject || point.axis("scope") != "sm" || !point.skipped.empty()) continue;
    if (point.key(kPicked) != key) continue;
    if (best == nullptr || point.rate().value_or(0) > kSameRate * best->rate().value_or(0)) best = &point;
  }
  return best;
}

std::set<std::string> symbols_of(const SweepOptions& options) {
  std::set<std::string> symbols;
  for (const Benchmark& benchmark : options.benchmarks)
    for (const Point& point : points_of(benchmark, options.axes))
      if (benchmark.kernel) symbols.insert(benchmark.kernel(point).symbol);
  symbols.erase("");
  return symbols;
}

int apply_gate(SweepResult& result, const SassBySymbol& code) {
  int read = 0;
  for (Point& point : result.points) {
    const Benchmark* benchmark = find_benchmark(point.subject);
    if (benchmark == nullptr || !benchmark->kernel || !point.skipped.empty()) continue;
    point.summaries.erase(tag::kPerStep);  // what was read of another file proves nothing of this one
    const auto at = code.find(benchmark->kernel(point).symbol);
    if (at == code.end()) continue;
    ++read;
    std::string why = why_not_timed(*benchmark, point, at->second);
    if (why.empty())
      why = why_impossible(point, benchmark->ceiling(result.provenance.compute_capability), result.provenance,
                           &at->second);
    if (why.empty())
      point.summaries[tag::kPerStep] = sass_per_step(*benchmark, point, at->second);
    else
      point = refused(point, why);
  }
  mark_falls(result.points);
  return read;
}

void mark_falls(std::vector<Point>& points) {
  std::map<std::string, std::vector<Point*>> grids;
  for (Point& point : points)
    if (point.axis("scope") == "sm" && point.skipped.empty() && point.rate())
      grids[point.key(kPicked)].push_back(&point);
  for (const auto& [key, grid] : grids)
    for (Point* point : grid) {
      const double noise = std::max(kLeastFall, point->get(tag::kCyclesNoise).value_or(0));
      double best = 0;
      for (const Point* other : grid)
        if (other->number("warps") <= point->number("warps") && other->number("ilp") <= point->number("ilp"))
          best = std::max(best, *other->rate() * (1 - other->get(tag::kCyclesNoise).value_or(0)));
      point->summaries.erase(tag::kFalls);
      if (*point->rate() < (1 - noise) * best) point->summaries[tag::kFalls] = 1 - *point->rate() / best;
    }
}

Point measured_point(const Benchmark& benchmark, Point point, const Measurement& measured,
                     const Provenance& gpu, const SassKernel* code) {
  point.skipped = measured.skipped;
  if (point.skipped.empty() && measured.samples.empty()) point.skipped = "no samples";
  if (!point.skipped.empty()) return point;
  auto& out = point.summaries;
  const Statistics cycles = statistics_of_member(measured.samples, &Sample::cycles);
  const Statistics events = statistics_of_member(measured.samples, &Sample::event_seconds);
  const Statistics timer = statistics_of_member(measured.samples, &Sample::timer_seconds);
  const Statistics clock = statistics_of_member(measured.samples, &Sample::hz);
  out[tag::kCycles] = cycles.median;
  out[tag::kCyclesNoise] = cycles.noise();
  out[tag::kCyclesLeast] = cycles.least;
  out[tag::kCyclesMost] = cycles.most;
  out[tag::kEvents] = events.median;
  out[tag::kEventsNoise] = events.noise();
  out[tag::kTimer] = timer.median;
  out[tag::kTimerNoise] = timer.noise();
  out[tag::kClock] = clock.median;
  out[tag::kRuns] = cycles.count;
  out[tag::kSteps] = measured.steps;
  out[tag::kRegisters] = measured.registers;
  if (measured.compared > 0) {
    out[tag::kCompared] = static_cast<double>(measured.compared);
    out[tag::kDiffering] = static_cast<double>(measured.differing);
  }
  for (const auto& [tag, value] : measured.others) out[tag] = value;
  point.lists = measured.lists;
  const auto [fma, bytes, operations] = benchmark.work(point);
  const int blocks = measured.blocks > 0 ? measured.blocks : gpu.multiprocessors;
  const double ceiling = benchmark.ceiling(gpu.compute_capability);
  if (fma > 0 && cycles.median > 0) out[tag::kFma] = fma / cycles.median;
  if (bytes > 0 && cycles.median > 0)
    out[tag::kBytes] = bytes * measured.blocks_per_multiprocessor / cycles.median;
  if (operations > 0 && cycles.median > 0)
    out[tag::kOperations] = operations * measured.blocks_per_multiprocessor / cycles.median;
  if (const std::string why = why_impossible(point, ceiling, gpu, code); !why.empty())
    return refused(point, why);
  if (code != nullptr) out[tag::kPerStep] = sass_per_step(benchmark, point, *code);
  if (ceiling > 0 && point.rate()) out[tag::kShareHeld] = *point.rate() / ceiling;
  if (operations > 0 && events.median > 0 && measured.blocks > 1)
    out[tag::kOperationsPerSecond] = operations * measured.steps * blocks / events.median;
  if (point.axis("scope") == "sm") return point;
  // A run on one multiprocessor is too short for the clock of single samples to mean anything.
  double throttled = 0;
  for (const Sample& sample : measured.samples)
    throttled += gpu.nominal_hz > 0 && sample.hz < kThrottledBelow * gpu.nominal_hz ? 1 : 0;
  out[tag::kThrottled] = throttled;
  if (measured.power_limit > 0) out[tag::kLimit] = measured.power_limit;
  if (measured.reasons_read > 0) {
    out[tag::kPowerCap] = static_cast<double>(measured.power_capped) / measured.reasons_read;
    out[tag::kThermal] = static_cast<double>(measured.thermal) / measured.reasons_read;
  }
  if (bytes > 0 && events.median > 0)
    out[tag::kBytesPerSecond] = bytes * measured.steps * blocks / events.median;
  if (fma > 0 && events.median > 0) {
    const double rate = 2 * fma * measured.steps * gpu.multiprocessors / events.median;
    out[tag::kFlops] = rate;
    if (ceiling > 0 && clock.median > 0) {
      out[tag::kShareHeld] = rate / (2 * ceiling * gpu.multiprocessors * clock.median);
      if (gpu.nominal_hz > 0)
        out[tag::kShareNominal] = rate / (2 * ceiling * gpu.multiprocessors * gpu.nominal_hz);
    }
    if (measured.joules > 0) {
      const double work = 2 * fma * measured.steps * gpu.multiprocessors * cycles.count;
      out[tag::kWatts] = measured.joules / measured.seconds;
      out[tag::kFlopsPerWatt] = work / measured.joules;
      out[tag::kFlops] = work / measured.seconds;
    }
  }
  return point;
}

}  // namespace mmaudit::sweeps
