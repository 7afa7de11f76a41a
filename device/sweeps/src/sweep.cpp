#include "mmaudit/sweeps/sweep.hpp"

#include <algorithm>

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
    for (const State& state : result.states) known_.push_back(state.key());
    std::sort(known_.begin(), known_.end());
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
    if (!wanted(options_.axes, "gpu") || subject.instruction.m == 0) return true;
    std::vector<std::string> seen;
    for (Cell cell : cells) {
      const std::string key = group_key(cell.axis_values());
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      if (!hooks_.keep_going()) return false;
      if (const State* best = best_of(result_, cell)) {
        cell.warps = best->number("warps");
        cell.ilp = std::max(1, best->number("ilp"));
      }
      cell.whole_gpu = true;
      measure(cell);
    }
    return true;
  }

  void measure(const Cell& cell) {
    State state{.subject = cell.subject.name, .axes = cell.axis_values(), .skipped = {}, .summaries = {}};
    if (std::binary_search(known_.begin(), known_.end(), state.key())) return;
    result_.states.push_back(state_of(cell, machine_.measure(cell, options_.rule), result_.device));
  }

  Machine& machine_;
  const SweepOptions& options_;
  const SweepHooks& hooks_;
  SweepResult& result_;
  std::vector<std::string> known_;
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
  State state{.subject = cell.subject.name,
              .axes = cell.axis_values(),
              .skipped = measured.skipped,
              .summaries = {}};
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
  const double fma = cell.fma(), bytes = cell.bytes(), peak = peak_fma(device.compute_capability, cell.instruction);
  if (fma > 0 && cycles.median > 0) out[tag::kFma] = fma / cycles.median;
  if (bytes > 0 && cycles.median > 0) {
    out[tag::kBytes] = bytes / cycles.median;
    out[tag::kShareHeld] = bytes / cycles.median / kPeakBytes;
  }
  if (fma > 0 && peak > 0 && cycles.median > 0) out[tag::kShareHeld] = fma / cycles.median / peak;
  if (!cell.whole_gpu) return state;
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
  }
  return state;
}

}  // namespace mmaudit::sweeps
