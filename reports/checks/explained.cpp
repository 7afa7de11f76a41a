#include "explained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/dot_picture.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Column;
using report::Section;
using report::Table;
using report::value_of;

/// Without the columns in which no row says anything.
Table without_empty_columns(Table table) {
  for (std::size_t i = table.columns.size(); i-- > 0;) {
    if (std::any_of(table.rows.begin(), table.rows.end(),
                    [i](const auto& row) { return !row[i].text.empty(); }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return table;
}

std::string title_of(const Explained& one) {
  return fmt::format("{} on {} ({})", name_of(one.instruction), one.architecture->name,
                     name_of(one.entry->evidence));
}

std::string d_text(const Explained& one) { return hex_value(one.trace.result, one.trace.spec.step.output); }

/// The items that are not zero, or all of them; the others are counted in a line of the section.
template <class Item, class IsZero>
std::vector<Item> shown_of(const std::vector<Item>& items, bool all, const IsZero& is_zero, Section& section,
                           std::string_view of_one = "", std::string_view of_several = "") {
  std::vector<Item> out;
  std::copy_if(items.begin(), items.end(), std::back_inserter(out),
               [&](const Item& one) { return all || !is_zero(one); });
  if (const std::size_t zeros = items.size() - out.size(); zeros != 0)
    section.lines.push_back(
        fmt::format("{} zero product{}", zeros, zeros == 1 ? of_one : fmt::format("s{}", of_several)));
  return out;
}

std::string heading_of(const Datapath& datapath, const ExplainedStep& step) {
  if (step.special) return "an input is NaN or infinite, no sum is formed";
  if (!cuts_anything(datapath)) return "IEEE, nothing is cut before the one rounding";
  return fmt::format("E = {}{}, F = {}, last kept bit 2^{}", step.maximum,
                     step.floor_decided ? " (the floor)" : "", datapath.fraction_bits,
                     step.maximum - datapath.fraction_bits);
}

/// The addends of a step: products, or groups of them, with their scales.
Section section_of(const Explanation& trace, const ExplainedStep& step, std::size_t index, bool all) {
  using Addend = ExplainedAddend;
  const DotSpec& spec = trace.spec;
  Section out{.title = fmt::format("Step {} of {}: {}", index + 1, trace.steps.size(),
                                   heading_of(spec.datapath, step))};
  const auto added = shown_of(
      step.addends, all || spec.grouped,
      [](const Addend& x) { return x.k >= 0 && x.kind == Kind::finite && x.exact.significand == 0; }, out,
      ", which takes no part in E", ", which take no part in E");
  const auto scale = [&](const Addend& x, const std::vector<std::uint64_t>& scales) {
    return x.k < 0 || scales.empty()
               ? ""
               : hex_value(scales[static_cast<std::size_t>(x.k / spec.scale_block)], spec.scale);
  };
  const auto finite = [](const Addend& x, Dyadic value, bool known) {
    return x.kind == Kind::finite && known ? value_of(value) : "-";
  };
  out.tables.push_back(report::table_of<Addend>(
      "", added,
      {{{"k", true},
        [&](const Addend& x) {
          return x.count > 1                      ? fmt::format("{}-{}", x.k, x.k + x.count - 1)
                 : x.k >= 0                       ? std::to_string(x.k)
                 : trace.each_add                 ? "-0"
                 : index == 0 && !trace.final_add ? "c"
                                                  : "sum";
        }},
       {spec.grouped ? "products" : "a",
        [&](const Addend& x) {
          return x.k < 0        ? hex_value(x.a, step.addend_format)
                 : spec.grouped ? value_of(x.products)
                                : hex_value(x.a, spec.a);
        }},
       {"b", [&](const Addend& x) { return x.k < 0 || spec.grouped ? "" : hex_value(x.b, spec.b); }},
       {"scale of A", [&](const Addend& x) { return scale(x, trace.scale_a); }},
       {"scale of B", [&](const Addend& x) { return scale(x, trace.scale_b); }},
       {{"e", true},
        [&](const Addend& x) {
          return finite(x, {x.exponent, 0}, x.in_maximum);
        }},
       {"exact", [&](const Addend& x) { return finite(x, x.exact, true); }},
       {"kept", [&](const Addend& x) { return finite(x, x.kept, !step.special); }},
       {"lost", [&](const Addend& x) { return finite(x, x.lost, !step.special); }}}));
  const std::string rounding = rounding_text(spec.datapath);
  const std::string sum = step.special ? "result"
                                       : fmt::format("sum {} -> {} ->", value_of(step.sum),
                                                     rounding.substr(0, rounding.find(',')));
  out.lines.push_back(fmt::format("{} {}", sum, hex_value(step.result, spec.step.output)));
  if (trace.each_add)
    out.lines.push_back(fmt::format("added to {}, to nearest: {}", index == 0 ? "c" : "the sum",
                                    hex_value(step.total, spec.step.output)));
  return out;
}

/// What the steps of a staged datapath do, in words.
std::string_view stage_words(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::exact_dot_add  ? "products and sum exactly, one rounding"
         : arithmetic == Arithmetic::rounded_tree ? "products rounded, added in pairs, then to the sum"
                                                  : "products aligned and added, then aligned with the sum";
}

/// Why a step adds something else than the product; empty where it adds the product.
std::string taken_text(const ExplainedTerm& x) {
  if (x.taken == x.product || (std::isnan(x.taken) && std::isnan(x.product))) return "";
  return fmt::format("taken as {}: {}", value_of(x.taken),
                     x.flushed             ? "a subnormal factor is flushed"
                     : std::isinf(x.taken) ? "it overflows"
                     : x.taken == 0        ? "it is flushed"
                                           : "it is rounded");
}

/// Products of factors that a format spells, below c or the sum before, whose row is `first`.
Section products_of(std::string title, std::vector<Column> columns, std::vector<Cell> first) {
  columns.insert(columns.begin(), {{"k", true}, "a", "b"});
  return {.title = std::move(title), .tables = {{.columns = std::move(columns), .rows = {std::move(first)}}}};
}

Section section_of(const Explanation& trace, const ExplainedStage& stage, std::size_t index, bool all) {
  const DotSpec& spec = trace.spec;
  Section out = products_of(
      fmt::format("Step {} of {}: k {}-{}, {}", index + 1, trace.stages.size(), stage.products.front().k,
                  stage.products.back().k, stage_words(spec.datapath.arithmetic)),
      {"product", "remark"},
      {index == 0 ? "c" : "sum", hex_value(stage.before, index == 0 ? spec.step.addend : spec.step.output),
       "", "", stage.flushed ? "taken as 0: a subnormal c is flushed" : ""});
  for (const ExplainedTerm& x : shown_of(
           stage.products, all, [](const ExplainedTerm& one) { return one.product == 0; }, out))
    out.tables[0].rows.push_back({std::to_string(x.k), hex_value(x.a, spec.a), hex_value(x.b, spec.b),
                                  value_of(x.product), taken_text(x)});
  out.lines.push_back(
      fmt::format("{} -> {}", rounding_text(spec.datapath), hex_value(stage.after, spec.step.output)));
  return out;
}

Section integers_of(const Explanation& trace, bool all) {
  const DotSpec& spec = trace.spec;
  Section out = products_of("Products", {{"product", true}, {"sum", true}, "remark"},
                            {"c", hex_value(trace.addend, spec.step.addend), "", "",
                             value_text(trace.addend, spec.step.addend), ""});
  // Of one bit the number is another than the format's.
  const auto factor = [](std::uint64_t bits, const FormatSpec& format, std::int64_t value) {
    return fmt::format("0x{} = {}", hex_text(bits, format.storage_bits), value);
  };
  for (const ExplainedProduct& x : shown_of(
           trace.products, all, [](const ExplainedProduct& one) { return one.product == 0 && !one.clamped; },
           out))
    out.tables[0].rows.push_back({std::to_string(x.k), factor(x.a, spec.a, x.x), factor(x.b, spec.b, x.y),
                                  std::to_string(x.product), std::to_string(x.sum),
                                  x.clamped ? "clamped" : ""});
  return out;
}

Section fmas_of(const Explanation& trace) {
  const FormatSpec& output = trace.spec.step.output;
  Section out = products_of("Fused multiply-adds", {"sum"},
                            {"c", "", "", hex_value(trace.fmas.front().before, output)});
  for (const ExplainedFma& x : trace.fmas)
    out.tables[0].rows.push_back(
        {std::to_string(x.k), hex_value(x.a, output), hex_value(x.b, output), hex_value(x.after, output)});
  return out;
}

/// How the products are to be read.
std::vector<std::string> operands_text(const Explained& one) {
  const DotSpec& spec = one.trace.spec;
  std::vector<std::string> out;
  if (!one.dot.metadata.empty())
    out.push_back(
        fmt::format("k counts the stored elements of A; metadata {}", fmt::join(one.dot.metadata, ",")));
  if (spec.wide.id != Format::none)
    out.push_back(fmt::format("operands are widened to {}; {}", mmaudit::name_of(spec.wide.id),
                              spec.datapath.order == KOrder::pairs_of_four
                                  ? "k mod 4 in {0,1} first, then {2,3}"
                                  : "k in row order"));
  if (spec.block_scaled())
    out.push_back(fmt::format("scales: {}, every {} {}", mmaudit::name_of(spec.scale.id), spec.scale_block,
                              spec.sparsity == Sparsity{} ? "of k" : "stored elements of A"));
  return out;
}

std::vector<Section> sections_of(const Explained& one, bool all) {
  const Explanation& trace = one.trace;
  std::vector<Section> out;
  for (std::size_t i = 0; i < trace.steps.size(); ++i)
    out.push_back(section_of(trace, trace.steps[i], i, all));
  for (std::size_t i = 0; i < trace.stages.size(); ++i)
    out.push_back(section_of(trace, trace.stages[i], i, all));
  if (trace.spec.integer) out.push_back(integers_of(trace, all));
  if (!trace.fmas.empty()) out.push_back(fmas_of(trace));
  for (Section& section : out) section.tables[0] = without_empty_columns(std::move(section.tables[0]));
  for (const std::string& line : operands_text(one)) out.front().lines.push_back(line);
  if (trace.final_add)
    out.back().lines.push_back(fmt::format("c {} is added last, {} -> {}",
                                           hex_value(trace.addend, trace.spec.step.addend),
                                           name_of(final_add_rounding(trace.spec.datapath)), d_text(one)));
  return out;
}

/// D beside the exact sum.
std::string verdict_of(const Explained& one) {
  const std::string exact = one.exact.decimal + (one.exact.decimal_is_exact ? "" : "...");
  const bool integer = one.trace.spec.step.output.integer();
  if (integer ? one.exact.value == decode_value(one.trace.result, one.trace.spec.step.output)
              : one.relative == 0.0)
    return ", the exact sum";
  if (integer)
    return fmt::format(": the exact sum {} {}", exact,
                       one.trace.spec.integers.clamp == IntegerClamp::never ? "wraps" : "is clamped");
  if (one.nearest == one.trace.result) return fmt::format(": the exact sum {}, correctly rounded", exact);
  return one.ulps ? fmt::format(", {:+.4g} ulp from the exact sum {}", *one.ulps, exact)
                  : fmt::format(": the exact sum is {}", exact);
}

std::string headline_of(const std::vector<Explained>& explained) {
  std::string each;
  bool same = true;
  for (const Explained& one : explained) {
    each += fmt::format("{}{} {}", each.empty() ? "" : ", ", one.architecture->name, d_text(one));
    same = same && one.trace.result == explained.front().trace.result;
  }
  if (!same) return fmt::format("D differs: {}.", each);
  return fmt::format("D = {}{}{}.", d_text(explained.front()),
                     explained.size() == 1 ? "" : fmt::format(" on all {}", explained.size()),
                     verdict_of(explained.front()));
}

Table result_table(const std::vector<Explained>& explained) {
  const auto number = [](const std::optional<double>& value, const char* form) {
    return value ? fmt::format(fmt::runtime(form), *value) : "";
  };
  return without_empty_columns(report::table_of<Explained>(
      "Result", explained,
      {{{"architecture"}, [](const Explained& one) { return one.architecture->name; }},
       {{"D"}, d_text},
       {{"relative error", true}, [=](const Explained& one) { return number(one.relative, "{:.3g}"); }},
       {{"ulp", true}, [=](const Explained& one) { return number(one.ulps, "{:+.4g}"); }},
       {{"correctly rounded"}, [](const Explained& one) {
          const FormatSpec& output = one.trace.spec.step.output;
          return output.integer() ? "" : hex_value(one.nearest, output);
        }}}));
}

/// The codes without the zeros at their end, as the explorer's fields take them; scales: all of them.
template <class Code>
std::string codes_text(std::vector<Code> codes, int bits, bool all = false) {
  while (!all && !codes.empty() && codes.back() == 0) codes.pop_back();
  std::string out;
  for (const std::uint64_t code : codes)
    out += fmt::format("{}{}", out.empty() ? "" : ",", code == 0 && !all ? "0" : "0x" + hex_text(code, bits));
  return out;
}

/// The state of the explorer that shows the same (docs/explorer.md); empty: it has no such architecture.
std::string address_of(const std::vector<Explained>& explained) {
  const Explained& one = explained.front();
  const DotSpec& spec = one.trace.spec;
  if (find_architecture(one.architecture->name) != one.architecture) return "";
  std::string out = fmt::format("gpu={}&inst={}", one.architecture->name, name_of(one.instruction));
  const auto add = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) out += fmt::format("&{}={}", key, text);
  };
  add("a", codes_text(one.dot.a, spec.a.storage_bits));
  add("b", codes_text(one.dot.b, spec.b.storage_bits));
  add("c", codes_text(std::vector{one.dot.c}, spec_of(one.instruction.c).storage_bits));
  add("sa", codes_text(one.dot.scale_a, spec.scale.storage_bits, true));
  add("sb", codes_text(one.dot.scale_b, spec.scale.storage_bits, true));
  add("meta", fmt::format("{}", fmt::join(one.dot.metadata, ",")));
  if (one.dot.modifiers != 0) add("mod", std::to_string(one.dot.modifiers));
  if (explained.size() > 1) add("vs", explained[1].architecture->name);
  return out;
}

Json json_of(const Explained& one) {
  const FormatSpec& output = one.trace.spec.step.output;
  Json out = parse_json(mmaudit::trace_json(one.trace));
  out["architecture"] = one.architecture->name;
  out["row"] = corpus::to_json(one.instruction, *one.entry);
  out["exact"] = one.exact.decimal;
  out["exact_is_complete"] = one.exact.decimal_is_exact;
  if (!one.dot.metadata.empty()) out["metadata"] = one.dot.metadata;
  if (one.trace.spec.integer) return out;
  out["correctly_rounded"] = hex_text(one.nearest, output.storage_bits);
  out["relative_error"] = one.relative;
  out["error_ulps"] = one.ulps;
  return out;
}

}  // namespace

