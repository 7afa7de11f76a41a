#include "gemm/recorded_invariant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "mmaudit/error.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Section;
using report::Table;
using report::Tone;

std::string range_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{} to {}", first, last);
}

bool is_recorded(const RecordedLayer& layer) { return layer.source == "recorded"; }

/// How many known plans a layer takes.
std::size_t plans_of(const RecordedLayer& layer) {
  std::set<std::string> plans;
  for (const RecordedRange& each : layer.ranges)
    if (each.known) plans.insert(each.plan);
  return plans.size();
}

/// Intervals of M between changes.
std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals_of(const RecordedInvariant& result) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  std::uint64_t first = result.first_m;
  for (const std::uint64_t m : changes_of(result)) {
    out.emplace_back(first, m - 1);
    first = m;
  }
  out.emplace_back(first, result.last_m);
  return out;
}

/// The algorithm that makes the bits of a layer the same for every M.
std::string pin_text(const RecordedLayer& layer, const RecordedInvariant& result) {
  if (layer.ranges.empty()) return "";
  if (layer.ranges.size() == 1 && layer.ranges.front().known) return "none needed";
  const RecordedPin pin = pin_of(layer);
  if (pin.plan.empty()) return "no known plan";
  return fmt::format("of M = {}; {} of {} M have its plan", pin.m, pin.held,
                     result.last_m - result.first_m + 1);
}

Table layers_of(const RecordedInvariant& result) {
  return report::table_of<RecordedLayer>(
      "Layers", result.layers,
      {{{"layer"}, [](const RecordedLayer& each) { return each.name; }},
       {{"N", true}, [](const RecordedLayer& each) { return std::to_string(each.problem.n); }},
       {{"K", true}, [](const RecordedLayer& each) { return std::to_string(each.problem.k); }},
       {{"torch"}, [](const RecordedLayer& each) { return each.interface; }},
       {{"source"},
        [](const RecordedLayer& each) {
          return Cell(each.source.empty() ? "not recorded" : each.source,
                      is_recorded(each) ? Tone::plain : Tone::note);
        }},
       {{"ranges", true},
        [](const RecordedLayer& each) {
          return each.ranges.empty() ? std::string() : std::to_string(each.ranges.size());
        }},
       {{"plans", true}, [](const RecordedLayer& each) { return std::to_string(plans_of(each)); }},
       {{"pinned algorithm"}, [&](const RecordedLayer& each) { return pin_text(each, result); }},
       {{"its cost"}, [](const RecordedLayer& each) {
          return each.ranges.size() < 2 ? "" : each.cost.empty() ? "not recorded" : each.cost;
        }}});
}

Table changes_table(const RecordedInvariant& result) {
  Table out{.title = "Where a row changes its bits",
            .remark = "The first M of a plan, and the layers that take it from there on.",
            .columns = {{"M", true}, "layers", "plan"}};
  std::map<std::pair<std::uint64_t, std::string>, std::string> starts;
  for (const RecordedLayer& layer : result.layers)
    for (const RecordedRange& each : layer.ranges) {
      std::string& names = starts[{each.first, each.known ? each.plan : "unknown: " + each.plan}];
      names += (names.empty() ? "" : ", ") + layer.name;
    }
  for (const auto& [start, names] : starts)
    out.rows.push_back({std::to_string(start.first), names, start.second});
  return out;
}

/// A row per range; one of a layer that was not recorded.
Table records_of(const RecordedInvariant& result) {
  Table out{.columns = {"layer", "product", "source", {"M from", true}, {"to", true}, "plan"}};
  for (const RecordedLayer& layer : result.layers) {
    const std::vector<Cell> start = {layer.name, name_of(layer.problem), layer.source};
    if (layer.ranges.empty()) out.rows.push_back({start[0], start[1], "not recorded", "", "", layer.why});
    for (const RecordedRange& each : layer.ranges)
      out.rows.push_back({start[0], start[1], start[2], std::to_string(each.first), std::to_string(each.last),
                          (each.known ? "" : "unknown: ") + each.plan});
  }
  return out;
}

