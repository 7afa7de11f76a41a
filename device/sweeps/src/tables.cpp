#include "mmaudit/sweeps/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/sweeps/findings.hpp"
#include "mmaudit/sweeps/published.hpp"
#include "mmaudit/sweeps/subject.hpp"

namespace mmaudit::sweeps {
namespace {

std::string number(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string percent(std::optional<double> value) {
  return value ? fmt::format("{:.1f}%", 100 * *value) : "-";
}

std::string tera(std::optional<double> value) { return value ? fmt::format("{:.1f}", 1e-12 * *value) : "-"; }

std::string text_of(const std::optional<Convergence>& at) {
  return at ? fmt::format("({},{}) {:.1f} {:.1f}", at->warps, at->ilp, at->cycles, at->rate) : "-";
}

/// Names in the order in which they were measured.
std::vector<std::string> subjects_with(const SweepResult& result, std::string_view prefix) {
  std::vector<std::string> names;
  for (const State& state : result.states)
    if (state.subject.starts_with(prefix) &&
        std::find(names.begin(), names.end(), state.subject) == names.end())
      names.push_back(state.subject);
  return names;
}

std::string_view measured_init(const SweepResult& result, std::string_view subject) {
  return find_point(result, {.subject = subject, .init = "random"}) != nullptr ? "random" : "zero";
}

Table mma_table(const SweepResult& result) {
  Table table{"mma, mma.sp and wmma on one multiprocessor: (warps, ILP) cycles, FMA/clk/SM",
              {"instruction", "latency", "4 warps converge", "8 warps converge", "best FMA/clk/SM", "of peak",
               "published latency"},
              {}};
  std::vector<std::string> names = subjects_with(result, "mma.");
  for (const std::string& name : subjects_with(result, "wmma.m")) names.push_back(name);
  for (const std::string& name : names) {
    const std::string_view init = measured_init(result, name);
    const State* one = find_point(result, {.subject = name, .init = init});
    const State* best = nullptr;
    for (const State& state : result.states)
      if (state.subject == name && state.axis("scope") == "sm" && state.axis("init") == init &&
          state.get(tag::kFma) && (best == nullptr || *state.get(tag::kFma) > *best->get(tag::kFma)))
        best = &state;
    if (best == nullptr) continue;
    table.rows.push_back(
        {name, one == nullptr ? "-" : number(one->get(tag::kCycles), 2),
         text_of(convergence_of(result, name, init, 4)), text_of(convergence_of(result, name, init, 8)),
         fmt::format("({},{}) {:.1f}", best->number("warps"), best->number("ilp"), *best->get(tag::kFma)),
         percent(best->get(tag::kShareHeld)), one == nullptr ? "" : cycles_text(published_cycles(*one))});
  }
  return table;
}

Table wgmma_table(const SweepResult& result) {
  Table table{"wgmma, one warpgroup on one multiprocessor",
              {"instruction", "N", "A", "commit", "cycles", "FMA/clk/SM", "of peak", "published cycles"},
              {}};
  for (const State& state : result.states) {
    if (!state.subject.starts_with("wgmma") || state.axis("scope") != "sm" || state.number("warps") != 4)
      continue;
    if (!state.get(tag::kCycles)) continue;
    // Cycles do not depend on the operands: one line for both.
    if (state.axis("init") != measured_init(result, state.subject)) continue;
    table.rows.push_back({state.subject, std::string(state.axis("n")), std::string(state.axis("a")),
                          std::string(state.axis("group")), number(state.get(tag::kCycles), 2),
                          number(state.get(tag::kFma), 1), percent(state.get(tag::kShareHeld)),
                          cycles_text(published_cycles(state))});
  }
  return table;
}

Table gpu_table(const SweepResult& result) {
  Table table{"The whole GPU, by CUDA events",
              {"instruction", "point", "operands", "TFLOPS", "noise", "MHz held", "throttled", "of peak held",
               "of nominal", "published"},
              {}};
  for (const State& state : result.states) {
    if (state.axis("scope") != "gpu" || !state.get(tag::kFlops)) continue;
    const std::string point = state.axis("n").empty()
                                  ? fmt::format("({},{})", state.axis("warps"), state.axis("ilp"))
                                  : fmt::format("N={} {} {}w /{}", state.axis("n"), state.axis("a"),
                                                state.axis("warps"), state.axis("group"));
    const auto hz = state.get(tag::kClock);
    table.rows.push_back({state.subject, point, std::string(state.axis("init")), tera(state.get(tag::kFlops)),
                          percent(state.get(tag::kEventsNoise)), hz ? fmt::format("{:.0f}", 1e-6 * *hz) : "-",
                          fmt::format("{:.0f}/{:.0f}", state.get(tag::kThrottled).value_or(0),
                                      state.get(tag::kRuns).value_or(0)),
                          percent(state.get(tag::kShareHeld)), percent(state.get(tag::kShareNominal)),
                          rates_text(published_rates(state))});
  }
  return table;
}

Table energy_table(const SweepResult& result) {
  Table table{
      "Energy at steady state, the whole GPU",
      {"instruction", "N", "A", "operands", "TFLOPS", "MHz held", "W", "TFLOPS/W", "published TFLOPS/W"},
      {}};
  for (const State& state : result.states) {
    if (!state.get(tag::kWatts)) continue;
    const auto hz = state.get(tag::kClock);
    table.rows.push_back({state.subject, std::string(state.axis("n")), std::string(state.axis("a")),
                          std::string(state.axis("init")), tera(state.get(tag::kFlops)),
                          hz ? fmt::format("{:.0f}", 1e-6 * *hz) : "-", number(state.get(tag::kWatts), 1),
                          fmt::format("{:.2f}", 1e-12 * state.get(tag::kFlopsPerWatt).value_or(0)),
                          efficiency_text(published_energy(state))});
  }
  return table;
}

Table memory_table(const SweepResult& result) {
  Table table{"Shared memory on one multiprocessor: (warps, ILP) cycles, B/clk/SM",
              {"instruction", "ways", "latency", "4 warps converge", "8 warps converge", "best B/clk/SM",
               "published latency"},
              {}};
  for (const std::string_view prefix : {"ldmatrix", "ld.shared", "stmatrix", "wmma.load", "wmma.store"})
    for (const std::string& name : subjects_with(result, prefix))
      for (const int ways : {0, 1, 2, 4, 8}) {
        const bool has_ways = prefix == "ld.shared";
        if (has_ways != (ways != 0)) continue;
        const State* one = find_point(result, {.subject = name, .ways = ways});
        double best = 0;
        for (const State& state : result.states)
          if (state.subject == name && state.axis("scope") == "sm" && state.number("ways") == ways)
            best = std::max(best, state.get(tag::kBytes).value_or(0));
        if (best == 0) continue;
        table.rows.push_back({name, has_ways ? std::to_string(ways) : "",
                              one == nullptr ? "-" : number(one->get(tag::kCycles), 2),
                              text_of(convergence_of(result, name, "", 4, ways)),
                              text_of(convergence_of(result, name, "", 8, ways)), fmt::format("{:.1f}", best),
                              one == nullptr ? "" : cycles_text(published_cycles(*one))});
      }
  return table;
}

Table findings_table(const SweepResult& result) {
  Table table{"What the grid says", {"holds", "statement", "measured", "first in"}, {}};
  for (const Finding& finding : findings_of(result))
    if (finding.holds)
      table.rows.push_back(
          {*finding.holds ? "yes" : "no", finding.statement, finding.measured, finding.source});
  return table;
}

Table skipped_table(const SweepResult& result) {
  Table table{"Not measured", {"reason", "points", "for example"}, {}};
  for (const State& state : result.states) {
    if (state.skipped.empty()) continue;
    const std::string reason = state.skipped;
    auto at =
        std::find_if(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[0] == reason; });
    if (at == table.rows.end()) {
      table.rows.push_back({reason, "1", state.key()});
    } else {
      (*at)[1] = std::to_string(std::stoi((*at)[1]) + 1);
    }
  }
  return table;
}

Table wrong_table(const SweepResult& result) {
  Table table{"WRONG BITS", {"point", "differing", "compared"}, {}};
  for (const State& state : result.states)
    if (state.get(tag::kDiffering).value_or(0) > 0)
      table.rows.push_back(
          {state.key(), number(state.get(tag::kDiffering), 0), number(state.get(tag::kCompared), 0)});
  return table;
}

}  // namespace

std::vector<Table> tables_of(const SweepResult& result) {
  std::vector<Table> tables = {mma_table(result),     wgmma_table(result),  memory_table(result),
                               gpu_table(result),     energy_table(result), findings_table(result),
                               skipped_table(result), wrong_table(result)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

std::vector<std::string> facts_of(const SweepResult& result) {
  double compared = 0;
  int measured = 0, checked = 0;
  for (const State& state : result.states) {
    measured += state.skipped.empty() ? 1 : 0;
    checked += state.get(tag::kCompared) ? 1 : 0;
    compared += state.get(tag::kCompared).value_or(0);
  }
  const DeviceFacts& device = result.device;
  return {
      fmt::format("{}, compute capability {}.{}, {} multiprocessors, up to {:.0f} MHz, driver {}, CUDA {}",
                  device.name, device.compute_capability / 10, device.compute_capability % 10,
                  device.multiprocessors, 1e-6 * device.nominal_hz, device.driver, device.cuda),
      fmt::format("mmaudit {} ({}), {}{}", result.version, result.revision, result.date,
                  result.interrupted ? ", interrupted: not every point was measured" : ""),
      fmt::format("medians of {} to {} runs after {} warm-ups, until the quartiles are within {}%; {} "
                  "points, {} of them "
                  "checked: {:.0f} elements of D against the model, {} points wrong",
                  result.rule.least, result.rule.most, result.rule.warm_ups, 100 * result.rule.noise,
                  measured, checked, compared, result.wrong())};
}

}  // namespace mmaudit::sweeps
