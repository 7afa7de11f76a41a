#include "explained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "mmaudit/report/table.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {
namespace {

std::string number(Dyadic x) {
  if (x.significand == 0) return "0";
  return fmt::format("{}", std::ldexp(static_cast<double>(x.significand), x.exponent));
}

std::string scales_text(const Explanation& trace) {
  const DotSpec& spec = trace.spec;
  if (!spec.block_scaled()) return {};
  std::string text;
  for (const bool of_a : {true, false}) {
    text += fmt::format("scales of {} ({}, every {} {}):", of_a ? 'A' : 'B', mmaudit::name_of(spec.scale.id),
                        spec.scale_block, spec.sparsity == Sparsity{} ? "of k" : "stored elements of A");
    for (const std::uint64_t bits : of_a ? trace.scale_a : trace.scale_b)
      text += fmt::format("  {}", hex_value(bits, spec.scale));
    text += "\n";
  }
  return text;
}

std::string groups_text(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  const DotSpec& spec = trace.spec;
  std::vector<std::vector<report::Cell>> rows = {
      {"k", "products", "scale of A", "scale of B", "e", "exact", "kept", "lost"}};
  for (const ExplainedAddend& x : step.addends) {
    const bool addend = x.k < 0, finite = x.kind == Kind::finite;
    std::vector<report::Cell> row;
    if (addend) {
      row = {index == 0 && !trace.final_add ? "c" : "sum", hex_value(x.a, step.addend_format), "", ""};
    } else {
      const auto block = static_cast<std::size_t>(x.k / spec.scale_block);
      row = {fmt::format("{}-{}", x.k, x.k + x.count - 1), number(x.products),
             hex_value(trace.scale_a[block], spec.scale), hex_value(trace.scale_b[block], spec.scale)};
    }
    row.insert(row.end(),
               {x.in_maximum && finite ? std::to_string(x.exponent) : "-", finite ? number(x.exact) : "-",
                step.special ? "-" : number(x.kept), step.special ? "-" : number(x.lost)});
    rows.push_back(row);
  }
  return report::aligned({{2, 6, true}, {2, 16}, {1, 16}, {1, 16}, {1, 4, true}, {2, 24}, {1, 24}, {1, 0}},
                         rows);
}

std::string factor_text(std::uint64_t bits, const FormatSpec& format, std::int64_t value) {
  return fmt::format("0x{} = {}", hex_text(bits, format.storage_bits), value);
}

std::string products_text(const Explanation& trace, bool all) {
  const FormatSpec& c = trace.spec.step.addend;
  std::string text = fmt::format("  c 0x{} = {}\n  {:>3}  {:<16} {:<16} {:>8} {:>12}\n",
                                 hex_text(trace.addend, c.storage_bits), value_text(trace.addend, c), "k",
                                 "a", "b", "product", "sum");
  std::size_t zeros = 0;
  for (const ExplainedProduct& x : trace.products) {
    if (x.product == 0 && !all && !x.clamped) {
      ++zeros;
      continue;
    }
    text += fmt::format("  {:>3}  {:<16} {:<16} {:>8} {:>12}{}\n", x.k, factor_text(x.a, trace.spec.a, x.x),
                        factor_text(x.b, trace.spec.b, x.y), x.product, x.sum, x.clamped ? "  clamped" : "");
  }
  if (zeros != 0) text += fmt::format("       ({} zero product{})\n", zeros, zeros == 1 ? "" : "s");
  return text;
}

std::string integer_verdict(const Explanation& trace, double exact, const std::string& decimal) {
  const char* fate =
      trace.spec.integers.clamp == IntegerClamp::never ? ", which wraps" : ", which is clamped";
  const bool kept = exact == decode_value(trace.result, trace.spec.step.output);
  return fmt::format("exact {}{}\n", decimal, kept ? "" : fate);
}

bool is_plain_zero(const ExplainedAddend& x) { return x.kind == Kind::finite && x.exact.significand == 0; }

std::string result_text(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  const std::string rounding = rounding_text(trace.spec.datapath);
  const std::string sum = step.special ? "  -> "
                                       : fmt::format("  sum {} -> {} -> ", number(step.sum),
                                                     rounding.substr(0, rounding.find(',')));
  const FormatSpec& output = trace.spec.step.output;
  std::string text = sum + hex_value(step.result, output) + "\n";
  if (trace.each_add)
    text += fmt::format("  added to {}, to nearest: {}\n", index == 0 ? "c" : "the sum",
                        hex_value(step.total, output));
  return text;
}

std::string step_text(const Explanation& trace, const ExplainedStep& step, std::size_t index, bool all) {
  const Datapath& datapath = trace.spec.datapath;
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
  if (trace.spec.grouped) return text + groups_text(trace, step, index) + result_text(trace, step, index);
  std::vector<std::vector<report::Cell>> rows = {{"k", "a", "b", "e", "exact", "kept", "lost"}};
  std::size_t zeros = 0;
  for (const ExplainedAddend& x : step.addends) {
    if (x.k >= 0 && is_plain_zero(x) && !all) {
      ++zeros;
      continue;
    }
    const std::string exponent = x.in_maximum && x.kind == Kind::finite ? std::to_string(x.exponent) : "-";
    const std::string left = x.k < 0 ? hex_value(x.a, step.addend_format) : hex_value(x.a, trace.spec.a);
    const std::string right = x.k < 0 ? "" : hex_value(x.b, trace.spec.b);
    const bool finite = !step.special;
    const std::string label = x.k >= 0                         ? std::to_string(x.k)
                              : trace.each_add                 ? "-0"
                              : index == 0 && !trace.final_add ? "c"
                                                               : "sum";
    rows.push_back({label, left, right, exponent, x.kind == Kind::finite ? number(x.exact) : "-",
                    finite ? number(x.kept) : "-", finite ? number(x.lost) : "-"});
  }
  text += report::aligned({{2, 3, true}, {2, 24}, {1, 24}, {1, 4, true}, {2, 24}, {1, 24}, {1, 0}}, rows);
  if (zeros != 0)
    text += fmt::format("       ({} zero product{} no part in E)\n", zeros,
                        zeros == 1 ? ", which takes" : "s, which take");
  return text + result_text(trace, step, index);
}

/// What the steps of a staged datapath do, in words.
std::string_view stage_words(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::exact_dot_add  ? "products and sum exactly, one rounding"
         : arithmetic == Arithmetic::rounded_tree ? "products rounded, added in pairs, then to the sum"
                                                  : "products aligned and added, then aligned with the sum";
}

/// fmt writes the sign of a NaN.
std::string value(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

/// Why a step adds something else than the product; empty where it adds the product.
std::string taken_text(const ExplainedTerm& x) {
  if (x.taken == x.product || (std::isnan(x.taken) && std::isnan(x.product))) return "";
  return fmt::format("  taken as {}: {}", value(x.taken),
                     x.flushed             ? "a subnormal factor is flushed"
                     : std::isinf(x.taken) ? "it overflows"
                     : x.taken == 0        ? "it is flushed"
                                           : "it is rounded");
}

std::string stage_text(const Explanation& trace, const ExplainedStage& stage, std::size_t index, bool all) {
  const FormatSpec& output = trace.spec.step.output;
  std::string text =
      fmt::format("step {} of {}: k {}-{}, {}\n", index + 1, trace.stages.size(), stage.products.front().k,
                  stage.products.back().k, stage_words(trace.spec.datapath.arithmetic));
  std::vector<std::vector<report::Cell>> rows = {{"k", "a", "b", "product"}};
  rows.push_back(
      {index == 0 ? "c" : "sum", hex_value(stage.before, index == 0 ? trace.spec.step.addend : output)});
  if (stage.flushed) rows.back().insert(rows.back().end(), {"", "taken as 0: a subnormal c is flushed"});
  std::size_t zeros = 0;
  for (const ExplainedTerm& x : stage.products)
    if (x.product == 0 && !all)
      ++zeros;
    else
      rows.push_back({std::to_string(x.k), hex_value(x.a, trace.spec.a), hex_value(x.b, trace.spec.b),
                      value(x.product) + taken_text(x)});
  text += report::aligned({{2, 3, true}, {2, 24}, {1, 24}, {2, 0}}, rows);
  if (zeros != 0) text += fmt::format("       ({} zero product{})\n", zeros, zeros == 1 ? "" : "s");
  return text +
         fmt::format("  -> {} -> {}\n", rounding_text(trace.spec.datapath), hex_value(stage.after, output));
}

std::string exact_line(const Explained& one, const FormatSpec& output) {
  const auto& [instruction, dot, trace] = one;
  const oracle::ExactDot exact = oracle::exact_dot(instruction, dot);
  if (output.integer()) return integer_verdict(trace, exact.value, exact.decimal);
  const std::uint64_t nearest = oracle::correctly_rounded(exact, instruction.d);
  const double d = decode_value(trace.result, output);
  if (std::isnan(d) || std::isnan(exact.value))  // no distance
    return fmt::format("exact {}{}   correctly rounded {}\n", exact.decimal,
                       exact.decimal_is_exact ? "" : "...", hex_value(nearest, output));
  return fmt::format("exact {}{}   relative error {:.3g}   {:+.4g} ulp   correctly rounded {}\n",
                     exact.decimal, exact.decimal_is_exact ? "" : "...", oracle::relative_error(exact, d),
                     oracle::error_in_ulps(exact, trace.result, instruction.d), hex_value(nearest, output));
}

}  // namespace

Explained explain(const Instruction& instruction, const DatapathEntry& entry, const DotCase& dot) {
  return {instruction, dot, mmaudit::explain(instruction, entry.datapath, dot)};
}

std::string trace_text(const Explained& one, bool all) {
  const auto& [instruction, dot, trace] = one;
  const FormatSpec& output = spec_of(instruction.d);
  std::string text = scales_text(trace);
  if (!dot.metadata.empty())
    text += fmt::format("k counts the stored elements of A; metadata {}\n", fmt::join(dot.metadata, ","));
  if (trace.spec.wide.id != Format::none)
    text +=
        fmt::format("operands are widened to {}; {}\n", mmaudit::name_of(trace.spec.wide.id),
                    trace.spec.datapath.order == KOrder::pairs_of_four ? "k mod 4 in {0,1} first, then {2,3}"
                                                                       : "k in row order");
  for (std::size_t i = 0; i < trace.steps.size(); ++i) text += step_text(trace, trace.steps[i], i, all);
  for (std::size_t i = 0; i < trace.stages.size(); ++i) text += stage_text(trace, trace.stages[i], i, all);
  if (trace.spec.integer) text += products_text(trace, all);
  for (const ExplainedFma& x : trace.fmas)
    text += fmt::format("  k {:>2}: fma({}, {}, {}) -> {}\n", x.k, hex_value(x.a, output),
                        hex_value(x.b, output), value_text(x.before, output), hex_value(x.after, output));
  if (trace.final_add)
    text += fmt::format("c {} is added last, {} -> {}\n", hex_value(trace.addend, trace.spec.step.addend),
                        name_of(final_add_rounding(trace.spec.datapath)), hex_value(trace.result, output));
  return text + fmt::format("D = {}\n", hex_value(trace.result, output)) + exact_line(one, output);
}

Json trace_json(const Explained& one, const Architecture& architecture, const DatapathEntry& entry) {
  const auto& [instruction, dot, trace] = one;
  const FormatSpec output = spec_of(instruction.d);
  const oracle::ExactDot exact = oracle::exact_dot(instruction, dot);
  Json out = parse_json(mmaudit::trace_json(trace));
  out["architecture"] = architecture.name;
  out["row"] = corpus::to_json(instruction, entry);
  out["exact"] = exact.decimal;
  out["exact_is_complete"] = exact.decimal_is_exact;
  if (!dot.metadata.empty()) out["metadata"] = dot.metadata;
  if (trace.spec.integer) return out;
  out["correctly_rounded"] = hex_text(oracle::correctly_rounded(exact, instruction.d), output.storage_bits);
  const double d = decode_value(trace.result, output);
  const bool distance = !std::isnan(d) && !std::isnan(exact.value);
  const double nan = std::nan("");
  const double relative = distance ? oracle::relative_error(exact, d) : nan;
  const double ulps = distance ? oracle::error_in_ulps(exact, trace.result, instruction.d) : nan;
  out["relative_error"] = relative;
  out["error_ulps"] = ulps;
  return out;
}

}  // namespace mmaudit::checks
