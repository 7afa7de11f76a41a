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

/// Whether something was asked of a layer that has no answer.
bool unanswered(const ModelAudit& audit, const ModelLayer& layer) {
  return !layer.why.empty() && (audit.limited || (!audit.original.empty() && !layer.compared));
}

/// The answer in a line or two, and whether it is a good one.
void set_headline(const ModelAudit& audit, Report& out) {
  std::size_t faulty = 0, suspected = 0, compared = 0, open = 0, others = 0, rotated = 0;
  double largest = 0;
  std::string why;
  for (const ModelLayer& layer : audit.layers) {
    faulty += layer.faults.empty() ? 0 : 1, suspected += layer.suspicions.empty() ? 0 : 1;
    compared += layer.compared ? 1 : 0, open += unanswered(audit, layer) ? 1 : 0;
    if (layer.against) largest = std::max(largest, layer.against->error);
    rotated += layer.compared && !layer.against ? 1 : 0;
    if (why.empty()) why = layer.why;
  }
  for (const ModelTensor& one : audit.tensors)
    others += one.faults.empty() ? 0 : 1, suspected += one.suspicions.empty() ? 0 : 1;
  const std::vector<LayerChoice> choices = audit.audit.choices();
  const auto passing = std::count_if(choices.begin(), choices.end(),
                                     [](const LayerChoice& one) { return one.row != nullptr; });
  std::vector<std::string> says;
  if (!audit.contradictions.empty()) says.emplace_back("The checkpoint contradicts itself.");
  if (!audit.unread_layers.empty())
    says.push_back(fmt::format("{} {} can't be read.", audit.unread_layers.size(),
                               audit.unread_layers.size() == 1 ? "tensor of a layer" : "tensors of layers"));
  if (faulty != 0)
    says.push_back(fmt::format("{} of {} layers are not what their scales and codes should be.", faulty,
                               audit.layers.size()));
  if (others != 0)
    says.push_back(fmt::format("{} other {} missing, or not the original's.", others,
                               others == 1 ? "tensor or layer is" : "tensors or layers are"));
  const bool bad = !says.empty() || (audit.strict && suspected != 0),
             asked = audit.limited || !audit.original.empty();
  const bool nothing = audit.original.empty() ? choices.empty() : compared == 0;
  if (nothing && faulty == 0)
    says.push_back(fmt::format("Nothing was {}: {}.", audit.original.empty() ? "audited" : "compared",
                               why.empty() ? "no layer is a factor of a product" : why));
  else if (!audit.original.empty() && faulty == 0 && largest == 0 && rotated != 0)
    says.push_back(fmt::format("{} of {} layers are rotated and have rows of the original's norms.", compared,
                               audit.layers.size()));
  else if (!audit.original.empty() && faulty == 0)
    says.push_back(
        fmt::format("{} of {} layers are what their formats make of the original, off by at most {:.2g}.",
                    compared, audit.layers.size(), largest));
  if (audit.limited && !choices.empty())
    says.push_back(fmt::format("{} of {} products are within the limit.", passing, choices.size()) +
                   choices_text(audit, choices));
  else if (!asked && !nothing)
    says.push_back(fmt::format(
        "{} products have the errors below. None is judged: give --max-rel-fro, --original, or --list alone.",
        choices.size()));
  if (open != 0 && !nothing)
    says.push_back(fmt::format("{} {} no answer.", open, open == 1 ? "layer has" : "layers have"));
  if (suspected != 0)
    says.push_back(fmt::format("{} {} suspected{}.", suspected, suspected == 1 ? "is" : "are",
                               audit.strict ? ", which --strict fails" : ", which fails nothing"));
  out.headline = fmt::format("{}", fmt::join(says, " "));
  const bool all = passing == static_cast<std::ptrdiff_t>(choices.size()) && !choices.empty();
  out.tone = bad || nothing || open != 0 || (audit.limited && !all) ? Tone::bad
             : asked                                                ? Tone::good
                                                                    : Tone::plain;
}

