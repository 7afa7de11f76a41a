// The audit of a network as JSON, and the layer recipes that follow from it.
#include <algorithm>

#include "gemm/audit_tables.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/report/capture_audit.hpp"

namespace mmaudit::report {
namespace {

/// As mmaudit.torch.Recipe names its fields.
Json recipe_of(const GemmAuditRow& row) {
  return {{"arch", row.architecture},
          {"dtype", row.dtype},
          {"scaling", row.scaling},
          {"policy", row.accumulation}};
}

Json number(double value, bool any) { return any ? Json(value) : Json(nullptr); }

/// What `choices` take, but for layers that take the same in `before`.
Json layers_of(const std::vector<LayerChoice>& choices, const std::vector<LayerChoice>* before = nullptr) {
  Json layers = Json::object();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const LayerChoice& one = choices[i];
    if (before != nullptr && (*before)[i].row == one.row) continue;
    // What capture() calls the products of the module itself.
    layers[one.layer == "module" ? "" : one.layer] = one.row != nullptr ? recipe_of(*one.row) : Json("keep");
  }
  return layers;
}

Json recipes_json(const CaptureAudit& audit) {
  const std::vector<LayerChoice> choices = audit.choices();
  Json out = {{"schema", "mmaudit.plan/1"}, {"default", "keep"}, {"layers", layers_of(choices)}};
  if (!audit.output_limit) return out;
  out["estimate"] = {{"output_error", output_error_of(choices)}, {"limit", *audit.output_limit}};
  out["tighter"] = Json::array();
  const std::vector<std::vector<LayerChoice>> tighter = audit.tighter();
  const std::vector<LayerChoice>* before = &choices;
  for (const std::vector<LayerChoice>& next : tighter) {
    out["tighter"].push_back({{"output_error", output_error_of(next)}, {"layers", layers_of(next, before)}});
    before = &next;
  }
  return out;
}

Json coverage_json(const std::optional<CaptureCoverage>& coverage) {
  if (!coverage) return nullptr;
  Json missed = Json::object();
  for (const auto& [name, count] : coverage->missed) missed[name] = count;
  return {{"share_missed", coverage->share_missed}, {"missed", missed}};
}

/// Bits times multiplications of the choices, and what no choices within the limit are below.
Json cost_json(const CaptureAudit& audit) {
  if (!audit.output_recipes) return nullptr;
  return {{"plan", audit.output_recipes->cost}, {"least", audit.output_recipes->least_cost}};
}

}  // namespace

std::optional<CaptureCoverage> coverage_of(const std::string& file,
                                           const std::map<std::string, std::string>& metadata) {
  const auto found = metadata.find("mmaudit");
  if (found == metadata.end() || !is_json(found->second)) return std::nullopt;
  const Json all = parse_json(found->second);
  const JsonNode said = JsonNode(all, "--capture: " + file)["coverage"];
  if (!said.given()) return std::nullopt;
  CaptureCoverage out;
  JsonFields fields(said.json(), said.where());
  fields.require({"share_missed", "rows"});
  fields.number("share_missed", out.share_missed);
  if (!(out.share_missed >= 0 && out.share_missed <= 1))
    fields.refuse("share_missed", Json(out.share_missed), "0 to 1");
  std::map<std::string, double> missed;
  for (const JsonNode& each : said["rows"].list()) {
    JsonFields row(each.json(), each.where());
    row.require({"operator", "multiply_adds", "state", "backward"});
    std::string name, state;
    double count = 0;
    bool backward = false;
    row.text("operator", name), row.text("state", state);
    row.number("multiply_adds", count), row.boolean("backward", backward);
    if (state == "not emulated" && !backward) missed[name] += count;
  }
  out.missed.assign(missed.begin(), missed.end());
  std::stable_sort(out.missed.begin(), out.missed.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  return out;
}

std::string layer_recipes_of(const CaptureAudit& audit) { return ordered_document(recipes_json(audit)); }

std::string to_json(const CaptureAudit& audit) {
  Json products = Json::array();
  for (const CapturedProduct& product : audit.products) {
    Json rows = Json::array();
    for (const GemmAuditRow& row : product.audit.rows_of) {
      const GemmErrors& e = row.errors;
      const bool any = has_figures(e);
      Json one = recipe_of(row);
      one["instruction"] = row.instruction;
      one["evidence"] = row.evidence;
      one["total"] = number(e.total, any);
      one["quantization"] = number(e.quantization, any);
      one["accumulation"] = number(e.accumulation, any);
      one["output"] = number(e.output, any);
      one["verdict"] = row.verdict == GemmVerdict::not_asked ? Json(nullptr) : Json(name_of(row.verdict));
      rows.push_back(std::move(one));
    }
    products.push_back({{"name", product.name},
                        {"layer", product.layer},
                        {"m", product.audit.m},
                        {"n", product.audit.n},
                        {"k", product.audit.k},
                        {"gain", product.gain ? Json(product.gain->gain) : Json(nullptr)},
                        {"rows", rows}});
  }
  const Origin& origin = audit.provenance;
  Json inputs = Json::array();
  for (const InputFacts& input : origin.inputs)
    inputs.push_back({{"name", input.name}, {"bytes", input.bytes}, {"xxh3_128", input.checksum}});
  Json limit = nullptr;
  if (!audit.products.empty() && audit.products.front().audit.limit)
    limit = *audit.products.front().audit.limit;
  return ordered_document(
      {{"schema", "mmaudit.audit.capture/1"},
       {"version", origin.version},
       {"git_revision", origin.revision},
       {"date", origin.date},
       {"inputs", inputs},
       {"max_rel_fro", limit},
       {"missing", audit.missing()},
       {"max_output_error", audit.output_limit ? Json(*audit.output_limit) : Json(nullptr)},
       {"activations", audit.activations.empty() ? Json(nullptr) : Json(audit.activations)},
       {"coverage", coverage_json(audit.coverage)},
       {"products", products},
       {"cost", cost_json(audit)},
       {"plan", limit.is_null() && !audit.output_limit ? Json(nullptr) : recipes_json(audit)}});
}

}  // namespace mmaudit::report
