// Attention as reports: errors by cause, one element, ranges that keep their bits, families.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention/study.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Section;
using report::Table;
using report::Tone;

std::string shown(double x) { return x == 0 ? "0" : x != x ? "NaN" : fmt::format("{:.3g}", x); }
std::string percent(double x) { return fmt::format("{:.2f}%", 100 * x); }

std::string sizes_of(const AttentionProblem& x) {
  return fmt::format(
      "{} x {} heads{}, {} queries, {} keys, depth {}{}", x.batch, x.heads,
      x.heads == x.kv_heads ? "" : fmt::format(" ({} of K)", x.kv_heads), x.queries, x.keys, x.depth,
      x.causal == Causal::none ? "" : fmt::format(", causal {}", name_in(names::kCausal, x.causal)));
}

/// The first that is not a number, else the largest.
const AttentionCause& largest_of(const AttentionAudit& one) {
  return *std::max_element(one.causes.begin(), one.causes.end(),
                           [](const AttentionCause& a, const AttentionCause& b) {
                             return a.size == a.size && !(b.size <= a.size);
                           });
}
std::string largest_text(const AttentionAudit& one) {
  const AttentionCause& cause = largest_of(one);
  if (cause.size == 0) return "none";
  return cause.share == cause.share ? fmt::format("{} ({:.0f}%)", cause.name, 100 * cause.share)
                                    : std::string(cause.name);
}

Json recipes_json(const std::vector<AttentionAudit>& audits) {
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
                    {"saturated", one.saturated},
                    {"flushed", one.flushed},
                    {"causes", std::move(causes)}});
  }
  return rows;
}

std::string json_of(double limit, const char* name, Json what) {
  return document({{"schema", "mmaudit.attention.audit/1"}, {"limit", limit}, {name, std::move(what)}}, 1);
}

bool within(const AttentionAudit& one, double limit) { return limit == 0 || one.total <= limit; }

Cell error_cell(const AttentionAudit& one, double limit) {
  return Cell(shown(one.total), limit == 0 ? Tone::plain : within(one, limit) ? Tone::good : Tone::bad);
}

}  // namespace

report::Report report_of(const std::vector<AttentionAudit>& audits, const AttentionCase& given,
                         double limit) {
  report::Report out{.title = "Attention: what each recipe loses, by cause"};
  out.meta = {sizes_of(given.problem)};
  std::vector<report::Field<AttentionAudit>> fields = {
      {{"recipe"}, [](const AttentionAudit& one) { return std::string(one.recipe->name); }},
      {{"error", true}, [limit](const AttentionAudit& one) { return error_cell(one, limit); }}};
  for (std::size_t i = 0; i < audits.front().causes.size(); ++i)
    fields.push_back({{std::string(audits.front().causes[i].name), true},
                      [i](const AttentionAudit& one) { return shown(one.causes[i].size); }});
  fields.push_back({{"worst head", true}, [](const AttentionAudit& one) {
                      return fmt::format("{} ({})", shown(one.worst), one.worst_head);
                    }});
  fields.push_back({{"P saturated", true}, [](const AttentionAudit& one) { return percent(one.saturated); }});
  fields.push_back({{"P to 0", true}, [](const AttentionAudit& one) { return percent(one.flushed); }});
  fields.push_back({{"largest cause"}, largest_text});
  Table table = report::table_of<AttentionAudit>("Errors", audits, fields);
  table.remark =
      "|O - exact O| / |exact O|, 2-norms; exact: softmax(scale Q K^T) V in binary64. Beside it what each "
      "step alone changes; heads count from 0 over the batch.";
  out.records = table;
  out.sections.push_back(report::section_of(std::move(table)));
  Section plans{.title = "Plans"};
  for (const AttentionAudit& one : audits)
    plans.lines.push_back(
        fmt::format("{} ({}; {}): {}", one.recipe->name, one.recipe->source, one.recipe->evidence, one.plan));
  plans.notes = {fmt::format("{} rows were compared with exact ones.", audits.front().rows)};
  out.sections.push_back(std::move(plans));
  if (limit != 0) {
    std::vector<std::string> good, bad;
    for (const AttentionAudit& one : audits) {
      (within(one, limit) ? good : bad).push_back(fmt::format("{} {}", one.recipe->name, shown(one.total)));
      if (!within(one, limit))
        bad.back() +=
            fmt::format(" (most by {}; head {}: {})", largest_of(one).name, one.worst_head, shown(one.worst));
    }
    out.tone = bad.empty() ? Tone::good : Tone::bad;
    const auto line = [&](const char* what, const std::vector<std::string>& some) {
      return some.empty() ? "" : fmt::format("{} the limit {}: {}. ", what, limit, fmt::join(some, ", "));
    };
    out.headline = line("Beyond", bad) + line("Within", good);
    out.headline.pop_back();
  }
  out.json = [audits, limit] { return json_of(limit, "recipes", recipes_json(audits)); };
  return out;
}

