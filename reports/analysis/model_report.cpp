// The audit of a checkpoint as a report, as JSON, and as layer recipes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gemm/audit_tables.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/report/model_audit.hpp"

namespace mmaudit::report {
namespace {

std::string shape_of(const ModelLayer& layer) {
  return layer.experts > 1 ? fmt::format("{} x {} x {}", layer.experts, layer.n, layer.k)
                           : fmt::format("{} x {}", layer.n, layer.k);
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kMega = 1e6;
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / kMega);
}

const CapturedProduct* product_of(const ModelAudit& audit, const std::string& layer) {
  for (const CapturedProduct& product : audit.audit.products)
    if (product.layer == layer) return &product;
  return nullptr;
}

Table layer_table(const ModelAudit& audit) {
  Table out{.title = "Layers", .columns = {{"layer"}, {"shape"}, {"kept as"}, {"on a GPU"}, {"size", true}}};
  for (const ModelLayer& layer : audit.layers)
    out.rows.push_back(
        {printable(layer.name), shape_of(layer), layer.type, layer.meaning, size_text(layer.bytes)});
  return out;
}

Table error_table(const ModelAudit& audit) {
  Table out{.title = "Error of every layer's product",
            .remark = "Norm of the error of D over the norm of the exact product of " +
                      std::string(audit.original.empty() ? "A and the weights as the checkpoint has them."
                                                         : "A and the original's weights."),
            .columns = {{"layer"}, {"combination"}, {"total", true}, {"quantization", true}, {"verdict"}}};
  for (const CapturedProduct& product : audit.audit.products)
    for (const GemmAuditRow& row : product.audit.rows_of)
      out.rows.push_back(
          {printable(product.layer), subject_text(row, true), figure_text(row.errors, row.errors.total),
           figure_text(row.errors, row.errors.quantization),
           Cell(row.verdict == GemmVerdict::not_asked ? std::string_view() : name_of(row.verdict),
                tone_of(row.verdict))});
  return out;
}

Table weight_table(const ModelAudit& audit) {
  Table out{
      .title = "Weights against the original",
      .remark =
          "Norm of the difference over the norm of the original. Odd scales: zero, infinite, NaN, subnormal.",
      .columns = {{"layer"},
                  {"kept as"},
                  {"error", true},
                  {"SQNR/dB", true},
                  {"at the end", true},
                  {"became zero", true},
                  {"odd scales"}}};
  for (const ModelLayer& layer : audit.layers) {
    if (!layer.against) continue;
    const WeightComparison& w = *layer.against;
    const bool odd = w.zero + w.infinite + w.nan + w.subnormal != 0;
    out.rows.push_back(
        {printable(layer.name), !layer.quantized && w.error == 0 ? "left alone" : layer.type,
         fmt::format("{:.3g}", w.error), fmt::format("{:.1f}", w.sqnr),
         fmt::format("{:.3g} %", 100 * w.saturated), fmt::format("{:.3g} %", 100 * w.zeroed),
         Cell(odd ? fmt::format("{}, {}, {}, {} of {}", w.zero, w.infinite, w.nan, w.subnormal, w.scales)
                  : std::string(),
              w.infinite + w.nan != 0 ? Tone::bad : Tone::plain)});
  }
  return out;
}

/// " 12 layers may go to nvfp4, 3 stay as they are." Of layers without scales, each by its cheapest recipe.
std::string choices_text(const ModelAudit& audit, const std::vector<LayerChoice>& choices) {
  std::vector<std::size_t> counts(audit.recipes.size() + 1);  // the last: stay
  for (const LayerChoice& choice : choices) {
    const CapturedProduct* product = product_of(audit, choice.layer);
    const bool quantized =
        std::any_of(audit.layers.begin(), audit.layers.end(),
                    [&](const ModelLayer& layer) { return layer.quantized && layer.name == choice.layer; });
    if (quantized || product == nullptr || product->audit.rows_of.size() != audit.recipes.size()) continue;
    ++counts[choice.row == nullptr ? audit.recipes.size()
                                   : static_cast<std::size_t>(choice.row - product->audit.rows_of.data())];
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0)
      out.push_back(fmt::format("{}{}", counts[i],
                                i == audit.recipes.size() ? std::string(counts[i] == 1 ? " stays" : " stay")
                                                          : " may go to " + audit.recipes[i]));
  return out.empty() ? "" : fmt::format(" Of layers without scales {}.", fmt::join(out, ", "));
}

Json comparison_json(const ModelLayer& layer) {
  if (!layer.against) return nullptr;
  const WeightComparison& w = *layer.against;
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return {{"error", number(w.error)},
          {"sqnr", number(w.sqnr)},
          {"saturated", w.saturated},
          {"zeroed", w.zeroed},
          {"scales", w.scales},
          {"zero_scales", w.zero},
          {"infinite_scales", w.infinite},
          {"nan_scales", w.nan},
          {"subnormal_scales", w.subnormal}};
}

}  // namespace

