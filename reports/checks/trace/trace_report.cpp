// What differs between two traces, for a person.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "mmaudit/report/fields.hpp"
#include "trace/trace.hpp"

namespace mmaudit::checks {
namespace {

using report::Report;
using report::Tone;

std::string place_of(const TraceDiff& diff, const TraceFinding& of) {
  const TraceOperation& a = diff.a->operations[of.a];
  const std::string module = a.module.empty() ? "the module" : a.module;
  const std::string operation = a.name == "module" ? module : fmt::format("{} {}", module, a.name);
  return of.what.empty() ? operation : fmt::format("{} of {}", of.what, operation);
}

std::string relative_text(const std::optional<double>& relative) {
  return relative ? fmt::format("{:.2e}", *relative) : "-";
}

/// [entry, position] each.
Json tokens_of(const TraceFinding& of, TraceToken TokenPair::*side) {
  Json out = Json::array();
  for (const TokenPair& each : of.tokens)
    out.push_back(std::vector<std::uint64_t>{(each.*side).entry, (each.*side).position});
  return out;
}

Json json_of(const TraceDiff& diff) {
  Json findings = Json::array(), further = Json::array(), growth = Json::array();
  for (const TraceFinding& each : diff.findings) {
    const TraceOperation &a = diff.a->operations[each.a], &b = diff.b->operations[each.b];
    findings.push_back({{"module", a.module},
                        {"operator", a.name},
                        {"module_b", b.module},
                        {"operator_b", b.name},
                        {"operation_a", each.a},
                        {"operation_b", each.b},
                        {"tensor", each.what},
                        {"cause", each.cause.kind},
                        {"text", each.cause.text},
                        {"proof", kTraceProof[static_cast<int>(each.cause.proof)]},
                        {"rows", each.rows},
                        {"differing", each.differing},
                        {"tokens", tokens_of(each, &TokenPair::a)},
                        {"tokens_b", tokens_of(each, &TokenPair::b)}});
  }
  for (const TraceFurther& each : diff.further)
    further.push_back({{"cause", each.cause.kind},
                       {"text", each.cause.text},
                       {"operations", each.operations},
                       {"first", each.first}});
  for (const TraceGrowth& each : diff.growth)
    growth.push_back({{"module", each.module},
                      {"rows", each.rows},
                      {"differing", each.differing},
                      {"relative", each.relative}});
  return {{"schema", kTraceDiffSchema},
          {"a", diff.a->file},
          {"b", diff.b->file},
          {"same", diff.same()},
          {"operations", diff.operations},
          {"tokens", diff.tokens},
          {"only_a", diff.only_a},
          {"only_b", diff.only_b},
          {"findings", findings},
          {"further", further},
          {"growth", growth},
          {"machine", diff.machine},
          {"gpus", diff.gpus},
          {"unseen", diff.unseen}};
}

std::string headline_of(const TraceDiff& diff) {
  if (diff.same())
    return fmt::format("no difference: {} operations, {} tokens, bit for bit", diff.operations, diff.tokens);
  if (diff.findings.empty())
    return fmt::format("results differ from {} on, and no operation was seen to cause it", diff.unseen);
  const TraceFinding& first = diff.findings.front();
  return fmt::format("first difference: {}: {}: {} ({})", place_of(diff, first), first.cause.kind,
                     first.cause.text, kTraceProof[static_cast<int>(first.cause.proof)]);
}

/// Whether values that both sides kept may prove a cause.
bool by_values(const TraceFinding& of, const TraceOperation& a) {
  return of.cause.proof == TraceProof::suspected && of.what.empty() && a.name != "module" &&
         (a.gemm || of.cause.kind == "attention plan" || of.cause.kind == "row reduction");
}

/// How a run of both sides again proves a cause that is only suspected; empty: none is.
std::string again_text(const TraceDiff& diff) {
  for (const TraceFinding& each : diff.findings)
    if (const TraceOperation& a = diff.a->operations[each.a];
        by_values(each, a) &&
        std::none_of(diff.findings.begin(), diff.findings.end(), [&](const TraceFinding& other) {
          return other.cause.proof == TraceProof::proven && other.cause.text == each.cause.text;
        })) {
      const TraceOperation& b = diff.b->operations[each.b];
      if (a.gemm && !a.gemm->rows.empty() && b.gemm && !b.gemm->rows.empty())
        return fmt::format(
            "The values that were kept of {} do not prove it: rows that differ may not be among them. "
            "keep=trace_diff(...) keeps such rows",
            place_of(diff, each));
      std::string keep = fmt::format("\"{}:{}\"", a.module, a.name);
      if (a.module != b.module || a.name != b.name) keep += fmt::format(", \"{}:{}\"", b.module, b.name);
      return fmt::format("To prove what is suspected, trace both again with values: keep=[{}]", keep);
    }
  return {};
}

/// Rows of findings for a person: of those with one cause, such as all weights of another type, the first
/// few.
report::Table in_short(const TraceDiff& diff, report::Table table) {
  constexpr std::size_t kShown = 3;
  const auto key = [&](const TraceFinding& of) {
    return std::tuple(of.cause.kind, of.cause.text, of.cause.proof,
                      of.what.empty() ? diff.a->operations[of.a].name : "");
  };
  std::map<decltype(key(diff.findings[0])), std::size_t> all, told;
  for (const TraceFinding& each : diff.findings) ++all[key(each)];
  auto rows = std::exchange(table.rows, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto of = key(diff.findings[i]);
    if (++told[of] > kShown) continue;
    if (told[of] == kShown && all[of] > kShown)
      rows[i][0].text += fmt::format(" and {} more", all[of] - kShown);
    table.rows.push_back(std::move(rows[i]));
  }
  return table;
}

/// Modules of which a figure has one point each: the layers of a network, else all.
std::vector<TraceGrowth> layers_of(const TraceDiff& diff) {
  std::vector<TraceGrowth> out;
  for (const TraceGrowth& each : diff.growth) {
    const std::string last = each.module.substr(each.module.rfind('.') + 1);
    if (each.module.empty() ||
        (!last.empty() && std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; })))
      out.push_back(each);
  }
  return out.size() > 1 ? out : diff.growth;
}

}  // namespace