report::Report report_of(const std::vector<AttentionLayer>& layers, double limit) {
  report::Report out{.title = "Attention of every layer: what each recipe loses"};
  Table table{.title = "Errors of layers", .columns = {{"layer"}}};
  table.remark =
      "|O - exact O| / |exact O| of the layer's attention, 2-norms; the cause is that of the largest error.";
  std::vector<std::string> verdicts;
  const auto measured = std::find_if(layers.begin(), layers.end(),
                                     [](const AttentionLayer& one) { return !one.audits.empty(); });
  const std::size_t count = measured == layers.end() ? 0 : measured->audits.size();
  bool good = count != 0;
  for (std::size_t i = 0; i < count; ++i) {
    table.columns.emplace_back(std::string(measured->audits[i].recipe->name), true);
    std::size_t passing = 0;
    const AttentionLayer* worst = nullptr;
    for (const AttentionLayer& one : layers) {
      if (one.audits.empty()) continue;
      passing += within(one.audits[i], limit) ? 1 : 0;
      if (worst == nullptr || !(one.audits[i].total <= worst->audits[i].total)) worst = &one;
    }
    const AttentionAudit& most = worst->audits[i];
    verdicts.push_back(fmt::format(
        "{}: {}worst {} in {}, most by {}", most.recipe->name,
        limit == 0 ? "" : fmt::format("{} of {} layers within {}, ", passing, layers.size(), limit),
        shown(most.total), worst->layer, largest_of(most).name));
    good = good && passing == layers.size();
  }
  table.columns.emplace_back("largest cause");
  Json json = Json::array();
  for (const AttentionLayer& one : layers) {
    std::vector<Cell> row = {one.layer};
    for (std::size_t i = 0; i < count; ++i)
      row.push_back(one.audits.empty() ? Cell("-", Tone::bad) : error_cell(one.audits[i], limit));
    const auto largest =
        std::max_element(one.audits.begin(), one.audits.end(),
                         [](const AttentionAudit& a, const AttentionAudit& b) { return a.total < b.total; });
    row.emplace_back(largest == one.audits.end() ? one.why : largest_text(*largest));
    table.rows.push_back(std::move(row));
    json.push_back({{"layer", one.layer}, {"why", one.why}, {"recipes", recipes_json(one.audits)}});
  }
  out.headline =
      verdicts.empty() ? "No layer could be measured" : fmt::format("{}", fmt::join(verdicts, "; "));
  out.tone = limit == 0 && good ? Tone::plain : good ? Tone::good : Tone::bad;
  out.records = table;
  out.sections.push_back(report::section_of(std::move(table)));
  out.json = [json, limit] { return json_of(limit, "layers", json); };
  return out;
}

report::Report explain_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                                 const AttentionOperands& operands, const Architecture& architecture,
                                 std::uint64_t head, std::uint64_t row, std::uint64_t column,
                                 unsigned threads) {
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
  return out;
}

report::Report attention_invariance(std::string_view family, const AttentionProblem& problem,
                                    std::uint64_t most) {
  report::Report out{.title = "Over which sizes a row keeps its bits"};
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
                 .columns = {{"like"}, {"types"}, {"evidence"}, {"kernels"}, {"source"}}};
  for (const AttentionFamily& one : attention_families())
    families.rows.push_back({std::string(one.name), std::string(one.types), std::string(one.evidence),
                             std::string(one.kernels), std::string(one.source)});
  Table recipes{.title = "Recipes", .columns = {{"recipe"}, {"like"}, {"type"}, {"evidence"}, {"source"}}};
  for (const AttentionRecipe& one : attention_recipes())
    recipes.rows.push_back({std::string(one.name), std::string(one.family), std::string(name_of(one.type)),
                            std::string(one.evidence), std::string(one.source)});
  out.records = families;
  out.sections = {report::section_of(std::move(families)), report::section_of(std::move(recipes))};
  return out;
}

}  // namespace mmaudit::checks