/// One case per layer: what was asked of it, and the answer.
TestCase case_of(const ModelAudit& audit, const ModelLayer& layer) {
  TestCase out{"layers", printable(layer.name), TestCase::Outcome::passed, "", {}};
  const CapturedProduct* product = product_of(audit, layer.name);
  const auto passes = [](const GemmAuditRow& row) { return row.verdict == GemmVerdict::pass; };
  if (!layer.faults.empty() || (audit.strict && !layer.suspicions.empty()))
    out.message =
        layer.faults.empty() ? layer.suspicions.front() : fmt::format("{}", fmt::join(layer.faults, "; "));
  else if (audit.limited && product != nullptr &&
           std::none_of(product->audit.rows_of.begin(), product->audit.rows_of.end(), passes))
    out.message = "nothing passes";
  else if (unanswered(audit, layer))
    out.message = layer.why;
  if (!out.message.empty())
    out.outcome = TestCase::Outcome::failure;
  else if (!layer.compared && (!audit.limited || product == nullptr))
    out.outcome = TestCase::Outcome::skipped,
    out.message = layer.product ? "nothing judges it" : "no factor of a product";
  return out;
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
                      {"suspicions", layer.suspicions},
                      {"notes", layer.notes}});
  Json tensors = Json::array();
  for (const ModelTensor& one : audit.tensors)
    tensors.push_back(
        {{"name", one.name}, {"faults", one.faults}, {"suspicions", one.suspicions}, {"notes", one.notes}});
  return ordered_document({{"schema", "mmaudit.model/1"},
                           {"checkpoint", audit.checkpoint},
                           {"original", audit.original.empty() ? Json() : Json(audit.original)},
                           {"activations", audit.activations},
                           {"sampled", audit.sampled},
                           {"layers", layers},
                           {"tensors", tensors},
                           {"same_tensors", audit.same_tensors},
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
  std::size_t quantized = 0;
  for (const ModelLayer& layer : audit.layers) bytes += layer.bytes, quantized += layer.quantized ? 1 : 0;
  out.lead = {fmt::format(
      "{}: {} layers, {} of them quantized{}, {}.", printable(text("path"), 200), audit.layers.size(),
      quantized, text("written_by").empty() ? "" : " by " + printable(text("written_by")), size_text(bytes))};
  const bool list = audit.activations.empty();
  if (!list) {
    out.lead.push_back(fmt::format("Activations: {}.", audit.activations));
    out.lead.push_back("Sampled: " + audit.sampled);
    if (!audit.original.empty())
      out.lead.push_back(fmt::format("Tensors without codes: {} are the original's, {} are listed below.",
                                     audit.same_tensors, audit.tensors.size()));
    set_headline(audit, out);
  } else if (!audit.contradictions.empty() || !audit.unread_layers.empty()) {
    out.tone = Tone::bad;
  }
  Table faults{.title = "What is wrong", .columns = {{"layer"}, {"fault"}}};
  Table suspicions{.title = "What may be wrong", .columns = {{"layer"}, {"suspicion"}}};
  Table notes{.title = "What explains a difference", .columns = {{"layer"}, {"why"}}};
  const auto add = [&](const auto& one) {
    for (const std::string& fault : one.faults)
      faults.rows.push_back({printable(one.name), Cell(fault, Tone::bad)});
    for (const std::string& suspicion : one.suspicions)
      suspicions.rows.push_back({printable(one.name), suspicion});
    for (const std::string& note : one.notes) notes.rows.push_back({printable(one.name), note});
  };
  for (const std::vector<std::string>* lines : {&audit.contradictions, &audit.unread_layers})
    for (const std::string& why : *lines) {
      faults.rows.push_back({"(checkpoint)", Cell(why, Tone::bad)});
      out.cases.push_back({"checkpoint", "checkpoint", TestCase::Outcome::failure, why, {}});
    }
  for (const ModelLayer& layer : audit.layers) {
    add(layer);
    if (!layer.why.empty())
      out.warnings.lines.push_back(
          fmt::format("{} was not {}: {}", printable(layer.name),
                      audit.original.empty() || layer.compared ? "audited" : "compared", layer.why));
    if (list) continue;
    const CapturedProduct* product = product_of(audit, layer.name);
    if (product != nullptr && product->audit.rows_of.front().verdict == GemmVerdict::not_judged)
      out.warnings.lines.push_back(
          fmt::format("{} can't be judged: {}", printable(layer.name), product->audit.rows_of.front().why));
    out.cases.push_back(case_of(audit, layer));
  }
  for (const ModelTensor& one : audit.tensors) {
    add(one);
    const bool fails = !one.faults.empty() || (audit.strict && !one.suspicions.empty());
    if (fails)
      out.cases.push_back({"tensors",
                           printable(one.name),
                           TestCase::Outcome::failure,
                           one.faults.empty() ? one.suspicions.front() : one.faults.front(),
                           {}});
  }
  for (const std::string& why : audit.unread)
    if (std::find(audit.unread_layers.begin(), audit.unread_layers.end(), why) == audit.unread_layers.end())
      out.warnings.lines.push_back("Not read: " + why);
  out.warnings.title = "What is left out";
  for (const Table* table : {&faults, &suspicions, &notes})
    if (!table->rows.empty()) out.sections.push_back(section_of(*table));
  if (!audit.original.empty()) out.sections.push_back(section_of(weight_table(audit)));
  if (!list) out.sections.push_back(section_of(error_table(audit)));
  out.sections.push_back(section_of(layer_table(audit), list ? kEverywhere : kInDocuments));
  out.json = [audit] { return to_json(audit); };
  out.records = list ? layer_table(audit) : error_table(audit);
  out.suite = "mmaudit model";
  return out;
}

}  // namespace mmaudit::report
