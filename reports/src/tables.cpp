#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "mmaudit/printable.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

std::string percent_text(double ratio) {
  if (ratio == 0) return "0";
  return fmt::format("{:.3g}%", 100 * ratio);
}

std::string measured(const ErrorStatistics& error, double value) {
  return error.count == 0 ? "-" : error_text(value);
}

std::string init_text(const ProfileCell& cell) {
  switch (cell.init) {
    case Initialisation::low:
      return std::string(title_of(cell.dtype));
    case Initialisation::low_raw_c:
      return fmt::format("{}, C in FP32", title_of(cell.dtype));
    case Initialisation::fp32:
      return "FP32";
  }
  return "";
}

std::string reference_text(const ProfileCell& cell) {
  return cell.reference == Reference::fp32 ? "CPU FP32"
                                           : fmt::format("CPU FP32 to {}", title_of(cell.output));
}

}  // namespace

Tone tone_of(Verdict verdict) {
  if (verdict == Verdict::agrees) return Tone::good;
  return verdict == Verdict::disagrees ? Tone::bad : Tone::note;
}

Tone tone_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::unpublished:
      return Tone::plain;
    case Agreement::same_digits:
      return Tone::good;
    case Agreement::explained:
      return Tone::note;
    case Agreement::differs:
      return Tone::bad;
  }
  return Tone::plain;
}

std::string verdict_sentence(const Verification& verification) {
  const std::string against = verification.against.empty() ? "the recorded hardware" : verification.against;
  const std::size_t instructions = verification.instructions();
  const std::string_view plural = instructions == 1 ? "instruction" : "instructions";
  switch (verification.verdict()) {
    case Verdict::agrees:
      return fmt::format("The model gives the same bits as {} in all {} dot products compared, on {} {}.",
                         against, grouped(verification.dots()), instructions, plural);
    case Verdict::disagrees:
      return fmt::format("The model differs from {} in {} of {} dot products compared, on {} of {} {}.",
                         against, grouped(verification.mismatches()), grouped(verification.dots()),
                         verification.failing_instructions(), instructions, plural);
    case Verdict::not_checked:
      break;
  }
  return "Nothing was compared with hardware in this run. The numbers below say what the backend computes, "
         "not "
         "whether a GPU does the same.";
}

std::string published_sentence(const AuditResult& result) {
  const int total = result.published_cells();
  if (total == 0) return "";
  std::string text = fmt::format("{} of {} published error values come out digit for digit",
                                 result.count(Agreement::same_digits), total);
  if (const int explained = result.count(Agreement::explained); explained != 0)
    text += fmt::format("; {} {} for a known cause", explained, explained == 1 ? "differs" : "differ");
  if (const int differing = result.count(Agreement::differs); differing != 0)
    text += fmt::format("; {} {} without explanation", differing, differing == 1 ? "differs" : "differ");
  return text + ".";
}

std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string curve_name(const ChainCurve& curve) {
  const std::string_view dtype = title_of(curve.dtype);
  return fmt::format("{}, inputs {}", dtype, curve.init == Initialisation::fp32 ? "FP32" : dtype);
}

std::string dtype_remark(const AuditResult& result) {
  std::string text =
      "Relative errors against FP32 on the CPU, inputs N(0, 1). Products and sums of FP32 inputs include the "
      "conversion of A and B; the unit alone is a + c with a representable a and C in FP32 (in FP16 where C "
      "is "
      "FP16).";
  if (std::any_of(result.dtypes.begin(), result.dtypes.end(),
                  [](const DtypeSummary& row) { return row.conversion.max_relative == 1.0; }))
    text += " A maximum of 100% is an input so small that it became zero.";
  return text;
}

std::string adds_remark() {
  return "How it adds: the products summed at a time, the fraction bits kept below the largest exponent "
         "among them, "
         "and the rounding of the result.";
}

Table dtype_table(const AuditResult& result) {
  Table table;
  table.title = "Error level per data type";
  table.columns = {{"A, B"},
                   {"C, D"},
                   {"Op"},
                   {"Product, mean", true},
                   {"Product, max", true},
                   {"Sum, mean", true},
                   {"Unit alone, mean", true},
                   {"Bias of |D|", true, true},
                   {"Instruction"},
                   {"How it adds", false, true},
                   {"Known from", false, true}};
  for (const DtypeSummary& row : result.dtypes) {
    const ErrorStatistics& alone = row.accumulator_alone;
    table.rows.push_back({{std::string(title_of(row.dtype))},
                          {std::string(title_of(row.output))},
                          {row.instruction.substr(0, row.instruction.find('.'))},
                          {row.conversion.count == 0 ? "-" : percent_text(row.conversion.mean_relative)},
                          {row.conversion.count == 0 ? "-" : percent_text(row.conversion.max_relative)},
                          {row.addition.count == 0 ? "-" : percent_text(row.addition.mean_relative)},
                          {measured(alone, alone.mean_relative)},
                          {alone.count == 0 ? "-" : signed_text(alone.magnitude_bias)},
                          {row.instruction},
                          {row.accumulator},
                          {row.evidence}});
  }
  return table;
}