std::string to_json(const ModelAudit& audit) {
  if (audit.activations.empty()) return ordered_document(audit.checkpoint);
  Json layers = Json::array();
  for (const ModelLayer& layer : audit.layers)
    layers.push_back({{"name", layer.name},
                      {"meaning", layer.meaning},
                      {"why", layer.why.empty() ? Json() : Json(layer.why)},
                      {"original", comparison_json(layer)},
                      {"faults", layer.faults},
                      {"suspicions", layer.suspicions}});
  return ordered_document({{"schema", "mmaudit.model/1"},
                           {"checkpoint", audit.checkpoint},
                           {"original", audit.original.empty() ? Json() : Json(audit.original)},
                           {"activations", audit.activations},
                           {"sampled", audit.sampled},
                           {"layers", layers},
                           {"contradictions", audit.contradictions},
                           {"unread", audit.unread},
                           {"audit", parse_json(to_json(audit.audit))}});
}

std::string layer_recipes_of(const ModelAudit& audit) {
  Json plan = parse_json(layer_recipes_of(audit.audit));
  for (const ModelLayer& layer : audit.layers) {
    const CapturedProduct* product = layer.quantized ? product_of(audit, layer.name) : nullptr;
    if (product == nullptr) continue;
    const GemmAuditRow& row = product->audit.rows_of.front();
    plan["layers"][layer.name] = {{"arch", row.architecture},
                                  {"dtype", row.dtype},
                                  {"scaling", row.scaling},
                                  {"policy", row.accumulation}};
  }
  return ordered_document(plan);
}

