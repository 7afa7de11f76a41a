#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "mmaudit/printable.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

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
  constexpr Tone kTones[] = {Tone::plain, Tone::good, Tone::note, Tone::bad};  // in the order of Agreement
  return kTones[static_cast<std::size_t>(agreement)];
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
         "not whether a GPU does the same.";
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
      "is FP16).";
  if (std::any_of(result.dtypes.begin(), result.dtypes.end(),
                  [](const DtypeSummary& row) { return row.conversion.max_relative == 1.0; }))
    text += " A maximum of 100% is an input so small that it became zero.";
  return text;
}

std::string adds_remark() {
  return "How it adds: the products summed at a time, the fraction bits kept below the largest exponent "
         "among them, and the rounding of the result.";
}

Table dtype_table(const AuditResult& result) {
  using Row = DtypeSummary;
  const auto percent = [](ErrorStatistics Row::*part, double ErrorStatistics::*value) {
    return [part, value](const Row& row) {
      return (row.*part).count == 0 ? std::string("-") : percent_text(row.*part.*value);
    };
  };
  return table_of<Row>(
      "Error level per data type", result.dtypes,
      {{"A, B", [](const Row& row) { return title_of(row.dtype); }},
       {"C, D", [](const Row& row) { return title_of(row.output); }},
       {"Op", [](const Row& row) { return row.instruction.substr(0, row.instruction.find('.')); }},
       {{"Product, mean", true}, percent(&Row::conversion, &ErrorStatistics::mean_relative)},
       {{"Product, max", true}, percent(&Row::conversion, &ErrorStatistics::max_relative)},
       {{"Sum, mean", true}, percent(&Row::addition, &ErrorStatistics::mean_relative)},
       {{"Unit alone, mean", true},
        [](const Row& row) { return measured(row.accumulator_alone, row.accumulator_alone.mean_relative); }},
       {{"Bias of |D|", true, true},
        [](const Row& row) {
          const ErrorStatistics& alone = row.accumulator_alone;
          return alone.count == 0 ? "-" : signed_text(alone.magnitude_bias);
        }},
       {"Instruction", [](const Row& row) { return row.instruction; }},
       {{"How it adds", false, true}, [](const Row& row) { return row.accumulator; }},
       {{"Known from", false, true}, [](const Row& row) { return row.evidence; }}});
}

