#include "sweeps/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/findings.hpp"
#include "sweeps/memory_report.hpp"
#include "sweeps/point_groups.hpp"
#include "sweeps/published.hpp"
#include "sweeps/roofline.hpp"

namespace mmaudit::sweeps {
namespace {

using report::Field;
using report::Section;
using report::section_of;
using report::Table;
using report::table_of;
using Strings = std::vector<std::string>;

constexpr std::string_view kCommonAxes[] = {"scope", "init", "warps", "ilp"};

std::string text_of(const std::optional<Convergence>& at) {
  return at ? fmt::format("({},{}) {:.1f} {:.1f}", at->warps, at->ilp, at->cycles, at->rate) : "-";
}

/// A column of one summary, one axis, or the coordinates that a whole GPU picks for itself.
Field<const Point*> column(std::string_view header, const char* tag, int digits, double scale = 1) {
  return {{header, true}, [=](const Point* point) { return number_text(point->get(tag), digits, scale); }};
}
Field<const Point*> share_column(std::string_view header, const char* tag) {
  return {{header, true}, [=](const Point* point) { return share_text(point->get(tag)); }};
}
Field<const Point*> axis_column(std::string_view header, std::string axis) {
  return {header, [axis](const Point* point) { return point->axis(axis); }};
}
Field<const Point*> published_column(std::string_view header, std::string (*published)(const Point&)) {
  return {header, [published](const Point* point) { return published(*point); }};
}
const Field<const Point*> kSubject = {"instruction", [](const Point* point) { return point->subject; }};
const Field<const Point*> kKey = {"point", [](const Point* point) { return point->key(); }};
const Field<const Point*> kCoordinates = {
    "point", [](const Point* point) {
      constexpr std::string_view kOwnColumn[] = {"scope", "init"};
      const std::string key = point->key(kOwnColumn);
      return key.substr(std::min(key.size(), point->subject.size() + 1));
    }};

/// Axes that the benchmarks of a family have beside the common ones.
Strings own_axes(const Points& points) {
  Strings axes;
  for (const Point* point : points)
    for (const auto& [axis, value] : point->axes)
      if (std::find(std::begin(kCommonAxes), std::end(kCommonAxes), axis) == std::end(kCommonAxes) &&
          std::find(axes.begin(), axes.end(), axis) == axes.end())
        axes.push_back(axis);
  return axes;
}

/// The points whose operands stand for their benchmark: cycles do not depend on them.
Points with_measured_init(const SweepResult& result, Points points) {
  std::map<std::string_view, std::string_view> inits;
  std::erase_if(points, [&](const Point* point) {
    const auto [at, fresh] = inits.try_emplace(point->subject);
    if (fresh) at->second = measured_init(result, point->subject);
    return !point->axis("init").empty() && point->axis("init") != at->second;
  });
  return points;
}

/// One line per benchmark and set of its own coordinates: latency, convergence, best rate.
Table chains_table(const SweepResult& result, const Points& points, const Strings& axes,
                   const std::string& rate) {
  struct Grid {
    const Point *best, *one;
    Query query;
    Points points;
  };
  std::vector<Grid> grids;
  for (const Points& group : grouped(with_measured_init(result, points), key_without(kGridAxes))) {
    const Point* best = *std::max_element(group.begin(), group.end(), [](const Point* x, const Point* y) {
      return x->rate().value_or(0) < y->rate().value_or(0);
    });
    if (!best->rate()) continue;
    Query query{.subject = best->subject, .init = best->axis("init")};
    for (const std::string& axis : axes) query.others.emplace_back(axis, best->axis(axis));
    const Point* one = find_point(group, query);
    grids.push_back({best, one, std::move(query), group});
  }
  std::vector<Field<Grid>> fields = {{"instruction", [](const Grid& grid) { return grid.best->subject; }}};
  for (const std::string& axis : axes)
    fields.push_back({axis, [axis](const Grid& grid) { return grid.best->axis(axis); }});
  const auto converges = [&](int warps) {
    return [warps](const Grid& grid) { return text_of(convergence_of(grid.points, grid.query, warps)); };
  };
  const auto cycles = [](const Grid& grid) {
    return grid.one == nullptr ? "-" : number_text(grid.one->get(tag::kCycles), 2);
  };
  const auto best = [](const Grid& grid) {
    return fmt::format("({},{}) {:.1f}", grid.best->number("warps"), grid.best->number("ilp"),
                       *grid.best->rate());
  };
  fields.insert(
      fields.end(),
      {{{"latency", true}, cycles},
       {"4 warps converge", converges(4)},
       {"8 warps converge", converges(8)},
       {"best " + std::string(rate), best},
       {{"of peak", true}, [](const Grid& grid) { return share_text(grid.best->get(tag::kShareHeld)); }},
       {"published latency",
        [](const Grid& grid) { return grid.one == nullptr ? "" : published_cycles(*grid.one); }}});
  return table_of(std::string("(warps, ILP) cycles, ") + rate, grids, fields);
}

std::string_view name_of_summary(std::string_view tag) {
  for (const SummarySpec& spec : summary_specs())
    if (spec.tag == tag) return spec.name;
  return tag;
}

/// One line per point with the fewest warps.
Table points_table(const SweepResult& result, const Points& points, const Strings& axes,
                   const std::string& rate) {
  Points shown = with_measured_init(result, points);
  const int warps = least_warps(shown);
  std::erase_if(shown, [&](const Point* point) { return point->number("warps") != warps; });
  std::vector<Field<const Point*>> fields = {kSubject};
  for (const std::string& axis : axes) fields.push_back(axis_column(axis, axis));
  fields.insert(fields.end(),
                {column("cycles", tag::kCycles, 2),
                 {{rate, true}, [](const Point* point) { return number_text(point->rate(), 1); }},
                 share_column("of peak", tag::kShareHeld)});
  // What the benchmarks themselves found.
  for (const char* tag :
       {tag::kNearHit, tag::kFarHit, tag::kNearMiss, tag::kFarMiss, tag::kFarShare, tag::kAgain, tag::kExpect,
        tag::kIssue, tag::kWait, tag::kLeastBlock, tag::kMostBlock, tag::kDistinct})
    if (std::any_of(shown.begin(), shown.end(),
                    [&](const Point* point) { return point->get(tag).has_value(); }))
      fields.push_back(column(name_of_summary(tag), tag, tag == tag::kFarShare ? 2 : 1));
  if (std::any_of(shown.begin(), shown.end(),
                  [](const Point* point) { return point->get(tag::kOperationsPerSecond); }))
    fields.push_back(column("Gop/s", tag::kOperationsPerSecond, 0, 1e-9));
  fields.push_back(published_column("published cycles", published_cycles));
  return table_of(warps_text(warps), shown, fields);
}

std::string_view family_of(const Point& point) {
  const Benchmark* benchmark = find_benchmark(point.subject);
  return benchmark == nullptr ? "Others" : benchmark->family;
}

std::vector<Section> family_sections(const SweepResult& result) {
  const Points measured = points_with(
      result, [](const Point& point) { return point.skipped.empty() && point.axis("scope") == "sm"; });
  std::vector<Section> sections;
  for (const Points& points : grouped(measured, family_of)) {
    const std::string_view family = family_of(*points.front());
    const std::string rate(rate_unit(*points.front()));
    const Strings axes = own_axes(points);
    Table table = has_chains(points) ? chains_table(result, points, axes, rate)
                                     : points_table(result, points, axes, rate);
    Section& section = sections.emplace_back();
    section.title = fmt::format("{} on one multiprocessor: {}", family, std::exchange(table.title, ""));
    section.folded = true;
    section.tables.push_back(std::move(table));
    section.figures = figures_of(family, points);
  }
  return sections;
}

Table gpu_table(const SweepResult& result) {
  const auto throttled = [](const Point* point) {
    return fmt::format("{:.0f}/{:.0f}", point->get(tag::kThrottled).value_or(0),
                       point->get(tag::kRuns).value_or(0));
  };
  return table_of(
      "The whole GPU, by CUDA events",
      points_with(result,
                  [](const Point& point) { return point.axis("scope") == "gpu" && point.get(tag::kFlops); }),
      {kSubject,
       kCoordinates,
       axis_column("operands", "init"),
       column("TFLOPS", tag::kFlops, 1, 1e-12),
       share_column("noise", tag::kEventsNoise),
       column("MHz held", tag::kClock, 0, 1e-6),
       {"throttled", throttled},
       share_column("power cap named", tag::kPowerCap),
       share_column("of peak held", tag::kShareHeld),
       share_column("of nominal", tag::kShareNominal),
       published_column("published", published_rates)});
}

Table bytes_table(const SweepResult& result) {
  return table_of("Bytes of the whole GPU, by CUDA events",
                  points_with(result, [](const Point& point) { return point.get(tag::kBytesPerSecond); }),
                  {kSubject,
                   kCoordinates,
                   column("GB/s", tag::kBytesPerSecond, 0, 1e-9),
                   {{"of memory's peak", true},
                    [](const Point* point) {
                      // What arrives in several blocks of a cluster is not read as often.
                      const bool alone = point->axis("cluster").empty() || point->axis("cluster") == "1";
                      const bool memory = point->axis("level") == "memory" && point->get(tag::kMemoryPeak);
                      return memory && alone ? share_text(*point->get(tag::kBytesPerSecond) /
                                                          *point->get(tag::kMemoryPeak))
                                             : std::string("-");
                    }},
                   column("B/clk/SM", tag::kBytes, 1),
                   share_column("noise", tag::kEventsNoise),
                   column("MHz held", tag::kClock, 0, 1e-6),
                   published_column("published", published_bytes)});
}

Table operations_table(const SweepResult& result) {
  return table_of("Operations of the whole GPU, by CUDA events",
                  points_with(result,
                              [](const Point& point) {
                                return point.axis("scope") == "gpu" && point.get(tag::kOperationsPerSecond);
                              }),
                  {kSubject, kCoordinates, column("Gop/s", tag::kOperationsPerSecond, 0, 1e-9),
                   column("op/clk/SM", tag::kOperations, 1), share_column("of peak", tag::kShareHeld),
                   share_column("noise", tag::kEventsNoise), column("MHz held", tag::kClock, 0, 1e-6),
                   published_column("published", published_bytes)});
}

Table energy_table(const SweepResult& result) {
  return table_of(
      "Energy at steady state, the whole GPU",
      points_with(result, [](const Point& point) { return point.get(tag::kWatts); }),
      {kSubject, kCoordinates, axis_column("operands", "init"), column("TFLOPS", tag::kFlops, 1, 1e-12),
       column("MHz held", tag::kClock, 0, 1e-6), column("W", tag::kWatts, 1), column("limit", tag::kLimit, 0),
       share_column("power cap named", tag::kPowerCap), share_column("thermal named", tag::kThermal),
       column("TFLOPS/W", tag::kFlopsPerWatt, 2, 1e-12),
       published_column("published TFLOPS/W", published_efficiency)});
}

Table findings_table(const SweepResult& result) {
  std::vector<Finding> judged = findings_of(result);
  std::erase_if(judged, [](const Finding& finding) { return !finding.holds && finding.needs.empty(); });
  return table_of<Finding>(
      "What the grid says", judged,
      {{"holds", [](const Finding& one) { return !one.holds   ? "not decided"
                                                 : *one.holds ? "yes"
                                                              : "no"; }},
       {"statement", [](const Finding& one) { return one.statement; }},
       {"measured", [](const Finding& one) { return one.holds ? one.measured : "needs " + one.needs; }},
       {"first in", [](const Finding& one) { return one.source; }}});
}

Table skipped_table(const SweepResult& result) {
  const Points skipped = points_with(result, [](const Point& point) { return !point.skipped.empty(); });
  return table_of<Points>(
      "Not measured", grouped(skipped, [](const Point& point) { return std::string_view(point.skipped); }),
      {{"reason", [](const Points& points) { return points.front()->skipped; }},
       {{"points", true}, [](const Points& points) { return std::to_string(points.size()); }},
       {"for example", [](const Points& points) { return points.front()->key(); }}});
}

/// One line per subject: how many points fall, and the worst.
Table falls_table(const SweepResult& result) {
  const auto worst = [](const Points& points) {
    return *std::max_element(points.begin(), points.end(), [](const Point* x, const Point* y) {
      return *x->get(tag::kFalls) < *y->get(tag::kFalls);
    });
  };
  const Points falls =
      points_with(result, [](const Point& point) { return point.get(tag::kFalls).has_value(); });
  return table_of<Points>(
      "Falls although warps or chains rise", grouped(falls, [](const Point& one) { return one.subject; }),
      {{{"points", true}, [](const Points& points) { return std::to_string(points.size()); }},
       {{"most", true},
        [worst](const Points& points) { return share_text(worst(points)->get(tag::kFalls)); }},
       {"at", [worst](const Points& points) { return worst(points)->key(); }}});
}

Table wrong_table(const SweepResult& result) {
  return table_of(
      "WRONG BITS",
      points_with(result, [](const Point& point) { return point.get(tag::kDiffering).value_or(0) > 0; }),
      {kKey, column("differing", tag::kDiffering, 0), column("compared", tag::kCompared, 0)});
}

std::string method_of(const SweepResult& result) {
  double compared = 0;
  int measured = 0, checked = 0, read = 0;
  for (const Point& point : result.points) {
    measured += point.skipped.empty() ? 1 : 0;
    checked += point.get(tag::kCompared) ? 1 : 0;
    compared += point.get(tag::kCompared).value_or(0);
    read += point.get(tag::kPerStep) ? 1 : 0;
  }
  return fmt::format(
      "medians of {} to {} runs after {} warm-ups, until the quartiles are within {}%; {} points, {} of them "
      "checked: {:.0f} elements of D against the model, {} points wrong; the code of {} was read{}",
      result.rule.least, result.rule.most, result.rule.warm_ups, 100 * result.rule.noise, measured, checked,
      compared, result.wrong(), read,
      result.interrupted ? "; interrupted: not every point was measured" : "");
}

Table records_of(const SweepResult& result) {
  std::vector<Field<const Point*>> fields = {
      {"device", [&result](const Point*) { return result.provenance.gpu; }},
      {"subject", [](const Point* point) { return point->subject; }}};
  for (const AxisSpec& spec : axis_specs()) fields.push_back(axis_column(spec.name, std::string(spec.name)));
  fields.push_back({"skipped", [](const Point* point) { return point->skipped; }});
  for (const SummarySpec& spec : summary_specs())
    fields.push_back({spec.tag, [tag = spec.tag](const Point* point) {
                        const std::optional<double> value = point->get(tag);
                        return value ? fmt::format("{}", *value) : "";
                      }});
  return table_of("", points_with(result, [](const Point&) { return true; }), fields);
}

}  // namespace

Strings origin_of(const Provenance& from) {
  return {fmt::format("{}, compute capability {}, {} multiprocessors, up to {:.0f} MHz, driver {}, CUDA {}",
                      from.gpu, capability_text(from.compute_capability), from.multiprocessors,
                      1e-6 * from.nominal_hz, from.driver, from.cuda),
          fmt::format("mmaudit {} ({}), {}", from.version, from.revision, from.date)};
}

std::string to_csv(const SweepResult& result) {
  std::string text = report::to_csv(records_of(result));
  std::erase(text, '\r');  // the lines of a sweep.csv end in LF
  return text;
}

report::Report report_of(const SweepResult& result, std::span<const SweepResult> ceilings) {
  report::Report report{.title = fmt::format("Speed of {}{}", result.provenance.gpu,
                                             result.provenance.revision.ends_with("-dirty")
                                                 ? ", by a program built from uncommitted changes"
                                                 : "")};
  report.meta = origin_of(result.provenance);
  if (!result.gate.empty()) report.meta.push_back(result.gate);
  report.meta.push_back(method_of(result));
  report.sections.push_back(section_of(findings_table(result)));
  for (Section& section : memory_sections(result)) report.sections.push_back(std::move(section));
  report.sections.push_back(roofline_section(result, ceilings));
  for (Section& section : family_sections(result)) report.sections.push_back(std::move(section));
  for (const auto table :
       {gpu_table, bytes_table, operations_table, energy_table, falls_table, skipped_table, wrong_table}) {
    report.sections.push_back(section_of(table(result)));
    report.sections.back().folded = true;
  }
  report.json = [result] { return to_json(result); };
  return report;
}

}  // namespace mmaudit::sweeps
