// Verification as a report.
#include <fmt/format.h>

#include "mmaudit/json.hpp"
#include "mmaudit/report/fields.hpp"
#include "mmaudit/value_text.hpp"
#include "verify.hpp"

namespace mmaudit::checks {
namespace {

using report::bad_count;
using report::Table;
using report::Tone;

Json json_of(const Mismatch& example, const Instruction& instruction) {
  const FormatSpec d = spec_of(instruction.d);
  const DotCase& dot = example.dot;
  Json out = {{"family", dot.input_class},
              {"tile", dot.tile},
              {"row", dot.row},
              {"column", dot.column},
              {"modifiers", dot.modifiers},
              {"a", hex_texts(dot.a, instruction.a)},
              {"b", hex_texts(dot.b, instruction.b)},
              {"c", hex_text(dot.c, spec_of(instruction.c).storage_bits)},
              {"expected", hex_text(example.expected, d.storage_bits)},
              {"model", hex_text(example.found, d.storage_bits)},
              {"ulps", ulps_text(example.expected, example.found, d)}};
  if (!dot.metadata.empty()) out["metadata"] = dot.metadata;
  for (const auto& [key, scales] : {std::pair{"scale_a", &dot.scale_a}, {"scale_b", &dot.scale_b}})
    if (!scales->empty()) out[key] = hex_texts({scales->begin(), scales->end()}, instruction.scale);
  return out;
}

std::string json_of(const VerifyReport& report) {
  Json rows = Json::array();
  for (const VerifiedInstruction& one : report.instructions) {
    Json families = Json::array();
    for (const ClassCount& one_class : one.classes)
      families.push_back({{"family", one_class.input_class},
                          {"dots", one_class.dots},
                          {"mismatches", one_class.mismatches}});
    Json examples = Json::array();
    for (const Mismatch& example : one.examples) examples.push_back(json_of(example, one.instruction));
    rows.push_back({{"instruction", name_of(one.instruction)},
                    {"source", one.source},
                    {"row_evidence", one.evidence},
                    {"dots", one.dots()},
                    {"mismatches", one.mismatches()},
                    {"families", families},
                    {"examples", examples}});
  }
  return document({{"schema", "mmaudit.verify/1"},
                   {"against", report.against},
                   {"dots", report.dots()},
                   {"mismatches", report.mismatches()},
                   {"instructions", rows}});
}

std::string examples_of(const VerifiedInstruction& one) {
  std::string out;
  for (const Mismatch& example : one.examples) out += describe(example, one.instruction);
  return out;
}

}  // namespace

report::Report report_of(const VerifyReport& verified, VerifyColumns columns) {
  const bool files = columns == VerifyColumns::files;
  report::Report out;
  out.title = fmt::format("The model against {}", verified.against);
  out.text_title = fmt::format("model against {}", verified.against);
  out.suite = "mmaudit verify";
  out.headline = fmt::format("{} {}, {} dot products, {} mismatches{}", verified.instructions.size(),
                             files ? "result files" : "instructions", verified.dots(), verified.mismatches(),
                             files ? "; bit for bit, zero signs as recorded" : "");
  out.headline_last = true;
  out.tone = verified.mismatches() != 0 || verified.dots() == 0 ? Tone::bad : Tone::good;
  out.json = [&verified] { return json_of(verified); };

  Table table{.columns = {"instruction"}};
  if (files) table.columns.insert(table.columns.begin(), {"GPU", "file"});
  table.columns.insert(table.columns.end(),
                       {{files ? "rows" : "dot products", true}, {"mismatches", true}, "known"});
  std::string examples;
  for (const VerifiedInstruction& one : verified.instructions) {
    const std::string name = name_of(one.instruction);
    auto& row = table.rows.emplace_back();
    if (files) row = {one.classes.front().input_class, one.source};
    row.insert(row.end(), {name, std::to_string(one.dots()), bad_count(one.mismatches()),
                           std::string_view(one.evidence)});
    for (const ClassCount& each : one.classes)
      if (!files && (columns == VerifyColumns::families || each.mismatches > 0))
        table.rows.push_back(
            {"  " + each.input_class, std::to_string(each.dots), bad_count(each.mismatches), ""});
    examples += examples_of(one);
    std::string differ = one.mismatches() == 0
                             ? ""
                             : fmt::format("{} of {} dot products differ", one.mismatches(), one.dots());
    out.cases.push_back(report::judged("mmaudit.verify", name, std::move(differ), examples_of(one)));
  }
  out.sections.push_back(section_of(std::move(table)));
  if (!examples.empty()) out.sections.push_back({.title = "Where they differ", .block = examples});
  return out;
}

}  // namespace mmaudit::checks
