// Attention as reports: errors by cause, one element, ranges that keep their bits, families.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "attention/study.hpp"
#include "explained.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Section;
using report::Table;
using report::Tone;

std::string shown(double x, int digits = 3) {
  return x == 0 ? "0" : x != x ? "NaN" : fmt::format("{:.{}g}", x, digits);
}
std::string percent(double x) { return fmt::format("{:.2f}%", 100 * x); }

/// The first that is not a number, else the largest.
const AttentionCause& largest_of(const AttentionAudit& one) {
  return *std::max_element(one.causes.begin(), one.causes.end(),
                           [](const AttentionCause& a, const AttentionCause& b) {
                             return a.size == a.size && !(b.size <= a.size);
                           });
}
std::string largest_text(const AttentionAudit& one) {
  if (!one.why.empty()) return one.why;
  const AttentionCause& cause = largest_of(one);
  if (cause.size == 0) return "none";
  return cause.share == cause.share ? fmt::format("{} ({:.0f}%)", cause.name, 100 * cause.share)
                                    : std::string(cause.name);
}

std::string json_of(const std::vector<AttentionAudit>& audits, double limit) {
  Json rows = Json::array();
  for (const AttentionAudit& one : audits) {
    Json causes = Json::array();
    for (const AttentionCause& cause : one.causes)
      causes.push_back({{"name", cause.name}, {"error", cause.size}, {"share", cause.share}});
    rows.push_back({{"recipe", one.recipe->name},
                    {"plan", one.plan},
                    {"evidence", one.recipe->evidence},
                    {"error", one.total},
                    {"worst_head", {{"head", one.worst_head}, {"error", one.worst}}},
                    {"rows", one.rows},
                    {"lost", {{"rows", one.lost_rows}, {"columns", one.lost_columns}}},
                    {"saturated", one.saturated},
                    {"flushed", one.flushed},
                    {"causes", std::move(causes)}});
    if (!one.layer.empty()) rows.back()["layer"] = one.layer;
    if (!one.layer.empty() || !one.why.empty()) rows.back()["why"] = one.why;
  }
  return document({{"schema", "mmaudit.attention.audit/1"}, {"limit", limit}, {"recipes", std::move(rows)}},
                  1);
}

/// "Beyond the limit 0.05: ...": at most so many of them.
std::string line_of(std::string_view what, const std::vector<std::string>& some) {
  constexpr std::size_t kMost = 6;
  if (some.empty()) return {};
  const auto end = some.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, some.size()));
  return fmt::format("{}: {}{}. ", what, fmt::join(some.begin(), end, ", "),
                     some.size() > kMost ? fmt::format(" and {} more", some.size() - kMost) : "");
}

}  // namespace

std::string sizes_of(const AttentionProblem& x) {
  return fmt::format(
      "{} x {} heads{}, {} queries, {} keys, depth {}{}", x.batch, x.heads,
      x.heads == x.kv_heads ? "" : fmt::format(" ({} of K)", x.kv_heads), x.queries, x.keys, x.depth,
      x.causal == Causal::none ? "" : fmt::format(", causal {}", name_in(names::kCausal, x.causal)));
}

