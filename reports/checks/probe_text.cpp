#include "probe_text.hpp"

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

/// "2^-3", "1.5*2^4" or the shortest decimal; "0x7fff" of what is no number.
std::string number(std::uint64_t bits, Format format) {
  const FormatSpec spec = spec_of(format);
  const std::string value = value_text(bits, spec);
  return fmt::format("{} (0x{})", value, hex_text(bits, spec.storage_bits));
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

std::string mismatch_text(const Instruction& inst, const Mismatch& one) {
  return fmt::format("  {}\n    it gives {}, the datapath {}\n", inputs_text(inst, one.dot),
                     number(one.expected, inst.d), number(one.found, inst.d));
}

std::string steps_text(const Finding& finding) {
  constexpr std::size_t kMost = 16;
  return finding.steps.empty() || finding.steps.size() > kMost
             ? ""
             : fmt::format("steps: k {}\n", fmt::join(finding.steps, " | "));
}

/// The rules of a datapath that is not the right one: no claims.
std::string nearest_text(const Finding& finding) {
  std::string text = "the nearest one:\n" + steps_text(finding);
  for (const Claim& claim : finding.claims) text += fmt::format("  {:<22}{}\n", claim.rule, claim.value);
  return text;
}

}  // namespace

std::string to_text(const Finding& finding, bool witnesses) {
  const Instruction& inst = finding.instruction;
  std::string text = fmt::format("{}: {} directed and random answers", name_of(inst), finding.answers);
  if (finding.contradictions != 0) {
    text += fmt::format(", and no datapath gives them all: the nearest one differs in {}\n",
                        finding.contradictions);
    return text + mismatch_text(inst, *finding.example) + nearest_text(finding);
  }
  text +=
      fmt::format("; {} random dot products compared, {} mismatches\n", finding.verified, finding.mismatches);
  if (finding.mismatches != 0) return text + mismatch_text(inst, *finding.example) + nearest_text(finding);
  text += steps_text(finding);
  std::string open;
  for (const Claim& claim : finding.claims) {
    if (!claim.decided()) {
      open += fmt::format("  {:<22}{}{}\n  {:<22}  {}\n", claim.rule,
                          number_rule(claim) ? "" : claim.value + " or ", open_values(claim), "",
                          reason_of(claim));
      if (!witnesses) continue;
    } else {
      text += fmt::format("  {:<22}{}\n", claim.rule, claim.value);
    }
    for (const Alternative* one : witnesses ? shown(claim) : std::vector<const Alternative*>())
      text += fmt::format("    not {}: {}\n      D is {}, would be {}\n", one->value,
                          inputs_text(inst, one->witness->dot), number(one->witness->d, inst.d),
                          number(one->expected, inst.d));
  }
  if (!open.empty()) text += "not decided, each with what is left:\n" + open;
  return text;
}

std::string to_json(const Finding& finding) {
  const Instruction& inst = finding.instruction;
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
                                  {"d", hex_text(other->witness->d, spec_of(inst.d).storage_bits)},
                                  {"would_be", hex_text(other->expected, spec_of(inst.d).storage_bits)}});
    out["claims"].push_back(std::move(one));
  }
  if (finding.example)
    out["example"] = {{"inputs", inputs_json(inst, finding.example->dot)},
                      {"d", hex_text(finding.example->expected, spec_of(inst.d).storage_bits)},
                      {"datapath_gives", hex_text(finding.example->found, spec_of(inst.d).storage_bits)}};
  out["model"] = parse_json(model_json(finding, "probed"));
  return ordered_document(out);
}

std::string model_json(const Finding& finding, const std::string& name) {
  const Instruction& inst = finding.instruction;
  DatapathEntry entry{inst.unit, inst.d, finding.datapath, Evidence::user, "mmaudit probe", inst.c};
  Json row = corpus::to_json(entry);
  row.erase("source");
  return ordered_document({{"name", name},
                           {"compute_capability", std::max<int>(inst.min_compute_capability, 70)},
                           {"rows", Json::array({row})}});
}

std::string to_text(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm) {
  std::string text = fmt::format("{} x {} x {}, {} x {} -> {}: {} calls\n", gemm.m, gemm.n, gemm.k,
                                 name_of(gemm.a), name_of(gemm.b), name_of(gemm.d), finding.calls);
  if (!finding.why_no_tree.empty()) return text + "no summation tree: " + finding.why_no_tree + "\n";
  text += "order of additions:\n";
  const std::string tree = text_of(finding.tree, gemm.k);
  for (std::size_t at = 0; at < tree.size();) {
    const std::size_t end = tree.find('\n', at);
    text += "  " + tree.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (!finding.c_place.empty()) text += "c: " + finding.c_place + "\n";
  if (finding.scaled()) text += fmt::format("factors: alpha {}, beta {}\n", finding.alpha, finding.beta);
  if (!gemm.with_c) text += "c: the function is given none\n";
  if (!finding.plan) {
    text += "plan: none: " + finding.why_no_plan;
    if (finding.mismatches != 0) text += fmt::format(" ({} elements differ)", finding.mismatches);
    return text + "\n";
  }
  text += fmt::format("plan: {} {}\n", finding.architecture, text_of(*finding.plan));
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(finding.alike.size(), kMost); ++i)
    text += fmt::format("  same bits: {}\n", finding.alike[i]);
  if (finding.alike.size() > kMost)
    text += fmt::format("  same bits: {} more, which --json names\n", finding.alike.size() - kMost);
  text += fmt::format("random products{}: {} elements compared, {} mismatches",
                      finding.random_c ? " and C"
                      : gemm.with_c    ? " with C = 0"
                                       : "",
                      finding.verified, finding.mismatches);
  if (finding.other_nans != 0) text += fmt::format("; {} NaNs of other bits", finding.other_nans);
  return text + "\n";
}

std::string to_json(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm) {
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
              {"plan", nullptr},
              {"plan_fields", nullptr},
              {"architecture", finding.architecture},
              {"why_no_plan", finding.why_no_plan},
              {"alike", finding.alike},
              {"verified", finding.verified},
              {"mismatches", finding.mismatches},
              {"other_nans", finding.other_nans}};
  if (finding.plan) {
    out["plan"] = text_of(*finding.plan);
    out["plan_fields"] = corpus::to_json(*finding.plan).sorted();
  }
  return ordered_document(out);
}

}  // namespace mmaudit::checks