/// Changes per octave of M and layer.
std::string picture_of(const RecordedInvariant& result) {
  report::HeatMap map;
  map.id = "changes";
  map.title = "Changes of a row's bits";
  map.x_title = "M, from this size to twice as many";
  map.y_title = "layer";
  const auto octave_of = [](std::uint64_t m) { return static_cast<std::size_t>(std::bit_width(m)) - 1; };
  const std::size_t first = octave_of(result.first_m);
  for (std::size_t octave = first; octave <= octave_of(result.last_m); ++octave)
    map.columns.push_back(std::to_string(std::uint64_t{1} << octave));
  for (const RecordedLayer& layer : result.layers) {
    if (layer.ranges.empty()) continue;
    map.rows.push_back(layer.name);
    std::vector<std::optional<double>> row(map.columns.size(), 0.0);
    for (const RecordedRange& each : layer.ranges)
      if (each.first != result.first_m) *row[octave_of(each.first) - first] += 1;
    map.values.push_back(std::move(row));
  }
  return report::heat_map(map);
}

std::string headline_of(const RecordedInvariant& result, std::size_t found) {
  if (found == 0) return "No layer was recorded, nor one near it: " + result.layers.front().why;
  const auto intervals = intervals_of(result);
  const std::string rows =
      result.layers.size() == 1 ? "A row of D keeps its bits" : "Every row of every layer keeps its bits";
  if (intervals.size() == 1) return rows + " over M = " + range_text(result.first_m, result.last_m);
  const auto longest =
      *std::max_element(intervals.begin(), intervals.end(),
                        [](const auto& a, const auto& b) { return a.second - a.first < b.second - b.first; });
  return fmt::format("{} within {} ranges of M; the longest is M = {}", rows, intervals.size(),
                     range_text(longest.first, longest.second));
}

}  // namespace

RecordedLayer recorded_layer(const corpus::DecisionFile& file, const GemmProblem& problem) {
  RecordedLayer out;
  out.problem = problem;
  GemmProblem x = problem;
  x.m = file.first_m;
  const auto decided = corpus::decided(file, x, &out.why);
  if (!decided) return out;
  out.source = source_of(*decided);
  for (const corpus::DecisionStart& start : decided->layer->starts) {
    x.m = start.m;
    std::string words;
    const auto plan = plan_of_choice(file, x, file.choices[start.choice], &words);
    if (plan) words = text_of(*plan);
    if (!out.ranges.empty()) out.ranges.back().last = start.m - 1;
    if (out.ranges.empty() || !plan || out.ranges.back().plan != words)
      out.ranges.push_back({start.m, start.m, words, plan.has_value()});
  }
  out.ranges.back().last = file.last_m;
  return out;
}

RecordedInvariant recorded_network(const corpus::DecisionFile& file,
                                   const std::vector<corpus::NetworkLayer>& layers, Format type,
                                   bool fast_accum, bool fused) {
  RecordedInvariant out;
  out.gpu = file.gpu;
  out.library = file.library;
  out.first_m = file.first_m;
  out.last_m = file.last_m;
  constexpr std::string_view kParts[] = {"q_proj", "k_proj", "gate_proj", "query"};  // of what is fused
  std::map<std::string, std::size_t> places;
  for (const corpus::NetworkLayer& layer : layers) {
    const bool part = std::find(std::begin(kParts), std::end(kParts), layer.name) != std::end(kParts);
    if (fused ? part : layer.fused) continue;
    const GemmInterface& interface = interface_of(layer, type, fast_accum);
    const auto problem = layer_problem(layer, interface, type);
    if (!problem) {
      RecordedLayer none;
      none.name = layer.name;
      none.interface = interface.name;
      none.problem.n = layer.n;
      none.problem.k = layer.k;
      none.why = "torch does not ask for this product in " + std::string(name_of(type));
      out.layers.push_back(std::move(none));
      continue;
    }
    const auto [at, is_new] = places.emplace(name_of(*problem), out.layers.size());
    if (!is_new) {
      out.layers[at->second].name += ", " + layer.name;
      continue;
    }
    RecordedLayer one = recorded_layer(file, *problem);
    one.name = layer.name;
    one.interface = interface.name;
    out.layers.push_back(std::move(one));
  }
  return out;
}

