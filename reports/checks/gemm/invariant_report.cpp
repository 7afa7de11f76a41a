// Ranges of M as a report.
#include <fmt/format.h>

#include <cmath>

#include "gemm/invariant.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Section;
using report::Table;
using report::Tone;

std::string layer_of(const GemmProblem& layer) {
  return fmt::format("{} -> {} {} N {} K {}", name_of(layer.type), name_of(output_of(layer)),
                     layout_of(layer), layer.n, layer.k);
}

std::string json_of(const InvariantResult& result) {
  Json ranges = Json::array();
  for (const InvariantRange& each : result.ranges)
    ranges.push_back({{"first", each.first},
                      {"last", each.last},
                      {"plans", each.plans},
                      {"elements", each.elements},
                      {"differing", each.differing},
                      {"worst_ulp", each.worst_ulp},
                      {"predicted", each.predicted}});
  Json costs = Json::array();
  for (const PinnedCost& each : result.costs)
    costs.push_back({{"m", each.m}, {"pinned_s", each.pinned}, {"heuristic_s", each.heuristic}});
  return document({{"schema", "mmaudit.gemm.invariant/1"},
                   {"type", name_of(result.layer.type)},
                   {"layout", layout_of(result.layer)},
                   {"n", result.layer.n},
                   {"k", result.layer.k},
                   {"ranges", std::move(ranges)},
                   {"refused", result.refused},
                   {"unknown", result.unknown},
                   {"wrong", result.wrong},
                   {"seconds", result.seconds},
                   {"workspace", result.layer.workspace},
                   {"costs", std::move(costs)}},
                  1);
}

std::string plans_of(const InvariantRange& each) {
  return each.plans.front() +
         (each.plans.size() == 1 ? "" : fmt::format(" and {} more", each.plans.size() - 1));
}

Table ranges_of(const InvariantResult& result) {
  const auto changed =
      [](std::uint64_t InvariantRange::*which) {  // against the range before: not of the first
        return [which](const InvariantRange& each) {
          return each.elements == 0 ? std::string() : std::to_string(each.*which);
        };
      };
  return report::table_of<InvariantRange>(
      "Ranges of M", result.ranges,
      {{{"M from", true}, [](const InvariantRange& each) { return std::to_string(each.first); }},
       {{"to", true}, [](const InvariantRange& each) { return std::to_string(each.last); }},
       {{"changed elements", true}, changed(&InvariantRange::differing)},
       {{"of", true}, changed(&InvariantRange::elements)},
       {{"largest change, ulp", true},
        [&](const InvariantRange& each) {
          return each.differing != 0 && each.worst_ulp == 0 ? std::string("0: signs of zeros")
                                                            : changed(&InvariantRange::worst_ulp)(each);
        }},
       {{"the plans say so"},
        [](const InvariantRange& each) { return each.predicted ? Cell("yes") : Cell("no", Tone::note); }},
       {{"plan"}, plans_of}});
}

Table costs_of(const InvariantResult& result) {
  const auto microseconds = [](double seconds) {
    return seconds == 0 ? std::string("refused") : fmt::format("{:.1f}", seconds * 1e6);
  };
  return report::table_of<PinnedCost>(
      "What one algorithm for every M costs", result.costs,
      {{{"M", true}, [](const PinnedCost& each) { return std::to_string(each.m); }},
       {{"pinned, us", true}, [&](const PinnedCost& each) { return microseconds(each.pinned); }},
       {{"heuristic, us", true}, [&](const PinnedCost& each) { return microseconds(each.heuristic); }}});
}

/// A picture: the ranges of M along a logarithmic axis.
std::string svg_of(const InvariantResult& result) {
  constexpr double kWidth = 900, kHeight = 90, kLeft = 10;
  const double last = std::log2(static_cast<double>(result.ranges.back().last) + 1);
  const auto x_of = [&](std::uint64_t m) {
    return kLeft + (kWidth - 2 * kLeft) * std::log2(static_cast<double>(m)) / last;
  };
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"currentColor\" "
      "role=\"img\" aria-label=\"ranges of M\">\n",
      kWidth, kHeight);
  constexpr const char* kShades[] = {"#4477aa", "#ddaa33"};
  for (std::size_t i = 0; i < result.ranges.size(); ++i) {
    const InvariantRange& each = result.ranges[i];
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"20\" width=\"{:.1f}\" height=\"30\" fill=\"{}\"><title>M {} to {}: "
        "{}</title></rect>\n",
        x_of(each.first), x_of(each.last + 1) - x_of(each.first), kShades[i % 2], each.first, each.last,
        each.plans.front());
  }
  for (std::uint64_t m = 1; m <= result.ranges.back().last; m *= 2)
    out += fmt::format("<text x=\"{:.1f}\" y=\"68\">{}</text>\n", x_of(m), m);
  return out + fmt::format(
                   "<text x=\"{}\" y=\"84\">M; a row of D keeps its bits within one colour</text>\n</svg>\n",
                   kLeft);
}

}  // namespace

report::Report report_of(const InvariantResult& result) {
  const std::uint64_t predicted = result.tried - result.refused.size() - result.unknown;
  const std::size_t ranges = result.ranges.size();
  report::Report out;
  out.title = "Over which M a row of D keeps its bits";
  out.text_title = layer_of(result.layer);
  out.meta = {out.text_title};
  out.headline = ranges == 0         ? "The library refuses every M: " + result.why_refused
                 : predicted == 0    ? "Nothing is checked: no M has a known plan"
                 : result.wrong != 0 ? fmt::format("{} elements are not as their plans say", result.wrong)
                 : ranges == 1       ? "A row of D keeps its bits over every M"
                                     : fmt::format("A row of D keeps its bits within {} ranges of M", ranges);
  if (!result.unproven.empty()) out.headline += "; " + result.unproven;
  out.tone = predicted == 0 || result.wrong != 0 ? Tone::bad : Tone::good;
  out.lead = {
      fmt::format("{} M tried, {} without a known plan, {} refused by the library; {} predicted elements "
                  "wrong; {:.3f} ms for all products",
                  result.tried, result.unknown, result.refused.size(), result.wrong, result.seconds * 1e3)};
  out.json = [&result] { return json_of(result); };
  Section& section = out.sections.emplace_back(section_of(ranges_of(result)));
  if (ranges != 0) section.figures = {svg_of(result)};
  section.layout = report::Layout::wide;
  out.sections.push_back(section_of(costs_of(result)));
  return out;
}

}  // namespace mmaudit::checks
