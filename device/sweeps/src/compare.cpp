#include "mmaudit/sweeps/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace mmaudit::sweeps {
namespace {

/// The whole GPU picks its own warps and ilp: a point is the same with other ones.
std::string key_of(const State& state) {
  if (state.axis("scope") == "sm") return state.key();
  State without = state;
  std::erase_if(without.axes, [](const auto& axis) { return axis.first == "warps" || axis.first == "ilp"; });
  return without.key();
}

struct Quantity {
  std::string_view name;
  double value = 0, noise = 0;
};

Quantity quantity_of(const State& state) {
  if (state.axis("scope") == "sm")
    return {"cycles", state.get(tag::kCycles).value_or(0), state.get(tag::kCyclesNoise).value_or(0)};
  // Per multiply-add, since steps and warps may differ.
  const double rate = state.get(tag::kFlops).value_or(0);
  return {"seconds", rate > 0 ? 1 / rate : 0, state.get(tag::kEventsNoise).value_or(0)};
}

}  // namespace

Change classify(double before, double noise_before, double after, double noise_after, bool throttled) {
  const double less = std::max(kLeastNoise, std::min(noise_before, noise_after));
  const double more = std::max(kLeastNoise, std::max(noise_before, noise_after));
  if (!(before > 0) || !(after > 0)) return before == after ? Change::same : Change::ambiguous;
  const double change = after / before - 1;
  if (std::abs(change) <= less) return Change::same;
  if (std::abs(change) <= more || throttled) return Change::ambiguous;
  return change < 0 ? Change::fast : Change::slow;
}

Compared compare(const SweepResult& before, const SweepResult& after) {
  std::map<std::string, const State*> old;
  for (const State& state : before.states)
    if (state.skipped.empty()) old[key_of(state)] = &state;
  Compared out;
  for (const State& state : after.states) {
    if (!state.skipped.empty()) continue;
    const std::string key = key_of(state);
    const auto at = old.find(key);
    if (at == old.end()) {
      out.only_after.push_back(key);
      continue;
    }
    const Quantity was = quantity_of(*at->second), is = quantity_of(state);
    const bool throttled =
        state.get(tag::kThrottled).value_or(0) > 0 || at->second->get(tag::kThrottled).value_or(0) > 0;
    out.points.push_back({key, is.name, was.value, is.value, was.noise, is.noise,
                          classify(was.value, was.noise, is.value, is.noise, throttled)});
    old.erase(at);
  }
  for (const auto& [key, state] : old) out.only_before.push_back(key);
  return out;
}

int Compared::count(Change change) const {
  return static_cast<int>(std::count_if(points.begin(), points.end(),
                                        [&](const Comparison& one) { return one.change == change; }));
}

std::string_view name_of(Change change) {
  constexpr std::string_view kNames[] = {"SAME", "FAST", "SLOW", "AMBIGUOUS"};
  return kNames[static_cast<int>(change)];
}

std::string comparison_text(const Compared& compared) {
  std::string out;
  for (const Comparison& one : compared.points)
    if (one.change != Change::same)
      out += fmt::format("{:9} {:+7.2f}%  {:.6g} -> {:.6g} {} (noise {:.2f}%, {:.2f}%)  {}\n",
                         name_of(one.change), 100 * (one.after / one.before - 1), one.before, one.after,
                         one.quantity, 100 * one.noise_before, 100 * one.noise_after, one.key);
  for (const std::string& key : compared.only_before) out += "GONE      " + key + "\n";
  for (const std::string& key : compared.only_after) out += "NEW       " + key + "\n";
  out += fmt::format("{} points: {} the same, {} faster, {} slower, {} ambiguous; {} gone, {} new\n",
                     compared.points.size(), compared.count(Change::same), compared.count(Change::fast),
                     compared.count(Change::slow), compared.count(Change::ambiguous),
                     compared.only_before.size(), compared.only_after.size());
  return out;
}

}  // namespace mmaudit::sweeps