report::Report report_of(const std::vector<AttentionAudit>& audits, std::vector<std::string> meta,
                         double limit) {
  report::Report out{.title = "Attention: what each recipe loses, by cause"};
  out.meta = std::move(meta);
  const auto within = [&](const AttentionAudit& one) {
    const bool lost = one.lost_rows + one.lost_columns != 0;
    return one.why.empty() && (limit == 0 || (one.total <= limit && !lost));
  };
  using Audit = const AttentionAudit&;
  std::vector<report::Field<AttentionAudit>> fields;
  if (!audits.front().layer.empty()) fields.push_back({{"layer"}, [](Audit one) { return one.layer; }});
  fields.push_back({{"recipe"}, [](Audit one) { return std::string(one.recipe->name); }});
  const auto number = [&](const char* name, const auto& text) {
    fields.push_back({{name, true}, [text](Audit one) { return Cell(one.why.empty() ? text(one) : "-"); }});
  };
  fields.push_back({{"error", true}, [&](Audit one) {
                      return Cell(one.why.empty() ? shown(one.total) : "-", !within(one) ? Tone::bad
                                                                            : limit == 0 ? Tone::plain
                                                                                         : Tone::good);
                    }});
  fields.push_back({{"largest cause"}, largest_text});
  number("worst head", [](Audit one) { return fmt::format("{} ({})", shown(one.worst), one.worst_head); });
  for (std::size_t i = 0; i < std::size(kAttentionCauses); ++i)
    number(kAttentionCauses[i].data(), [i](Audit one) { return shown(one.causes[i].size, 2); });
  number("P saturated, to 0",
         [](Audit one) { return fmt::format("{}, {}", percent(one.saturated), percent(one.flushed)); });
  out.records = report::table_of<AttentionAudit>("Errors", audits, fields);
  fields.pop_back();  // a page has no room for it: a note says it
  Table table = report::table_of<AttentionAudit>("Errors", audits, fields);
  table.remark =
      "|O - exact O| / |exact O|, 2-norms; exact: softmax(scale Q K^T) V in binary64. Beside it what each "
      "step alone changes; heads count from 0 over the batch.";
  out.sections.push_back(report::section_of(std::move(table)));
  Section plans{.title = "Plans"};
  std::uint64_t rows = 0;
  std::vector<std::string> good, bad, lost;
  for (Audit one : audits) {
    rows = std::max(rows, one.rows);
    std::string plan =
        fmt::format("{} ({}; {}): {}", one.recipe->name, one.recipe->source, one.recipe->evidence, one.plan);
    if (one.why.empty() && std::find(plans.lines.begin(), plans.lines.end(), plan) == plans.lines.end())
      plans.lines.push_back(std::move(plan));
    std::string text = fmt::format("{}{}{} {}", one.layer, one.layer.empty() ? "" : " by ", one.recipe->name,
                                   one.why.empty() ? shown(one.total) : "is not measured");
    if (!within(one) && one.why.empty()) {
      text +=
          fmt::format(" (most by {}; head {}: {}", largest_of(one).name, one.worst_head, shown(one.worst));
      if (one.lost_rows + one.lost_columns != 0)
        text += fmt::format(
            "; {} rows and {} columns of heads came out zero or not finite, where exact ones are not",
            one.lost_rows, one.lost_columns);
      text += ")";
    }
    (within(one) ? good : bad).push_back(std::move(text));
    if (one.saturated != 0 || one.flushed != 0)
      lost.push_back(fmt::format("{}{}{} {} and {}", one.layer, one.layer.empty() ? "" : " by ",
                                 one.recipe->name, percent(one.saturated), percent(one.flushed)));
  }
  plans.notes = {fmt::format("{} rows were compared with exact ones. {}", rows,
                             line_of("P saturated and P to 0", lost))};
  if (plans.notes[0].ends_with(' ')) plans.notes[0].pop_back();
  out.sections.push_back(std::move(plans));
  if (limit != 0 || !bad.empty()) {
    out.tone = bad.empty() ? Tone::good : Tone::bad;
    out.headline =
        line_of(fmt::format("Beyond the limit {}", limit), bad) +
        (audits.front().layer.empty() ? line_of(fmt::format("Within the limit {}", limit), good)
                                      : fmt::format("{} of {} are within it. ", good.size(), audits.size()));
    out.headline.pop_back();
  }
  out.json = [audits, limit] { return json_of(audits, limit); };
  return out;
}