Explained explain(const Architecture& architecture, const DatapathEntry& entry,
                  const Instruction& instruction, const DotCase& dot) {
  Explained out;
  out.architecture = &architecture;
  out.entry = &entry;
  out.instruction = instruction;
  out.dot = dot;
  out.trace = mmaudit::explain(instruction, entry.datapath, dot);
  out.exact = oracle::exact_dot(instruction, dot);
  const FormatSpec& output = out.trace.spec.step.output;
  if (output.integer()) return out;
  out.nearest = oracle::correctly_rounded(out.exact, instruction.d);
  const double d = decode_value(out.trace.result, output);
  if (std::isnan(d) || std::isnan(out.exact.value)) return out;
  out.relative = oracle::relative_error(out.exact, d);
  out.ulps = oracle::error_in_ulps(out.exact, out.trace.result, instruction.d);
  return out;
}

report::Report report_of(const std::vector<Explained>& explained, bool all, const std::string& recorded) {
  const Explained& first = explained.front();
  const bool several = explained.size() > 1;
  report::Report out{.title = several ? name_of(first.instruction) : title_of(first)};
  out.text_title = out.title;
  out.headline = headline_of(explained);
  std::vector<report::DotPicture> pictures;
  for (const Explained& one : explained) {
    pictures.push_back({title_of(one), one.trace});
    if (several) out.lead.push_back(title_of(one));
  }
  if (!recorded.empty()) out.lead.push_back(fmt::format("recorded 0x{}", recorded));
  out.sections.push_back({.title = "Every bit",
                          .figures = {report::dot_figure(pictures)},
                          .shown = report::kOnPage,
                          .layout = report::Layout::wide});
  for (const Explained& one : explained)
    for (Section& section : sections_of(one, all)) {
      if (several) section.title += fmt::format(" ({})", one.architecture->name);
      out.sections.push_back(std::move(section));
    }
  if (several || !first.trace.spec.integer) out.sections.push_back(section_of(result_table(explained)));
  if (const std::string address = address_of(explained); !address.empty())
    out.sections.back().notes.push_back(to_play_with(address));
  out.json = [explained, recorded] {
    Json document_of = {{"schema", "mmaudit.explain/1"},
                        {"instruction", name_of(explained.front().instruction)},
                        {"traces", Json::array()}};
    for (const Explained& one : explained) document_of["traces"].push_back(json_of(one));
    if (!recorded.empty()) document_of["recorded"] = recorded;
    return document(document_of);
  };
  return out;
}

}  // namespace mmaudit::checks