Report report_of(const TraceDiff& diff) {
  Report out{.title = "Where two runs part", .headline = headline_of(diff)};
  out.tone = diff.same() ? Tone::good : Tone::bad;
  out.meta = {fmt::format("A: {}", diff.a->file), fmt::format("B: {}", diff.b->file)};
  if (!diff.gpus.empty()) out.lead.push_back(diff.gpus);
  out.suite = "mmaudit trace diff";
  out.json = [&diff] { return ordered_document(json_of(diff)); };
  report::Table table{.title = "Operations with equal inputs and other results"};
  table.columns = {"operation", {"rows", true}, {"differ", true}, "cause", "known as", "A -> B"};
  for (const TraceFinding& each : diff.findings)
    table.rows.push_back({place_of(diff, each), std::to_string(each.rows), report::bad_count(each.differing),
                          each.cause.kind, kTraceProof[static_cast<int>(each.cause.proof)], each.cause.text});
  out.records = table;
  for (const TraceFinding& each : diff.findings)
    out.cases.push_back(report::judged("operations", place_of(diff, each),
                                       fmt::format("{}: {}", each.cause.kind, each.cause.text)));
  if (diff.findings.empty())
    out.cases.push_back(report::judged("operations", "all", diff.unseen.empty() ? "" : headline_of(diff)));
  if (!diff.findings.empty()) out.sections.push_back(report::section_of(in_short(diff, table)));
  if (std::string again = again_text(diff); !again.empty()) out.sections.back().remark = std::move(again);
  if (!diff.further.empty())
    out.sections.push_back(report::section_of(report::table_of<TraceFurther>(
        "Operations that differ in how they compute, too; their inputs differ already", diff.further,
        {{{"cause"}, [](const TraceFurther& one) { return one.cause.kind; }},
         report::number<TraceFurther>("operations", &TraceFurther::operations),
         {{"first"}, [](const TraceFurther& one) { return one.first; }},
         {{"A -> B"}, [](const TraceFurther& one) { return one.cause.text; }}})));
  const std::vector<TraceGrowth> layers = layers_of(diff);
  if (!diff.same() && !layers.empty()) {
    report::Section growth = report::section_of(report::table_of<TraceGrowth>(
        "How the difference grows", layers,
        {{{"module"},
          [](const TraceGrowth& one) { return one.module.empty() ? std::string("the module") : one.module; }},
         report::number<TraceGrowth>("rows", &TraceGrowth::rows),
         {{"differ", true}, [](const TraceGrowth& one) { return report::bad_count(one.differing); }},
         {{"relative difference", true},
          [](const TraceGrowth& one) { return report::Cell(relative_text(one.relative)); }}}));
    growth.remark =
        "Relative Frobenius difference of what a module gives, estimated from one sketch per row.";
    report::Curves curves;
    curves.id = "growth";
    curves.title = "Relative difference of what each layer gives";
    curves.x_title = "layer";
    curves.curves.emplace_back().name = "B against A";
    for (const TraceGrowth& each : layers) {
      curves.labels.push_back(each.module.empty() ? "output"
                                                  : each.module.substr(each.module.rfind('.') + 1));
      curves.curves[0].values.push_back(each.relative && *each.relative > 0 ? each.relative : std::nullopt);
    }
    growth.plots.emplace_back(std::move(curves));
    out.sections.push_back(std::move(growth));
  }
  out.sections.push_back({.title = "Machines", .lines = diff.machine});
  if (diff.only_a + diff.only_b != 0)
    out.sections.push_back(
        {.notes = {fmt::format(
             "Operations without a partner: {} in A, {} in B. Their modules are compared by what they give.",
             diff.only_a, diff.only_b)}});
  return out;
}

}  // namespace mmaudit::checks