report::Report explain_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                                 const AttentionOperands& operands, const Architecture& architecture,
                                 std::uint64_t head, std::uint64_t row, std::uint64_t column,
                                 unsigned threads, const std::string& like) {
  const std::uint64_t keys = problem.keys, d = problem.depth,
                      all = problem.batch * problem.heads * problem.queries;
  if (head >= problem.batch * problem.heads || row >= problem.queries || column >= d)
    refuse("--at: found {},{},{}, allowed: below {},{},{}: head, query, column", head, row, column,
           problem.batch * problem.heads, problem.queries, d);
  const FormatSpec output = spec_of(plan.output), p_spec = spec_of(plan.p);
  std::vector<std::byte> o(all * d * output.storage_bytes());
  std::vector<float> scores(all * keys), weights(all * keys), bases(all * keys), later(all * keys),
      maxima(all), sums(all);
  attention(problem, plan, operands, {o.data()}, threads, architecture);
  // A split has a maximum and a sum of its own, so the table is that of the same blocks without splits.
  AttentionPlan whole = plan;
  whole.splits = 1;
  AttentionResult details;
  std::vector<std::byte> unused(o.size());
  details.o = unused.data();
  details.scores = scores.data(), details.weights = weights.data(), details.bases = bases.data();
  details.later = later.data(), details.maxima = maxima.data(), details.sums = sums.data();
  attention(problem, whole, operands, details, threads, architecture);
  const std::uint64_t at = head * problem.queries + row, first_of_row = at * keys;
  const std::uint64_t group = problem.heads / problem.kv_heads,
                      kv = head / problem.heads * problem.kv_heads + head % problem.heads / group;
  const FastDecode value(spec_of(problem.type)), p_value(p_spec);
  const FastCast cast(p_spec, {CastRounding::nearest_even, true});
  const auto [seen_first, seen_last] = keys_of_row(problem, row);
  std::vector<std::uint64_t> starts;
  for (std::uint64_t from = 0; from < keys; from += plan.block_k)
    if (from < seen_last && from + plan.block_k > seen_first) starts.push_back(from);
  if (plan.order == KeyOrder::descending) std::reverse(starts.begin(), starts.end());
  const float unit =
      plan.score == ScoreRule::products || plan.score == ScoreRule::fused ? scales_of(problem).second : 1;
  Table table{.title = "Blocks of keys, in the kernel's order"};
  table.columns = {{"keys", true},        {"largest S", true}, {"maximum, log2", true},
                   {"times later", true}, {"sum of P", true},  {"P largest", true},
                   {"P saturated", true}, {"P to 0", true},    {"lost by P's format", true},
                   {"P V, kept", true}};
  double lost = 0, kept = 0;
  for (const std::uint64_t from : starts) {
    const std::uint64_t first = std::max(from, seen_first),
                        last = std::min({from + plan.block_k, keys, seen_last});
    double top = -INFINITY, sum = 0, most = 0, part = 0, exact = 0;
    std::uint64_t saturated = 0, flushed = 0;
    for (std::uint64_t j = first; j < last; ++j) {
      const double p = weights[first_of_row + j], rounded = p_value(cast(p));
      const double v = value.at(operands.v, (kv * keys + j) * d + column);
      top = std::max<double>(top, scores[first_of_row + j]);
      sum += p, most = std::max(most, p), part += rounded * v, exact += p * v;
      saturated += rounded < p * 0.9375 ? rounded > 1 : 0, flushed += p != 0 && rounded == 0 ? 1 : 0;
    }
    const double factor = static_cast<double>(later[first_of_row + first]) / sums[at];
    lost += (part - exact) * factor, kept += part * factor;
    table.rows.push_back({fmt::format("{}-{}", first, last - 1), shown(top),
                          shown(static_cast<double>(bases[first_of_row + first]) * unit),
                          shown(later[first_of_row + first]), shown(sum), shown(most),
                          std::to_string(saturated), std::to_string(flushed), shown((part - exact) * factor),
                          shown(part * factor)});
  }
  const std::uint64_t bits = load_word(o.data(), output.storage_bytes(), at * d + column);
  report::Report out{.title = "One element of O"};
  out.headline = fmt::format("O[{}, {}, {}] = {} ({:#x}) in {}", head, row, column,
                             decode_value(bits, output), bits, name_of(plan.output));
  out.lead = {
      "Plan: " + mmaudit::text_of(plan),
      fmt::format(
          "Row sum {}, {} keys of {} seen; P's format changes the element by {}; the sum of the parts "
          "below is {}.",
          sums[at], seen_last - seen_first, keys, shown(lost), fmt::format("{:.6g}", kept))};
  if (plan.splits > 1)
    out.lead.push_back(fmt::format(
        "The kernel has {} splits of the keys; the blocks below are taken without them.", plan.splits));
  out.records = table;
  out.sections.push_back(report::section_of(std::move(table)));
  // The explorer has a row without a mask, of a launch whose keys are not split.
  constexpr std::uint64_t kMostInAddress = 64;
  AttentionProblem shown = problem;
  shown.batch = 64, shown.heads = shown.kv_heads = 16, shown.queries = 4096, shown.keys = seen_last;
  shown.causal = Causal::none;
  const auto played = attention_plan_of(like, shown, nullptr);
  whole.block_q = played ? played->block_q : 0, whole.combine_lanes = 1;
  if (played != whole || problem.type != Format::f16 || problem.scale != 0 || problem.softcap != 0 ||
      seen_first != 0 || seen_last > kMostInAddress)
    return out;
  std::vector<double> v;
  for (std::uint64_t j = 0; j < seen_last; ++j)
    v.push_back(value.at(operands.v, (kv * keys + j) * d + column));
  out.sections.back().notes.push_back(to_play_with(fmt::format(
      "view=attention&like={}&keys={}&depth={}&s={}&v={}", like, seen_last, d,
      fmt::join(&scores[first_of_row], &scores[first_of_row + seen_last], ","), fmt::join(v, ","))));
  return out;
}