std::vector<std::uint64_t> changes_of(const RecordedInvariant& result) {
  std::set<std::uint64_t> out;
  for (const RecordedLayer& layer : result.layers)
    for (const RecordedRange& each : layer.ranges)
      if (each.first != result.first_m) out.insert(each.first);
  return {out.begin(), out.end()};
}

RecordedPin pin_of(const RecordedLayer& layer) {
  std::map<std::string, RecordedPin> pins;
  std::map<std::string, std::uint64_t> longest;
  for (const RecordedRange& each : layer.ranges) {
    if (!each.known) continue;
    const std::uint64_t length = each.last - each.first + 1;
    RecordedPin& pin = pins[each.plan];
    pin.plan = each.plan;
    pin.held += length;
    if (length <= longest[each.plan]) continue;
    longest[each.plan] = length;
    pin.m = each.first;
  }
  RecordedPin out;
  for (const auto& [plan, pin] : pins)
    if (pin.held > out.held) out = pin;
  return out;
}

void take_costs(RecordedInvariant& result, std::string_view csv, const std::string& file) {
  for (RecordedLayer& layer : result.layers) {
    const GemmProblem& x = layer.problem;
    if (!is_recorded(layer) || x.api != GemmApi::cublas) continue;
    const std::string product = fmt::format("{},{},{},{},{},", name_of(x.type), x.transposed_b ? "nt" : "nn",
                                            x.n, x.k, pin_of(layer).m);
    std::map<double, std::string> times;  // how much longer, and at which M
    for (std::string_view rest = csv; !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (!line.starts_with(product)) continue;
      const std::string_view figures = line.substr(product.size());
      const std::size_t one = figures.find(','), two = figures.rfind(',');
      const double pinned = whole_number<double>(figures.substr(one + 1, two - one - 1)).value_or(0);
      const double first = whole_number<double>(figures.substr(two + 1)).value_or(0);
      if (one == two || !(pinned > 0) || !(first > 0))
        throw InputError(file + refusal(": found {}, allowed: M and two times in us", in_quotes(figures)));
      times.emplace(pinned / first, figures.substr(0, one));
    }
    if (!times.empty())
      layer.cost = fmt::format("{:.2f} (M = {}) to {:.2f} (M = {}) times", times.begin()->first,
                               times.begin()->second, times.rbegin()->first, times.rbegin()->second);
  }
}

report::Report report_of(const RecordedInvariant& result) {
  std::size_t recorded = 0, guessed = 0;
  for (const RecordedLayer& each : result.layers) {
    recorded += is_recorded(each) ? 1 : 0;
    guessed += !each.source.empty() && !is_recorded(each) ? 1 : 0;
  }
  report::Report out;
  out.title = "At which batch sizes bits change";
  out.text_title = fmt::format("{}, on {} with cuBLAS {}", result.title, result.gpu, result.library);
  out.meta = {out.text_title};
  out.headline = headline_of(result, recorded + guessed);
  out.tone = recorded + guessed == 0 ? Tone::bad : Tone::plain;
  out.lead = {
      fmt::format("Products: {}; {} recorded, {} guessed from the nearest layer that was recorded, {} "
                  "not recorded. No GPU was asked.",
                  result.layers.size(), recorded, guessed, result.layers.size() - recorded - guessed)};
  out.records = records_of(result);
  Section& section = out.sections.emplace_back(section_of(layers_of(result)));
  if (const std::string picture = picture_of(result); !picture.empty()) section.figures = {picture};
  section.layout = report::Layout::wide;
  section.notes = {
      "A pinned algorithm serves every M with one plan. cuBLASLt takes one; torch.mm asks cublasGemmEx, "
      "which takes none: such a layer has to ask cuBLASLt. Its cost is the time by the time of cuBLASLt's "
      "first "
      "choice; `mmaudit gemm invariant --n N --k K --pin M` on the GPU measures it."};
  out.sections.push_back(section_of(changes_table(result)));
  std::vector<std::string> lacking;
  for (const RecordedLayer& each : result.layers)
    if (each.source.empty()) lacking.push_back(fmt::format("{}: {}", each.name, each.why));
  if (!lacking.empty()) out.sections.push_back({.title = "Not recorded", .lines = lacking});
  return out;
}

}  // namespace mmaudit::checks
