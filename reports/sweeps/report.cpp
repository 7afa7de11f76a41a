#include "sweeps/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/fields.hpp"
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

/// What a summary of a point is, as a column.
auto get(const char* tag) {
  return [tag](const Point* point) { return point->get(tag); };
}
Field<const Point*> axis_column(std::string_view header, std::string axis) {
  return {header, [axis](const Point* point) { return point->axis(axis); }};
}
Field<const Point*> published_column(std::string_view header, std::string (*published)(const Point&),
                                     bool wide_only = false) {
  return {{header, false, wide_only}, [published](const Point* point) { return published(*point); }};
}
const auto kRate = [](const Point* point) { return point->rate(); };
const Field<const Point*> kSubject = {"instruction", &Point::subject};
const Field<const Point*> kGigaOperations = number_column("Gop/s", get(tag::kOperationsPerSecond), 0, 1e-9);
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
    const Point* best = highest(group, &Point::rate);
    if (best == nullptr) continue;
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
    return grid.one == nullptr ? std::nullopt : grid.one->get(tag::kCycles);
  };
  const auto best = [](const Grid& grid) {
    return fmt::format("({},{}) {:.1f}", grid.best->number("warps"), grid.best->number("ilp"),
                       *grid.best->rate());
  };
  fields.insert(fields.end(),
                {number_column("latency", cycles, 2),
                 {"4 warps converge", converges(4)},
                 {"8 warps converge", converges(8)},
                 {"best " + std::string(rate), best},
                 share_column("of peak", [](const Grid& grid) { return grid.best->get(tag::kShareHeld); }),
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
  fields.insert(fields.end(), {number_column("cycles", get(tag::kCycles), 2), number_column(rate, kRate, 1),
                               share_column("of peak", get(tag::kShareHeld))});
  // What the benchmarks themselves found.
  const auto any_has = [&](const char* tag) {
    return std::any_of(shown.begin(), shown.end(), [&](const Point* point) { return point->get(tag); });
  };
  for (const char* tag :
       {tag::kNearHit, tag::kFarHit, tag::kNearMiss, tag::kFarMiss, tag::kFarShare, tag::kAgain, tag::kExpect,
        tag::kIssue, tag::kWait, tag::kLeastBlock, tag::kMostBlock, tag::kDistinct})
    if (any_has(tag))
      fields.push_back(number_column(name_of_summary(tag), get(tag), tag == tag::kFarShare ? 2 : 1));
  if (any_has(tag::kOperationsPerSecond)) fields.push_back(kGigaOperations);
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

std::vector<Section> findings_sections(const SweepResult& result) {
  std::vector<Finding> judged = findings_of(result);
  std::erase_if(judged, [](const Finding& finding) { return !finding.holds && finding.needs.empty(); });
  return table_or_lines(
      table_of<Finding>(
          "What the grid says", judged,
          {{"holds",
            [](const Finding& one) { return !one.holds   ? "not decided"
                                            : *one.holds ? "yes"
                                                         : "no"; }},
           {"statement", &Finding::statement},
           {"measured", [](const Finding& one) { return one.holds ? one.measured : "needs " + one.needs; }},
           {"first in", &Finding::source}}),
      "{0}: {1} ({3}): {2}");
}

Table skipped_table(const SweepResult& result) {
  const Points skipped = points_with(result, [](const Point& point) { return !point.skipped.empty(); });
  return table_of<Points>(
      "Not measured", grouped(skipped, [](const Point& point) { return std::string_view(point.skipped); }),
      {{"reason", [](const Points& points) { return points.front()->skipped; }},
       number_column("points", &Points::size),
       {"for example", [](const Points& points) { return points.front()->key(); }}});
}

/// One line per subject: how many points fall, and the worst.
Table falls_table(const SweepResult& result) {
  const auto fall = [](const Point& point) { return point.get(tag::kFalls); };
  const auto worst = [=](const Points& points) { return highest(points, fall); };
  return table_of<Points>(
      "Falls although warps or chains rise",
      grouped(points_with(result, [=](const Point& one) { return fall(one).has_value(); }),
              [](const Point& one) { return one.subject; }),
      {number_column("points", &Points::size),
       share_column("most", [=](const Points& points) { return fall(*worst(points)); }),
       {"at", [=](const Points& points) { return worst(points)->key(); }}});
}

/// What was measured on all multiprocessors, and what was found wrong.
std::vector<Table> gpu_tables(const SweepResult& result) {
  const auto having = [&](const char* tag, std::string_view scope = "") {
    return points_with(result, [=](const Point& point) {
      return point.get(tag) && (scope.empty() || point.axis("scope") == scope);
    });
  };
  const auto throttled = [](const Point* point) {
    return fmt::format("{:.0f}/{:.0f}", point->get(tag::kThrottled).value_or(0),
                       point->get(tag::kRuns).value_or(0));
  };
  const auto noise = share_column("noise", get(tag::kEventsNoise));
  const auto clock = number_column("MHz held", get(tag::kClock), 0, 1e-6);
  const auto tera = number_column("TFLOPS", get(tag::kFlops), 1, 1e-12);
  const auto cap = share_column("power cap named", get(tag::kPowerCap));
  const auto operands = axis_column("operands", "init");
  const auto wrong =
      points_with(result, [](const Point& point) { return point.get(tag::kDiffering).value_or(0) > 0; });
  return {
      table_of("The whole GPU, by CUDA events", having(tag::kFlops, "gpu"),
               {kSubject,
                kCoordinates,
                operands,
                tera,
                noise,
                clock,
                {"throttled", throttled},
                cap,
                share_column("of peak held", get(tag::kShareHeld)),
                share_column("of nominal", get(tag::kShareNominal)),
                published_column("published", published_rates, true)}),
      table_of("Bytes of the whole GPU, by CUDA events", having(tag::kBytesPerSecond),
               {kSubject, kCoordinates, number_column("GB/s", get(tag::kBytesPerSecond), 0, 1e-9),
                share_column("of memory's peak", [](const Point* point) { return share_of_memory(*point); }),
                number_column("B/clk/SM", get(tag::kBytes), 1), noise, clock,
                published_column("published", published_bytes, true)}),
      table_of("Operations of the whole GPU, by CUDA events", having(tag::kOperationsPerSecond, "gpu"),
               {kSubject, kCoordinates, kGigaOperations, number_column("op/clk/SM", get(tag::kOperations), 1),
                share_column("of peak", get(tag::kShareHeld)), noise, clock,
                published_column("published", published_bytes, true)}),
      table_of(
          "Energy at steady state, the whole GPU", having(tag::kWatts),
          {kSubject, kCoordinates, operands, tera, clock, number_column("W", get(tag::kWatts), 1),
           number_column("limit", get(tag::kLimit)), cap, share_column("thermal named", get(tag::kThermal)),
           number_column("TFLOPS/W", get(tag::kFlopsPerWatt), 2, 1e-12),
           published_column("published TFLOPS/W", published_efficiency, true)}),
      falls_table(result),
      skipped_table(result),
      table_of("WRONG BITS", wrong,
               {{"point", [](const Point* point) { return point->key(); }},
                number_column("differing", get(tag::kDiffering)),
                number_column("compared", get(tag::kCompared))})};
}

/// A mean power above the enforced limit is no property of the GPU.
std::vector<std::string> above_limit(const SweepResult& result) {
  const auto over = [](const Point& point) {
    return point.get(tag::kWatts).value_or(0) > point.get(tag::kLimit).value_or(1e9);
  };
  const Points points = points_with(result, over);
  if (points.empty()) return {};
  const Point& most = *highest(points, [](const Point& point) { return point.get(tag::kWatts); });
  return {fmt::format(
      "{} points have a power above the enforced limit, up to {:.0f} W of {:.0f} W ({}): that is an "
      "error of the measurement, which a larger --energy-seconds makes smaller",
      points.size(), *most.get(tag::kWatts), *most.get(tag::kLimit), most.key())};
}

/// How it was measured, and the verdict.
void add_method(report::Report& report, const SweepResult& result) {
  double compared = 0;
  int measured = 0, checked = 0, read = 0;
  for (const Point& point : result.points) {
    measured += point.skipped.empty() ? 1 : 0;
    checked += point.get(tag::kCompared) ? 1 : 0;
    compared += point.get(tag::kCompared).value_or(0);
    read += point.get(tag::kPerStep) ? 1 : 0;
  }
  report.lead.push_back(fmt::format(
      "medians of {} to {} runs after {} warm-ups, until the quartiles are within {}%; the code of {} points "
      "was read",
      result.rule.least, result.rule.most, result.rule.warm_ups, 100 * result.rule.noise, read));
  report.headline =
      fmt::format("{} points, {} of them checked: {:.0f} elements of D against the model, {} points wrong{}",
                  measured, checked, compared, result.wrong(),
                  result.interrupted ? "; interrupted: not every point was measured" : "");
  report.tone = result.wrong() != 0                  ? report::Tone::bad
                : result.interrupted || checked == 0 ? report::Tone::note
                                                     : report::Tone::good;
}

Table records_of(const SweepResult& result) {
  std::vector<Field<const Point*>> fields = {
      {"device", [&result](const Point*) { return result.provenance.gpu; }}, {"subject", &Point::subject}};
  for (const AxisSpec& spec : axis_specs()) fields.push_back(axis_column(spec.name, std::string(spec.name)));
  fields.push_back({"skipped", &Point::skipped});
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
  report.lead = origin_of(result.provenance);
  if (!result.gate.empty()) report.lead.push_back(result.gate);
  add_method(report, result);
  report.warnings.title = "Look at this first";
  report.warnings.lines = above_limit(result);
  report.sections = findings_sections(result);
  for (Section& section : memory_sections(result)) report.sections.push_back(std::move(section));
  report.sections.push_back(roofline_section(result, ceilings));
  for (Section& section : family_sections(result)) report.sections.push_back(std::move(section));
  for (Table& table : gpu_tables(result)) {
    report.sections.push_back(section_of(std::move(table)));
    report.sections.back().folded = true;
  }
  report.json = [result] { return to_json(result); };
  report.records = records_of(result);
  report.provenance = result.provenance;
  return report;
}

}  // namespace mmaudit::sweeps