namespace {

/// The columns that say what a cell measured, between or before others.
std::vector<Field<ProfileCell>> with_subject(std::vector<Field<ProfileCell>> before,
                                             const std::vector<Field<ProfileCell>>& after) {
  before.insert(before.end(), {{"Operation", [](const ProfileCell& cell) { return name_of(cell.operation); }},
                               {"Inputs", init_text},
                               {"Compared with", reference_text}});
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

}  // namespace

Table published_table(const AuditResult& result) {
  using Row = ProfileCell;
  std::vector<Row> cells;
  std::copy_if(result.cells.begin(), result.cells.end(), std::back_inserter(cells),
               [](const Row& cell) { return cell.agreement != Agreement::unpublished; });
  return table_of<Row>(
      "Against the published values", cells,
      with_subject({{"A, B", [](const Row& cell) { return title_of(cell.dtype); }},
                    {"C, D", [](const Row& cell) { return title_of(cell.output); }}},
                   {{{"Here", true},
                     [](const Row& cell) {
                       return in_form_of(cell.error.mean_absolute, cell.agreement == Agreement::same_digits
                                                                       ? cell.published
                                                                       : "0.00E+00");
                     }},
                    {{"Printed", true}, &Row::published},
                    {{"Table", false, true},
                     [](const Row& cell) { return cell.source.substr(cell.source.rfind(' ') + 1); }},
                    {"Result", [](const Row& cell) {
                       return Cell(name_of(cell.agreement), tone_of(cell.agreement));
                     }}}));
}

std::vector<Table> profile_tables(const AuditResult& result) {
  using Row = ProfileCell;
  const auto error = [](double ErrorStatistics::*value) {
    return [value](const Row& cell) { return measured(cell.error, cell.error.*value); };
  };
  const auto bias = [](double ErrorStatistics::*value) {
    return [value](const Row& cell) { return signed_text(cell.error.*value); };
  };
  const std::vector<Field<Row>> fields = with_subject(
      {}, {{{"Mean", true}, error(&ErrorStatistics::mean_absolute)},
           {{"Max", true}, error(&ErrorStatistics::max_absolute)},
           {{"Mean relative", true}, error(&ErrorStatistics::mean_relative)},
           {{"Max relative", true}, error(&ErrorStatistics::max_relative)},
           {{"Bias", true, true}, bias(&ErrorStatistics::bias)},
           {{"Bias of |D|", true, true}, bias(&ErrorStatistics::magnitude_bias)},
           {{"Exact", true, true},
            [](const Row& cell) { return fmt::format("{}/{}", cell.error.exact, cell.error.count); }}});
  std::vector<Table> tables;
  for (auto first = result.cells.begin(); first != result.cells.end();) {
    const auto last = std::find_if(first, result.cells.end(), [&](const ProfileCell& cell) {
      return cell.instruction != first->instruction;
    });
    tables.push_back(table_of<ProfileCell>(fmt::format("{}, C and D {}: {}", title_of(first->dtype),
                                                       title_of(first->output), first->instruction),
                                           {first, last}, fields));
    tables.back().folded = true;
    first = last;
  }
  return tables;
}

Table chain_table(const AuditResult& result) {
  Table table{.title = "Error along a chain of multiplications",
              .remark = result.chain_method,
              .columns = {{"N", true}}};
  std::size_t longest = 0;
  for (const ChainCurve& curve : result.chains) {
    table.columns.emplace_back(curve_name(curve), true);
    longest = std::max(longest, curve.points.size());
  }
  for (std::size_t i = 0; i < longest; ++i) {
    std::vector<Cell> row = {std::to_string(i + 1)};
    for (const ChainCurve& curve : result.chains) {
      if (i >= curve.points.size()) {
        row.emplace_back("-");
      } else if (const ChainPoint& point = curve.points[i]; point.error) {
        row.emplace_back(error_text(*point.error));
      } else {
        row.emplace_back(fmt::format("inf in {}", point.rounds_not_finite), Tone::note);
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table format_table(const AuditResult& result) {
  using Row = FormatFacts;
  const auto number = [](double Row::*value, int digits) {
    return [value, digits](const Row& row) { return fmt::format("{:.{}g}", row.*value, digits); };
  };
  return table_of<Row>(
      "The number formats", result.formats,
      {{"Format", [](const Row& row) { return row.name; }},
       {{"Exponent bits", true}, [](const Row& row) { return std::to_string(row.exponent_bits); }},
       {{"Fraction bits", true}, [](const Row& row) { return std::to_string(row.fraction_bits); }},
       {{"Epsilon", true}, number(&Row::epsilon, 3)},
       {{"Min subnormal", true}, number(&Row::min_subnormal, 3)},
       {{"Min normal", true}, number(&Row::min_normal, 3)},
       {{"Max finite", true}, number(&Row::max_finite, 6)},
       {"Infinity", [](const Row& row) { return row.infinity ? "yes" : "no"; }}});
}

Table verification_table(const Verification& verification, bool only_failing) {
  Table table{.title = "Compared with hardware, bit for bit",

              .columns = {"Instruction", {"Dot products", true}, {"Mismatches", true}, "Evidence"}};
  for (const VerificationRow& row : verification.rows) {
    if (only_failing && row.mismatches == 0) continue;
    const Tone tone = row.mismatches != 0 ? Tone::bad : row.dots != 0 ? Tone::good : Tone::note;
    table.rows.push_back({row.instruction, grouped(row.dots), {grouped(row.mismatches), tone}, row.evidence});
  }
  return table;
}

Table provenance_table(const Origin& provenance) {
  Table table{.title = "How this report was made", .columns = {"What", "Value"}};
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) table.rows.push_back({what, value});
  };
  add("mmaudit", provenance.version);
  add("Revision", provenance.revision);
  add("Date", provenance.date);
  add("Backend", provenance.backend);
  add("Architecture", provenance.architecture);
  constexpr std::size_t kLongest = 2000;  // the JSON has all of it
  add("Command", printable(fmt::format("{}", fmt::join(provenance.command, " ")), kLongest));
  for (const InputFacts& one : provenance.inputs)
    add("Input " + one.role, fmt::format("{}: {} bytes, XXH3-128 {}", printable(one.name, kLongest),
                                         grouped(one.bytes), one.checksum));
  for (const ModelRow& row : provenance.rows)
    add("Datapath", fmt::format("{} {}: {}; {} ({})", row.architecture, row.instruction, row.accumulator,
                                row.evidence, printable(row.source, kLongest)));
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
