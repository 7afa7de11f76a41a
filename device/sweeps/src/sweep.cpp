#include "mmaudit/sweeps/sweep.hpp"

#include <algorithm>
#include <set>

#include "mmaudit/error.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr double kSameRate = 1.005;

bool wanted(const std::vector<Axis>& axes, std::string_view scope) {
  const Axis& axis = axis_of(axes, "scope");
  return std::find(axis.values.begin(), axis.values.end(), scope) != axis.values.end();
}

/// Everything that sets a cell apart, without what the whole GPU picks itself.
std::string group_key(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::string key;
  for (const auto& [name, value] : axes) {
    if (name == "warps" || name == "ilp" || name == "scope") continue;
    key += name;
    key += '=';
    key += value;
    key += ' ';
  }
  return key;
}

double rate_of(const State& state) {
  return state.get(tag::kFma).value_or(state.get(tag::kBytes).value_or(0));
}

class Sweep {
 public:
  Sweep(Machine& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result)
      : machine_(machine), options_(options), hooks_(hooks), result_(result) {
    for (const State& state : result.states) known_.insert(state.key());
  }

  void run() {
    result_.interrupted = false;
    for (std::size_t i = 0; i < options_.subjects.size(); ++i) {
      const Subject& subject = options_.subjects[i];
      hooks_.progress(subject.name, i, options_.subjects.size());
      const bool went_on = sweep_one(subject);
      hooks_.save();
      if (!went_on) {
        result_.interrupted = true;
        return;
      }
    }
  }

 private:
  bool sweep_one(const Subject& subject) {
    const std::vector<Cell> cells = cells_of(subject, options_.axes);
    if (wanted(options_.axes, "sm"))
      for (const Cell& cell : cells) {
        if (!hooks_.keep_going()) return false;
        measure(cell);
      }
    for (const Scope scope : {Scope::gpu, Scope::energy})
      if (wanted(options_.axes, name_of(scope)) && subject.instruction.m != 0 && !sweep_gpu(cells, scope))
        return false;
    return true;
  }

  /// One point for every coordinate but warps and ilp.
  bool sweep_gpu(const std::vector<Cell>& cells, Scope scope) {
    std::vector<std::string> seen;
    for (const Cell& cell : cells) {
      const std::string key = group_key(cell.axis_values());
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      if (!hooks_.keep_going()) return false;
      if (const State* best = best_of(result_, cell)) {
        Cell at_best = cell;
        at_best.scope = scope;
        at_best.warps = best->number("warps");
        at_best.ilp = std::max(1, best->number("ilp"));
        measure(at_best);
        continue;
      }
      // No grid to choose from: the most warps and chains that run.
      for (std::size_t i = cells.size(); i-- > 0;) {
        if (group_key(cells[i].axis_values()) != key) continue;
        Cell most = cells[i];
        most.scope = scope;
        if (measure(most)) break;
      }
    }
    return true;
  }

  /// False when the machine skips the cell.
  bool measure(const Cell& cell) {
    State state{.subject = cell.subject.name, .axes = cell.axis_values(), .skipped = {}, .summaries = {}};
    if (const State* known = known_.count(state.key()) > 0 ? result_.find(state.key()) : nullptr)
      return known->skipped.empty();
    result_.states.push_back(state_of(cell, machine_.measure(cell, options_.rule), result_.device));
    return result_.states.back().skipped.empty();
  }

  Machine& machine_;
  const SweepOptions& options_;
  const SweepHooks& hooks_;
  SweepResult& result_;
  std::set<std::string> known_;  ///< keys of what an earlier sweep measured
};

std::vector<double> values_of(const std::vector<Sample>& samples, double Sample::*member) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.*member);
  return values;
}

}  // namespace

void run_sweep(Machine& machine, const SweepOptions& options, const SweepHooks& hooks, SweepResult& result) {
  Sweep(machine, options, hooks, result).run();
}

const State* best_of(const SweepResult& result, const Cell& like) {
  const std::string key = group_key(like.axis_values());
  const State* best = nullptr;
  for (const State& state : result.states) {
    if (state.subject != like.subject.name || state.axis("scope") != "sm" || !state.skipped.empty()) continue;
    if (group_key(state.axes) != key) continue;
    if (best == nullptr || rate_of(state) > kSameRate * rate_of(*best)) best = &state;
  }
  return best;
}

State state_of(const Cell& cell, const Measurement& measured, const DeviceFacts& device) {
  State state{
      .subject = cell.subject.name, .axes = cell.axis_values(), .skipped = measured.skipped, .summaries = {}};
  if (!measured.skipped.empty() || measured.samples.empty()) {
    if (state.skipped.empty()) state.skipped = "no samples";
    return state;
  }
  auto& out = state.summaries;
  const Statistics cycles = statistics_of(values_of(measured.samples, &Sample::cycles));
  const Statistics events = statistics_of(values_of(measured.samples, &Sample::event_seconds));
  const Statistics timer = statistics_of(values_of(measured.samples, &Sample::timer_seconds));
  const Statistics clock = statistics_of(values_of(measured.samples, &Sample::hz));
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
  const double fma = cell.fma(), bytes = cell.bytes(),
               peak = peak_fma(device.compute_capability, cell.instruction);
  if (fma > 0 && cycles.median > 0) out[tag::kFma] = fma / cycles.median;
  if (bytes > 0 && cycles.median > 0) {
    out[tag::kBytes] = bytes / cycles.median;
    out[tag::kShareHeld] = bytes / cycles.median / kPeakBytes;
  }
  if (fma > 0 && peak > 0 && cycles.median > 0) out[tag::kShareHeld] = fma / cycles.median / peak;
  if (!cell.whole_gpu()) return state;
  // A run on one multiprocessor is too short for the clock of single samples to mean anything.
  double throttled = 0;
  for (const Sample& sample : measured.samples)
    throttled += device.nominal_hz > 0 && sample.hz < kThrottledBelow * device.nominal_hz ? 1 : 0;
  out[tag::kThrottled] = throttled;
  if (fma > 0 && events.median > 0) {
    const double rate = 2 * fma * measured.steps * device.multiprocessors / events.median;
    out[tag::kFlops] = rate;
    if (peak > 0 && clock.median > 0) {
      out[tag::kShareHeld] = rate / (2 * peak * device.multiprocessors * clock.median);
      if (device.nominal_hz > 0)
        out[tag::kShareNominal] = rate / (2 * peak * device.multiprocessors * device.nominal_hz);
    }
    if (cell.scope == Scope::energy && measured.joules > 0) {
      const double work = 2 * fma * measured.steps * device.multiprocessors * cycles.count;
      out[tag::kWatts] = measured.joules / measured.seconds;
      out[tag::kFlopsPerWatt] = work / measured.joules;
      out[tag::kFlops] = work / measured.seconds;
    }
  }
  return state;
}

}  // namespace mmaudit::sweeps
