#include "convolution_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Table;
using report::Tone;

std::uint64_t differences(const std::vector<std::uint64_t>& x, const std::vector<std::uint64_t>& y) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += x[i] != y[i] ? 1U : 0U;
  return count;
}

bool says_something(const std::vector<std::uint64_t>& outputs, const FormatSpec& format) {
  return std::any_of(outputs.begin(), outputs.end(), [&](std::uint64_t bits) {
    const double value = decode_value(bits, format);
    return std::isfinite(value) && value != 0;
  });
}

std::string pixel_text(const conv::Pixel& pixel) {
  return pixel.padding() ? "zeros" : fmt::format("{}:{},{}", pixel.image, pixel.y, pixel.x);
}

Table schedules_of(const Schedules& found) {
  const auto count = [](std::uint64_t conv::Counts::*which) {
    return [which](const ScheduleOutcome& one) { return std::to_string(one.counts.*which); };
  };
  const auto wrong = [&](const ScheduleOutcome& one) -> Cell {
    if (!found.compared && one.wrong == 0) return "-";
    return {std::to_string(one.wrong), one.wrong == 0 ? Tone::good : one.right ? Tone::bad : Tone::note};
  };
  return report::table_of<ScheduleOutcome>(
      {}, found.outcomes,
      {{{"schedule"}, [](const ScheduleOutcome& one) { return one.name; }},
       {{"loads", true}, count(&conv::Counts::loads)},
       {{"again", true}, count(&conv::Counts::reloads)},
       {{"shifts", true}, count(&conv::Counts::shifts)},
       {{"masked", true}, count(&conv::Counts::masked)},
       {{"mma", true}, count(&conv::Counts::instructions)},
       {{fmt::format("wrong of {}", found.reference.size()), true}, wrong},
       {{"what it does"}, [](const ScheduleOutcome& one) { return one.what; }}});
}

}  // namespace

Schedules compare_schedules(const conv::Problem& problem, int lanes, const Backend* gpu) {
  Schedules out;
  out.reference = reference(problem);
  out.compared = says_something(out.reference, spec_of(problem.instruction.d));
  const auto add = [&](std::string name, std::string what, const conv::Result& result, bool right = true) {
    out.outcomes.push_back(
        {std::move(name), std::move(what), result.counts, differences(result.d, out.reference), right});
  };
  for (const conv::Algorithm& one : conv::kAlgorithms)
    add(std::string(one.name), std::string(one.what), convolve(problem, one, lanes), one.right);
  if (gpu != nullptr)
    add(fmt::format("{} live", conv::kAlgorithms[0].name), "the same on " + gpu->name,
        convolve(problem, conv::kAlgorithms[0], lanes, gpu));
  for (const bool ashift : {false, true}) {
    const conv::InTensorMemory how{conv::kAlgorithms[2], lanes, ashift};
    if (std::string reason = why_not(problem, how); !reason.empty()) {
      out.left_out = std::move(reason);
      continue;
    }
    add(ashift ? "halo .ashift" : "halo tmem",
        ashift ? "halo tmem, every second shift by the mma" : "halo in tensor memory, 4 tiles at once",
        convolve(problem, how));
  }
  return out;
}

report::Section lanes_of(const conv::Shape& shape, int first, int row, int lanes) {
  if (first >= shape.positions()) refuse("--table: found {}, allowed: 0 to {}", first, shape.positions() - 1);
  if (row >= shape.rows) refuse("--filter-row: found {}, allowed: 0 to {}", row, shape.rows - 1);
  lanes = std::min(lanes, shape.positions() - first);
  Table table{.columns = {{"lane", true}, "output"}};
  for (int lane = 0; lane < lanes; ++lane) {
    table.rows.push_back({std::to_string(lane), pixel_text(output_at(shape, first + lane))});
  }
  for (const conv::Run& run : runs_of(shape)) {
    if (run.r != row) continue;
    const std::vector<conv::Place> places = schedule_of(shape, run, conv::kAlgorithms[1], first, lanes);
    const auto held = lanes_at(places, true, lanes);
    for (std::size_t j = 0; j < places.size(); ++j) {
      table.columns.emplace_back(fmt::format("s = {}", places[j].s));
      for (std::size_t lane = 0; lane < held[j].size(); ++lane)
        table.rows[lane].emplace_back(pixel_text(held[j][lane]) + (places[j].masked[lane] ? " masked" : ""));
    }
  }
  return {.title = fmt::format("Lanes of output positions {} to {}, filter row {}, by \"shift\" (image:y,x)",
                               first, first + lanes - 1, row),
          .tables = {table}};
}

report::Report report_of(const Schedules& found, const conv::Shape& shape, const std::string& by) {
  std::uint64_t wrong = 0;
  for (const ScheduleOutcome& one : found.outcomes) wrong += one.right ? one.wrong : 0;
  report::Report out;
  out.title = "A convolution by every schedule of loads";
  out.headline =
      !found.compared ? "Nothing compared: no output of the reference is a finite number other than 0, "
                        "which every schedule gives."
      : wrong == 0    ? fmt::format("Every schedule gives the bits of the reference in all {} outputs.",
                                    found.reference.size())
                      : fmt::format("Schedules differ from the reference in {} outputs.", wrong);
  out.tone = found.compared && wrong == 0 ? Tone::good : Tone::bad;
  out.lead = {
      fmt::format("{} x {} x {} x {} (images, height, width, channels), {} filters of {} x {}", shape.images,
                  shape.height, shape.width, shape.channels, shape.filters, shape.rows, shape.columns),
      fmt::format("stride {} x {}, padding {} x {}, dilation {} x {}", shape.stride_y, shape.stride_x,
                  shape.padding_y, shape.padding_x, shape.dilation_y, shape.dilation_x),
      fmt::format("-> {} x {} x {} x {} (images, height, width, filters)", shape.images, shape.out_height(),
                  shape.out_width(), shape.filters),
      by};
  report::Section& section = out.sections.emplace_back(report::Section{.title = "Schedules"});
  section.tables = {schedules_of(found)};
  if (!found.left_out.empty()) section.notes.push_back("In tensor memory: not run. " + found.left_out);
  section.notes.emplace_back("\"printed\" and \"unmasked\" are mistakes on purpose, which fail nothing.");
  return out;
}

}  // namespace mmaudit::checks