Table published_table(const AuditResult& result) {
  Table table;
  table.title = "Against the published values";
  table.columns = {{"A, B"},       {"C, D"},          {"Operation"},          {"Inputs"}, {"Compared with"},
                   {"Here", true}, {"Printed", true}, {"Table", false, true}, {"Result"}};
  for (const ProfileCell& cell : result.cells) {
    if (cell.agreement == Agreement::unpublished) continue;
    const std::string here = cell.agreement == Agreement::same_digits
                                 ? in_form_of(cell.error.mean_absolute, cell.published)
                                 : fmt::format("{:.2E}", cell.error.mean_absolute);
    table.rows.push_back({{std::string(title_of(cell.dtype))},
                          {std::string(title_of(cell.output))},
                          {std::string(name_of(cell.operation))},
                          {init_text(cell)},
                          {reference_text(cell)},
                          {here},
                          {cell.published},
                          {cell.source.substr(cell.source.rfind(' ') + 1)},
                          {std::string(name_of(cell.agreement)), tone_of(cell.agreement)}});
  }
  return table;
}

std::vector<Table> profile_tables(const AuditResult& result) {
  std::vector<Table> tables;
  std::string current;
  for (const ProfileCell& cell : result.cells) {
    if (tables.empty() || cell.instruction != current) {
      current = cell.instruction;
      Table table;
      table.title =
          fmt::format("{}, C and D {}: {}", title_of(cell.dtype), title_of(cell.output), cell.instruction);
      table.columns = {{"Operation"},          {"Inputs"},           {"Compared with"},
                       {"Mean", true},         {"Max", true},        {"Mean relative", true},
                       {"Max relative", true}, {"Bias", true, true}, {"Bias of |D|", true, true},
                       {"Exact", true, true}};
      tables.push_back(std::move(table));
    }
    const ErrorStatistics& error = cell.error;
    tables.back().rows.push_back({{std::string(name_of(cell.operation))},
                                  {init_text(cell)},
                                  {reference_text(cell)},
                                  {measured(error, error.mean_absolute)},
                                  {measured(error, error.max_absolute)},
                                  {measured(error, error.mean_relative)},
                                  {measured(error, error.max_relative)},
                                  {signed_text(error.bias)},
                                  {signed_text(error.magnitude_bias)},
                                  {fmt::format("{}/{}", error.exact, error.count)}});
  }
  return tables;
}

Table chain_table(const AuditResult& result) {
  Table table;
  table.title = "Error along a chain of multiplications";
  table.columns.push_back({"N", true});
  std::size_t longest = 0;
  for (const ChainCurve& curve : result.chains) {
    table.columns.push_back({curve_name(curve), true});
    longest = std::max(longest, curve.points.size());
  }
  for (std::size_t i = 0; i < longest; ++i) {
    std::vector<Cell> row;
    row.push_back({fmt::format("{}", i + 1)});
    for (const ChainCurve& curve : result.chains) {
      if (i >= curve.points.size()) {
        row.push_back({"-"});
      } else if (const ChainPoint& point = curve.points[i]; point.error) {
        row.push_back({error_text(*point.error)});
      } else {
        row.push_back({fmt::format("inf in {}", point.rounds_not_finite), Tone::note});
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table format_table(const AuditResult& result) {
  Table table;
  table.title = "The number formats";
  table.columns = {{"Format"},
                   {"Exponent bits", true},
                   {"Fraction bits", true},
                   {"Epsilon", true},
                   {"Min subnormal", true},
                   {"Min normal", true},
                   {"Max finite", true},
                   {"Infinity"}};
  for (const FormatFacts& row : result.formats)
    table.rows.push_back({{row.name},
                          {fmt::format("{}", row.exponent_bits)},
                          {fmt::format("{}", row.fraction_bits)},
                          {fmt::format("{:.3g}", row.epsilon)},
                          {fmt::format("{:.3g}", row.min_subnormal)},
                          {fmt::format("{:.3g}", row.min_normal)},
                          {fmt::format("{:.6g}", row.max_finite)},
                          {row.infinity ? "yes" : "no"}});
  return table;
}

Table verification_table(const Verification& verification, bool only_failing) {
  Table table;
  table.title = "Compared with hardware, bit for bit";
  table.columns = {{"Instruction"}, {"Dot products", true}, {"Mismatches", true}, {"Evidence"}};
  for (const VerificationRow& row : verification.rows) {
    if (only_failing && row.mismatches == 0) continue;
    const Tone tone = row.mismatches != 0 ? Tone::bad : row.dots != 0 ? Tone::good : Tone::note;
    table.rows.push_back(
        {{row.instruction}, {grouped(row.dots)}, {grouped(row.mismatches), tone}, {row.evidence}});
  }
  return table;
}

Table provenance_table(const Provenance& provenance) {
  Table table;
  table.title = "How this report was made";
  table.columns = {{"What"}, {"Value"}};
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) table.rows.push_back({{std::string(what)}, {value}});
  };
  add("mmaudit", provenance.version);
  add("Revision", provenance.git_revision);
  add("Date", provenance.date);
  add("Backend", provenance.backend);
  add("Architecture", provenance.architecture);
  constexpr std::size_t kLongest = 2000;  // the JSON has all of it
  add("Command", mmaudit::printable(provenance.command, kLongest));
  for (const InputFacts& one : provenance.inputs)
    add("Input " + one.role, fmt::format("{}: {} bytes, XXH3-128 {}", mmaudit::printable(one.name, kLongest),
                                         grouped(one.bytes), one.checksum));
  for (const ModelRow& row : provenance.rows)
    add("Row of the model",
        fmt::format("{} {}: {}; {} ({})", row.architecture, row.instruction, row.accumulator, row.evidence,
                    mmaudit::printable(row.source, kLongest)));
  return table;
}

std::vector<std::string> notes(const AuditResult& result) {
  std::vector<std::string> distinct;
  for (const ProfileCell& cell : result.cells)
    if (!cell.note.empty() && std::find(distinct.begin(), distinct.end(), cell.note) == distinct.end())
      distinct.push_back(cell.note);
  return distinct;
}

}  // namespace mmaudit::report