Report report_of(const ModelAudit& audit) {
  Report out;
  out.title = "A checkpoint";
  const auto text = [&](const char* key) { return audit.checkpoint.at(key).get<std::string>(); };
  std::uint64_t bytes = 0;
  std::size_t quantized = 0, faulty = 0, suspected = 0;
  for (const ModelLayer& layer : audit.layers) {
    bytes += layer.bytes, quantized += layer.quantized ? 1 : 0, faulty += layer.faults.empty() ? 0 : 1;
    suspected += layer.suspicions.empty() ? 0 : 1;
  }
  out.lead = {fmt::format(
      "{}: {} layers, {} of them quantized{}, {}.", printable(text("path"), 200), audit.layers.size(),
      quantized, text("written_by").empty() ? "" : " by " + printable(text("written_by")), size_text(bytes))};
  const bool list = audit.activations.empty();
  if (!list) {
    out.lead.push_back(fmt::format("Activations: {}.", audit.activations));
    out.lead.push_back("Sampled: " + audit.sampled);
  }
  const CaptureAudit& products = audit.audit;
  const bool limited = !products.products.empty() && products.products.front().audit.limit.has_value();
  if (!list) {
    const std::vector<LayerChoice> choices = products.choices();
    const auto passing = std::count_if(choices.begin(), choices.end(),
                                       [](const LayerChoice& one) { return one.row != nullptr; });
    out.headline = !audit.contradictions.empty() && faulty == 0 ? "The checkpoint contradicts itself."
                   : faulty != 0
                       ? fmt::format("{} of {} layers are not what their scales and codes should be.", faulty,
                                     audit.layers.size())
                   : limited ? fmt::format("{} of {} products are within the limit.", passing, choices.size())
                             : "No limit was given (--max-rel-fro), so nothing is judged.";
    if (suspected != 0)
      out.headline += fmt::format(" {} {} suspected{}.", suspected, suspected == 1 ? "is" : "are",
                                  audit.strict ? ", which --strict fails" : ", which fails nothing");
    if (limited) out.headline += choices_text(audit, choices);
    const bool all = passing == static_cast<std::ptrdiff_t>(choices.size()) && !choices.empty();
    const bool bad = faulty != 0 || !audit.contradictions.empty() || (audit.strict && suspected != 0);
    out.tone = bad || (limited && !all) ? Tone::bad : limited ? Tone::good : Tone::plain;
  }
  Table faults{.title = "What is wrong", .columns = {{"layer"}, {"fault"}}};
  Table suspicions{.title = "What may be wrong", .columns = {{"layer"}, {"suspicion"}}};
  for (const std::string& why : audit.contradictions) {
    faults.rows.push_back({"(checkpoint)", Cell(why, Tone::bad)});
    if (!list) out.cases.push_back({"checkpoint", "checkpoint", TestCase::Outcome::failure, why, {}});
  }
  for (const ModelLayer& layer : audit.layers) {
    for (const std::string& fault : layer.faults) {
      faults.rows.push_back({printable(layer.name), Cell(fault, Tone::bad)});
      out.cases.push_back({"layers", printable(layer.name), TestCase::Outcome::failure, fault, {}});
    }
    for (const std::string& suspicion : layer.suspicions) {
      suspicions.rows.push_back({printable(layer.name), suspicion});
      if (audit.strict)
        out.cases.push_back({"layers", printable(layer.name), TestCase::Outcome::failure, suspicion, {}});
    }
    if (!layer.why.empty())
      out.warnings.lines.push_back(fmt::format("{} was not audited: {}", printable(layer.name), layer.why));
    const CapturedProduct* product = list ? nullptr : product_of(audit, layer.name);
    if (product != nullptr && product->audit.rows_of.front().verdict == GemmVerdict::not_judged)
      out.warnings.lines.push_back(
          fmt::format("{} can't be judged: {}", printable(layer.name), product->audit.rows_of.front().why));
    if (!list && layer.faults.empty() && (layer.suspicions.empty() || !audit.strict)) {
      const bool fails =
          limited && product != nullptr &&
          std::none_of(product->audit.rows_of.begin(), product->audit.rows_of.end(),
                       [](const GemmAuditRow& row) { return row.verdict == GemmVerdict::pass; });
      out.cases.push_back({"layers",
                           printable(layer.name),
                           fails ? TestCase::Outcome::failure : TestCase::Outcome::passed,
                           fails ? "nothing passes" : "",
                           {}});
    }
  }
  for (const std::string& why : audit.unread) out.warnings.lines.push_back("Not read: " + why);
  out.warnings.title = "What is left out";
  if (!faults.rows.empty()) out.sections.push_back(section_of(faults));
  if (!suspicions.rows.empty()) out.sections.push_back(section_of(suspicions));
  if (!audit.original.empty()) out.sections.push_back(section_of(weight_table(audit)));
  if (!list) out.sections.push_back(section_of(error_table(audit)));
  out.sections.push_back(section_of(layer_table(audit), list ? kEverywhere : kInDocuments));
  out.json = [audit] { return to_json(audit); };
  out.records = list ? layer_table(audit) : error_table(audit);
  out.suite = "mmaudit model";
  return out;
}

}  // namespace mmaudit::report