report::Report attention_invariance(std::string_view family, const AttentionProblem& problem,
                                    std::uint64_t most) {
  report::Report out{.title = "Over which sizes a row keeps its bits"};
  if (problem.heads % problem.kv_heads != 0)
    refuse("--heads: found {}, allowed: a multiple of {}, the heads of K", problem.heads, problem.kv_heads);
  out.meta = {fmt::format("{}: {}", family, sizes_of(problem))};
  Table all{.title = "Ranges",
            .columns = {{"size"}, {"from", true}, {"to", true}, {"plan"}, {"what changes"}}};
  std::uint64_t ranges = 0;
  const auto sweep = [&](const std::string& name, std::uint64_t AttentionProblem::*size, bool with_kv) {
    std::uint64_t from = 1;
    std::optional<AttentionPlan> before, earlier;
    std::string why, why_before;
    const auto close = [&](std::uint64_t to) {
      const std::string change = !earlier || !before ? "" : change_of(*earlier, *before);
      all.rows.push_back({name, std::to_string(from), std::to_string(to),
                          before ? mmaudit::text_of(*before) : "none: " + why_before, change});
      ++ranges;
    };
    for (std::uint64_t n = 1; n <= most; ++n) {
      AttentionProblem x = problem;
      x.*size = n;
      if (with_kv) x.kv_heads = n;
      auto plan = attention_plan_of(family, x, &why);
      // Which rows share a tile changes no bit of a row.
      if (plan) plan->block_q = 1;
      if (n != 1 && plan == before) continue;
      if (n != 1) close(n - 1), earlier = before, from = n;
      before = plan, why_before = why;
    }
    close(most);
  };
  sweep("queries", &AttentionProblem::queries, false);
  sweep("keys", &AttentionProblem::keys, false);
  sweep("batch", &AttentionProblem::batch, false);
  if (problem.heads == problem.kv_heads) sweep("heads", &AttentionProblem::heads, true);
  std::string why;
  AttentionProblem decode = problem, prefill = problem;
  decode.queries = 1, prefill.queries = problem.keys;
  const auto one = attention_plan_of(family, decode, &why), whole = attention_plan_of(family, prefill, &why);
  if (!one && !whole) throw InputError(why);
  if (one && whole) {
    AttentionPlan a = *one, b = *whole;
    a.block_q = b.block_q = 1;
    out.headline =
        a == b ? fmt::format("Decode and prefill of {} keys take the same sums", problem.keys)
               : fmt::format("Decode and prefill of {} keys differ: {}", problem.keys, change_of(b, a));
    if (!(a == b))
      out.lead = {"Prefill -> decode; a row whose keys fit into one block of both may still agree."};
  } else {
    out.headline = why;
  }
  all.remark = "Other sizes as above. Between two ranges a row's bits change; inside one they stay.";
  out.records = all;
  out.sections.push_back(report::section_of(std::move(all)));
  return out;
}

report::Report attention_families_report() {
  report::Report out{.title = "Attention kernels that have a plan, and recipes of the audit"};
  Table families{.title = "Families",
                 .columns = {{"like"}, {"types"}, {"takes"}, {"evidence"}, {"kernels"}, {"source"}}};
  for (const AttentionFamily& one : attention_families())
    families.rows.push_back({std::string(one.name), std::string(one.types), std::string(one.takes),
                             std::string(one.evidence), std::string(one.kernels), std::string(one.source)});
  Table recipes{.title = "Recipes", .columns = {{"recipe"}, {"like"}, {"type"}, {"evidence"}, {"source"}}};
  for (const AttentionRecipe& one : attention_recipes())
    recipes.rows.push_back({std::string(one.name), std::string(one.family), std::string(name_of(one.type)),
                            std::string(one.evidence), std::string(one.source)});
  out.records = families;
  out.sections = {report::section_of(std::move(families)), report::section_of(std::move(recipes))};
  return out;
}

}  // namespace mmaudit::checks
