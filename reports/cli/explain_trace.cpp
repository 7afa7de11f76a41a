#include "explain_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "explain_integers.hpp"
#include "explain_scaled.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/datapath_json.hpp"
#include "mmaudit/json_text.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::cli {
namespace {

bool is_plain_zero(const ExplainedAddend& x) { return x.kind == Kind::finite && x.exact.significand == 0; }

std::string result_text(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  const std::string rounding = rounding_text(trace.plan.datapath);
  const std::string sum = step.special ? "  -> "
                                       : fmt::format("  sum {} -> {} -> ", number(step.sum),
                                                     rounding.substr(0, rounding.find(',')));
  const FormatSpec& output = trace.plan.step.output;
  std::string text = sum + hex_value(step.result, output) + "\n";
  if (trace.each_add)
    text += fmt::format("  added to {}, to nearest: {}\n", index == 0 ? "c" : "the sum",
                        hex_value(step.total, output));
  return text;
}

std::string step_text(const Explanation& trace, const ExplainedStep& step, std::size_t index, bool all) {
  const Datapath& datapath = trace.plan.datapath;
  std::string text = fmt::format("step {} of {}", index + 1, trace.steps.size());
  if (step.special) {
    text += ": an input is NaN or infinite, no sum is formed\n";
  } else if (!cuts_anything(datapath)) {
    text += ": IEEE, nothing is cut before the one rounding\n";
  } else {
    text += fmt::format(": E = {}{}, F = {}, last kept bit 2^{}\n", step.maximum,
                        step.floor_decided ? " (the floor)" : "", datapath.fraction_bits,
                        step.maximum - datapath.fraction_bits);
  }
  if (trace.plan.grouped) return text + groups_text(trace, step, index) + result_text(trace, step, index);
  text += fmt::format("  {:>3}  {:<24} {:<24} {:>4}  {:<24} {:<24} {}\n", "k", "a", "b", "e", "exact", "kept",
                      "lost");
  std::size_t zeros = 0;
  for (const ExplainedAddend& x : step.addends) {
    if (x.k >= 0 && is_plain_zero(x) && !all) {
      ++zeros;
      continue;
    }
    const std::string exponent = x.in_maximum && x.kind == Kind::finite ? std::to_string(x.exponent) : "-";
    const std::string left = x.k < 0 ? hex_value(x.a, step.addend_format) : hex_value(x.a, trace.plan.a);
    const std::string right = x.k < 0 ? "" : hex_value(x.b, trace.plan.b);
    const bool finite = !step.special;
    const std::string label = x.k >= 0                         ? std::to_string(x.k)
                              : trace.each_add                 ? "-0"
                              : index == 0 && !trace.final_add ? "c"
                                                               : "sum";
    text += fmt::format("  {:>3}  {:<24} {:<24} {:>4}  {:<24} {:<24} {}\n", label, left, right, exponent,
                        x.kind == Kind::finite ? number(x.exact) : "-", finite ? number(x.kept) : "-",
                        finite ? number(x.lost) : "-");
  }
  if (zeros != 0) text += fmt::format("       ({} zero products, which take no part in E)\n", zeros);
  return text + result_text(trace, step, index);
}

std::string exact_line(const ExplainInputs& inputs, const Explanation& trace, const FormatSpec& output) {
  const oracle::ExactDot exact = exact_of(inputs);
  if (output.integer()) return integer_verdict(trace, exact.value, exact.decimal);
  const std::uint64_t nearest = oracle::correctly_rounded(exact, inputs.instruction.d);
  const double d = decode_value(trace.result, output);
  return fmt::format("exact {}{}   relative error {:.3g}   {:+.4g} ulp   correctly rounded {}\n",
                     exact.decimal, exact.decimal_is_exact ? "" : "...", oracle::relative_error(exact, d),
                     oracle::error_in_ulps(exact, trace.result, inputs.instruction.d),
                     hex_value(nearest, output));
}

}  // namespace

std::string trace_text(const ExplainInputs& inputs, const Explanation& trace, bool all) {
  const FormatSpec& output = spec_of(inputs.instruction.d);
  std::string text = scales_text(trace);
  if (!inputs.metadata.empty())
    text += fmt::format("k counts the stored elements of A; metadata {}\n", fmt::join(inputs.metadata, ","));
  if (trace.plan.wide.id != Format::none) {
    text +=
        fmt::format("operands are widened to {}; {}\n", mmaudit::name_of(trace.plan.wide.id),
                    trace.plan.datapath.order == KOrder::pairs_of_four ? "k mod 4 in {0,1} first, then {2,3}"
                                                                       : "k in row order");
  }
  for (std::size_t i = 0; i < trace.steps.size(); ++i) text += step_text(trace, trace.steps[i], i, all);
  if (trace.plan.integer) text += products_text(trace, all);
  for (const ExplainedFma& x : trace.fmas) {
    text += fmt::format("  k {:>2}: fma({}, {}, {}) -> {}\n", x.k, hex_value(x.a, output),
                        hex_value(x.b, output), value_text(x.before, output), hex_value(x.after, output));
  }
  if (trace.final_add) {
    text += fmt::format("c {} is added last, {} -> {}\n", hex_value(trace.addend, trace.plan.step.addend),
                        name_of(final_add_rounding(trace.plan.datapath)), hex_value(trace.result, output));
  }
  return text + fmt::format("D = {}\n", hex_value(trace.result, output)) + exact_line(inputs, trace, output);
}

nlohmann::json trace_json(const ExplainInputs& inputs, const Explanation& trace,
                          const Architecture& architecture, const DatapathEntry& entry) {
  const FormatSpec output = spec_of(inputs.instruction.d);
  const oracle::ExactDot exact = exact_of(inputs);
  nlohmann::json out = nlohmann::json::parse(mmaudit::trace_json(trace));
  out["architecture"] = architecture.name;
  out["row"] = corpus::to_json(inputs.instruction, entry);
  out["exact"] = exact.decimal;
  out["exact_is_complete"] = exact.decimal_is_exact;
  if (!inputs.metadata.empty()) out["metadata"] = inputs.metadata;
  if (trace.plan.integer) return out;
  out["correctly_rounded"] =
      hex_text(oracle::correctly_rounded(exact, inputs.instruction.d), output.storage_bits);
  const double relative = oracle::relative_error(exact, decode_value(trace.result, output));
  const double ulps = oracle::error_in_ulps(exact, trace.result, inputs.instruction.d);
  out["relative_error"] = std::isfinite(relative) ? nlohmann::json(relative) : nlohmann::json();
  out["error_ulps"] = std::isfinite(ulps) ? nlohmann::json(ulps) : nlohmann::json();
  return out;
}

}  // namespace mmaudit::cli
