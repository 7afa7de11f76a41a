#include "probe_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {
namespace {

using probe::Alternative;
using probe::Claim;
using probe::Finding;
using report::Table;

/// "1.5 (0x3e00)".
std::string number(std::uint64_t bits, Format format) {
  return fmt::format("{} (0x{})", value_text(bits, spec_of(format)),
                     hex_text(bits, spec_of(format).storage_bits));
}

/// The element of B that stored element `k` of A meets.
std::uint64_t met(const Instruction& inst, const DotCase& dot, std::size_t k) {
  if (!is_sparse(inst.op)) return dot.b[k];
  return dot.b[static_cast<std::size_t>(
      selected_k(sparsity_of(inst), MetadataRule::selected, dot.metadata.data(), static_cast<int>(k)))];
}

std::string inputs_text(const Instruction& inst, const DotCase& dot) {
  std::vector<std::string> parts;
  constexpr std::size_t kMost = 6;
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < dot.a.size(); ++k) {
    const std::uint64_t b = met(inst, dot, k);
    if (dot.a[k] == 0 && b == 0) continue;
    if (parts.size() == kMost)
      ++left_out;
    else
      parts.push_back(fmt::format("k{}: {} * {}", k, number(dot.a[k], inst.a), number(b, inst.b)));
  }
  if (left_out != 0) parts.push_back(fmt::format("{} more products", left_out));
  if (dot.c != 0 || parts.empty()) parts.push_back(fmt::format("c: {}", number(dot.c, inst.c)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json inputs_json(const Instruction& inst, const DotCase& dot) {
  Json out = {{"a", hex_texts(dot.a, inst.a)},
              {"b", hex_texts(dot.b, inst.b)},
              {"c", hex_text(dot.c, spec_of(inst.c).storage_bits)}};
  if (!dot.metadata.empty()) out["metadata"] = dot.metadata;
  if (!dot.scale_a.empty()) {
    out["scale_a"] = dot.scale_a;
    out["scale_b"] = dot.scale_b;
  }
  return out;
}

bool number_rule(const Claim& claim) {
  return !claim.value.empty() && claim.value.find_first_not_of("-0123456789") == std::string::npos;
}

/// The values that nothing contradicts, the found one among them: numbers as ranges.
std::string open_values(const Claim& claim) {
  std::vector<std::string> values;
  if (!number_rule(claim)) {
    for (const Alternative& one : claim.alternatives)
      if (!one.witness) values.push_back(one.value);
    return fmt::format("{}", fmt::join(values, ", "));
  }
  std::vector<int> numbers{std::stoi(claim.value)};
  for (const Alternative& one : claim.alternatives)
    if (!one.witness) numbers.push_back(std::stoi(one.value));
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    values.push_back(last == i ? std::to_string(numbers[i])
                               : fmt::format("{} to {}", numbers[i], numbers[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string reason_of(const Claim& claim) {
  for (const Alternative& one : claim.alternatives)
    if (!one.witness && !one.reason.empty()) return one.reason;
  return "no input that was tried tells them apart";
}

/// The contradicted values that a reader asks for: of a number the two beside it.
std::vector<const Alternative*> shown(const Claim& claim) {
  std::vector<const Alternative*> out;
  for (const Alternative& one : claim.alternatives) {
    if (!one.witness) continue;
    if (number_rule(claim) && std::abs(std::stoi(one.value) - std::stoi(claim.value)) > 1) continue;
    out.push_back(&one);
  }
  return out;
}

std::string json_of(const Finding& finding) {
  const Instruction& inst = finding.instruction;
  const auto d_text = [&](std::uint64_t bits) { return hex_text(bits, spec_of(inst.d).storage_bits); };
  Json out = {{"schema", "mmaudit.probe/1"},
              {"instruction", name_of(inst)},
              {"explained", finding.explained()},
              {"answers", finding.answers},
              {"contradictions", finding.contradictions},
              {"verified", finding.verified},
              {"mismatches", finding.mismatches},
              {"steps", finding.steps},
              {"claims", Json::array()}};
  for (const Claim& claim : finding.claims) {
    Json one = {{"rule", claim.rule},
                {"value", claim.value},
                {"decided", finding.explained() && claim.decided()},
                {"open", Json::array()},
                {"witnesses", Json::array()}};
    for (const Alternative& other : claim.alternatives)
      if (!other.witness) one["open"].push_back({{"value", other.value}, {"reason", other.reason}});
    for (const Alternative* other : shown(claim))
      one["witnesses"].push_back({{"not", other->value},
                                  {"inputs", inputs_json(inst, other->witness->dot)},
                                  {"d", d_text(other->witness->d)},
                                  {"would_be", d_text(other->expected)}});
    out["claims"].push_back(std::move(one));
  }
  if (finding.example)
    out["example"] = {{"inputs", inputs_json(inst, finding.example->dot)},
                      {"d", d_text(finding.example->expected)},
                      {"datapath_gives", d_text(finding.example->found)}};
  out["model"] = parse_json(model_json(finding, "probed"));
  return ordered_document(out);
}

std::string json_of(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm) {
  Json out = {{"schema", "mmaudit.gemm-reveal/1"},
              {"m", gemm.m},
              {"n", gemm.n},
              {"k", gemm.k},
              {"a", name_of(gemm.a)},
              {"b", name_of(gemm.b)},
              {"d", name_of(gemm.d)},
              {"calls", finding.calls},
              {"tree", finding.why_no_tree.empty() ? text_of(finding.tree, gemm.k) : ""},
              {"why_no_tree", finding.why_no_tree},
              {"c", finding.c_place},
              {"alpha", finding.alpha},
              {"beta", finding.beta},
              {"random_c", finding.random_c},
              {"why_no_c", finding.why_no_c},
              {"plan", nullptr},
              {"plan_fields", nullptr},
              {"architecture", finding.architecture},
              {"why_no_plan", finding.why_no_plan},
              {"alike", finding.alike},
              {"subnormals", finding.subnormals},
              {"verified", finding.verified},
              {"mismatches", finding.mismatches},
              {"other_nans", finding.other_nans}};
  if (finding.plan) {
    out["plan"] = text_of(*finding.plan);
    out["plan_fields"] = corpus::to_json(*finding.plan).sorted();
  }
  return ordered_document(out);
}

/// Rules and values: what is claimed, or what the nearest datapath has, about which nothing is claimed.
Table rules_of(const Finding& finding) {
  const bool claims = finding.explained();
  Table out{.title = claims ? "Rules" : "The nearest datapath", .columns = {"rule", "value"}};
  for (const Claim& claim : finding.claims)
    if (!claims || claim.decided()) out.rows.push_back({claim.rule, claim.value});
  return out;
}

Table open_of(const Finding& finding) {
  Table out{.title = "Not decided, each with what is left", .columns = {"rule", "value", "why"}};
  for (const Claim& claim : finding.claims)
    if (!claim.decided())
      out.rows.push_back({claim.rule, (number_rule(claim) ? "" : claim.value + " or ") + open_values(claim),
                          reason_of(claim)});
  return out;
}

std::vector<std::string> witnesses_of(const Finding& finding) {
  const Instruction& inst = finding.instruction;
  std::vector<std::string> out;
  for (const Claim& claim : finding.claims)
    for (const Alternative* one : shown(claim))
      out.push_back(fmt::format("{} {}, not {}: {}; D is {}, would be {}", claim.rule, claim.value,
                                one->value, inputs_text(inst, one->witness->dot),
                                number(one->witness->d, inst.d), number(one->expected, inst.d)));
  return out;
}

/// What was found of a product beside the tree, a row each.
Table facts_of(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm) {
  Table out{.columns = {"what", "found"}};
  const auto add = [&](std::string_view what, const std::string& found) {
    out.rows.push_back({what, found});
  };
  if (!gemm.with_c)
    add("C", "the function is given none");
  else if (!finding.c_place.empty())
    add("C", finding.c_place);
  if (finding.plan && !finding.why_no_c.empty()) add("C in the plan", "none: " + finding.why_no_c);
  if (finding.scaled()) add("factors", fmt::format("alpha {}, beta {}", finding.alpha, finding.beta));
  if (!finding.plan) {
    add("plan", "none: " + finding.why_no_plan);
    if (finding.mismatches != 0)
      add("random products", fmt::format("{} elements differ", finding.mismatches));
    return out;
  }
  add("plan", fmt::format("{} {}", finding.architecture, text_of(*finding.plan)));
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(finding.alike.size(), kMost); ++i) add("same bits", finding.alike[i]);
  if (finding.alike.size() > kMost)
    add("same bits", fmt::format("{} more, which --json names", finding.alike.size() - kMost));
  add(finding.random_c ? "random products and C"
      : gemm.with_c    ? "random products with C = 0"
                       : "random products",
      fmt::format("{} elements compared, {} mismatches{}", finding.verified, finding.mismatches,
                  finding.other_nans == 0 ? "" : fmt::format("; {} NaNs of other bits", finding.other_nans)));
  if (!finding.subnormals.empty())
    add("subnormals", fmt::format("of {} count, by a product each", fmt::join(finding.subnormals, ", ")));
  return out;
}

}  // namespace

std::string model_json(const Finding& finding, const std::string& name) {
  const Instruction& inst = finding.instruction;
  DatapathEntry entry{inst.unit, inst.d, finding.datapath, Evidence::user, "mmaudit probe", inst.c};
  Json row = corpus::to_json(entry);
  row.erase("source");
  return ordered_document({{"name", name},
                           {"compute_capability", std::max<int>(inst.min_compute_capability, 70)},
                           {"rows", Json::array({row})}});
}

report::Report report_of(const Finding& finding, bool witnesses) {
  const Instruction& inst = finding.instruction;
  report::Report out;
  out.title = "The datapath of an instruction";
  out.headline =
      fmt::format("{} datapath gives every answer of {}.", finding.explained() ? "One" : "No", name_of(inst));
  out.tone = finding.explained() ? report::Tone::good : report::Tone::bad;
  out.json = [&finding] { return json_of(finding); };
  out.lead = {fmt::format("{} directed and random answers; ", finding.answers) +
              (finding.contradictions != 0
                   ? fmt::format("the nearest datapath differs in {}", finding.contradictions)
                   : fmt::format("{} random dot products compared, {} mismatches", finding.verified,
                                 finding.mismatches))};
  if (finding.example) {
    const Mismatch& one = *finding.example;
    out.lead.push_back(fmt::format("{}: it gives {}, the datapath {}", inputs_text(inst, one.dot),
                                   number(one.expected, inst.d), number(one.found, inst.d)));
  }
  constexpr std::size_t kMostSteps = 16;
  if (!finding.steps.empty() && finding.steps.size() <= kMostSteps)
    out.lead.push_back(fmt::format("Steps: k {}", fmt::join(finding.steps, " | ")));
  out.sections.push_back(section_of(rules_of(finding)));
  if (!finding.explained()) return out;
  out.sections.push_back(section_of(open_of(finding)));
  if (witnesses) out.sections.push_back({.title = "Witnesses", .lines = witnesses_of(finding)});
  return out;
}

report::Report report_of(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm) {
  report::Report out;
  out.title = "The order in which a product adds";
  out.text_title = fmt::format("{} x {} x {}, {} x {} -> {}: {} calls", gemm.m, gemm.n, gemm.k,
                               name_of(gemm.a), name_of(gemm.b), name_of(gemm.d), finding.calls);
  out.meta = {out.text_title};
  out.headline = !finding.why_no_tree.empty() ? "No summation tree: " + finding.why_no_tree
                 : !finding.plan
                     ? "The order of additions is found, and no plan that has it."
                     : fmt::format("The plan is {} {}.", finding.architecture, text_of(*finding.plan));
  out.tone = finding.plan ? report::Tone::good : report::Tone::bad;
  out.json = [&finding, &gemm] { return json_of(finding, gemm); };
  if (!finding.why_no_tree.empty()) return out;
  out.sections.push_back({.title = "Order of additions", .block = text_of(finding.tree, gemm.k)});
  out.sections.push_back({.title = "Plan", .tables = {facts_of(finding, gemm)}});
  return out;
}

}  // namespace mmaudit::checks
