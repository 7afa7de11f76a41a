// An audit of tensors in words and as tables.
#include "audit_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/printable.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

double decibels_of(double error) { return -20 * std::log10(error); }

std::string interval_text(const GemmErrors& errors) {
  if (!errors.interval || !has_figures(errors) || errors.total == 0) return "-";
  const double most = std::max(errors.interval->high - errors.total, errors.total - errors.interval->low);
  return std::isfinite(most) ? fmt::format("{:.3g}%", 100 * most / errors.total) : "-";
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  return mmaudit::printable(text, longest);
}

bool has_figures(const GemmErrors& errors) { return errors.compared != 0 && !errors.zero_product; }

std::string figure_text(const GemmErrors& errors, double value) {
  if (errors.compared == 0 && errors.overflow != 0) return "overflow";
  if (!has_figures(errors)) return "-";
  return std::isfinite(value) ? error_text(value) : "infinite";
}

bool has_total(const GemmAuditRow& row) {
  return has_figures(row.errors) && row.errors.overflow == 0 && std::isfinite(row.errors.total);
}

Tone tone_of(const GemmAudit& audit) {
  const auto& rows = audit.rows_of;
  if (rows.empty() || !audit.missing.empty() || audit.count(GemmVerdict::not_judged) != 0) return Tone::bad;
  if (!audit.judges()) return std::any_of(rows.begin(), rows.end(), has_total) ? Tone::plain : Tone::note;
  return audit.count(GemmVerdict::pass) != 0 ? Tone::good : Tone::bad;
}

Tone tone_of(GemmVerdict verdict) {
  if (verdict == GemmVerdict::pass) return Tone::good;
  if (verdict == GemmVerdict::not_asked) return Tone::plain;
  return verdict == GemmVerdict::fail ? Tone::bad : Tone::note;
}

Table tensor_table(const GemmAudit& audit) {
  using Row = TensorFacts;
  const auto count = [](std::uint64_t Row::*value) {
    return [value](const Row& row) {
      return Cell(grouped(row.*value), row.*value != 0 ? Tone::bad : Tone::plain);
    };
  };
  return table_of<Row>(
      "Tensors", audit.tensors,
      {{"Operand", [](const Row& row) { return row.role; }},
       {"File", [](const Row& row) { return printable(row.name); }},
       {"Type", [](const Row& row) { return printable(row.dtype); }},
       {"Shape", [](const Row& row) { return fmt::format("{}", fmt::join(row.shape, " x ")); }},
       {{"Largest", true}, [](const Row& row) { return fmt::format("{:.4g}", row.largest); }},
       {{"Least not 0", true}, [](const Row& row) { return fmt::format("{:.4g}", row.least); }},
       {{"Zeros", true}, [](const Row& row) { return percent_text(share_of(row.zeros, row.elements)); }},
       {{"NaN", true}, count(&Row::nan)},
       {{"Infinite", true}, count(&Row::infinite)}});
}

double lost_share(const GemmAuditRow& row, std::uint64_t CastCounts::*lost) {
  return std::max(share_of(row.cast_a.*lost, row.cast_a.elements),
                  share_of(row.cast_b.*lost, row.cast_b.elements));
}

bool several_architectures(const GemmAudit& audit) {
  if (audit.rows_of.empty()) return false;
  const auto another = [&](const auto& one) { return one.architecture != audit.rows_of[0].architecture; };
  return std::any_of(audit.rows_of.begin(), audit.rows_of.end(), another) ||
         std::any_of(audit.absent.begin(), audit.absent.end(), another);
}

namespace {

/// The columns that say which combination a row is, the figures, the verdict.
using RowFields = std::vector<Field<GemmAuditRow>>;

RowFields names_of(const GemmAudit& audit) {
  using Row = GemmAuditRow;
  RowFields out = {{"Type", [](const Row& row) { return row.dtype; }},
                   {"Scale", [](const Row& row) { return row.scaling; }},
                   {"Policy", [](const Row& row) { return row.accumulation; }}};
  if (several_architectures(audit))
    out.insert(out.begin(), {"GPU", [](const Row& row) { return printable(row.architecture); }});
  return out;
}

RowFields verdict_of_row() {
  return {
      {"Verdict", [](const GemmAuditRow& row) { return Cell(name_of(row.verdict), tone_of(row.verdict)); }}};
}

RowFields figures_of(const GemmAudit& audit) {
  using Row = GemmAuditRow;
  const bool several = several_architectures(audit);
  const auto part = [](double GemmErrors::*value) {
    return [value](const Row& row) { return figure_text(row.errors, row.errors.*value); };
  };
  const auto ulp = [](double GemmErrors::*value) {
    return [value](const Row& row) {
      return has_figures(row.errors) ? fmt::format("{:.3g}", row.errors.*value) : "-";
    };
  };
  const auto drift = [](double GemmErrors::*value) {
    return [value](const Row& row) { return has_figures(row.errors) ? signed_text(row.errors.*value) : "-"; };
  };
  const auto lost = [](std::uint64_t CastCounts::*value) {
    return [value](const Row& row) { return percent_text(lost_share(row, value)); };
  };
  const auto decibels = [](auto value) {
    return [value](const Row& row) {
      return !has_figures(row.errors)    ? "-"
             : std::isfinite(value(row)) ? fmt::format("{:.1f}", value(row))
                                         : "exact";
    };
  };
  const auto bounded = [](const GemmErrors& e) { return e.bound && has_figures(e); };
  // A terminal has room for one of these: a sample's interval says how much its figures are worth.
  const bool sampled = std::any_of(audit.rows_of.begin(), audit.rows_of.end(),
                                   [](const Row& row) { return row.errors.interval.has_value(); });
  return {{{"Total", true}, part(&GemmErrors::total)},
          {{"95 % +-", true, !sampled}, [](const Row& row) { return interval_text(row.errors); }},
          {{"Quanti- zation", true}, part(&GemmErrors::quantization)},
          {{"Accum.", true}, part(&GemmErrors::accumulation)},
          {{"Output", true}, part(&GemmErrors::output)},
          {{"SQNR dB", true, sampled || several}, decibels([](const Row& row) { return row.errors.sqnr(); })},
          {{"Cosine", true, true},
           [](const Row& row) {
             return has_figures(row.errors) ? fmt::format("{:.9f}", row.errors.cosine) : "-";
           }},
          {{"x BF16", true, true},
           [&audit](const Row& row) {
             const double bf16 = audit.reference.value_or(0);
             return has_figures(row.errors) && bf16 > 0 ? fmt::format("{:.3g}", row.errors.total / bf16)
                                                        : "-";
           }},
          {{"Worst row dB", true, true}, decibels([](const Row& row) {
             return row.errors.rows.empty() ? row.errors.sqnr() : decibels_of(row.errors.rows.front().error);
           })},
          {{"p99 ulp", true}, ulp(&GemmErrors::p99_ulp)},
          {{"max ulp", true, true}, ulp(&GemmErrors::max_ulp)},
          {{"Bias", true, true}, drift(&GemmErrors::bias)},
          {{"Drift of |sum|", true, true}, drift(&GemmErrors::accumulation_drift)},
          {{"To zero", true}, lost(&CastCounts::underflow)},
          {{"Satu- rated", true}, lost(&CastCounts::saturated)},
          {{"Bound on accum.", true, true},
           [=](const Row& row) { return bounded(row.errors) ? error_text(*row.errors.bound) : "-"; }},
          {{"Largest of bound", true, true},
           [=](const Row& row) {
             return bounded(row.errors) ? fmt::format("{:.2g}", row.errors.of_bound) : "-";
           }},
          {{"D", false, true}, [](const Row& row) { return name_of(row.output); }},
          {{"Instruction", false, true}, [](const Row& row) { return row.instruction; }},
          {{"Known from", false, true}, [](const Row& row) { return row.evidence; }}};
}

Table joined(const GemmAudit& audit, std::string_view title, const std::vector<RowFields>& parts) {
  RowFields all;
  for (const RowFields& part : parts) all.insert(all.end(), part.begin(), part.end());
  return table_of<GemmAuditRow>(title, audit.rows_of, all);
}

std::string times_text(double value, double of) {
  return of > 0 && std::isfinite(value) ? fmt::format(", {:.3g} times the error of BF16", value / of) : "";
}

Cell matrix_cell(const GemmAudit& audit, const GemmAuditRow& row, const HeatScale& scale) {
  const bool there = has_total(row) && row.verdict != GemmVerdict::not_judged;
  const std::string_view mark = row.verdict == GemmVerdict::pass        ? " \u2713"
                                : row.verdict == GemmVerdict::fail      ? " \u2717"
                                : row.verdict == GemmVerdict::not_asked ? ""
                                                                        : " ?";
  Cell cell(row.errors.overflow != 0 ? "overflow" : figure_text(row.errors, row.errors.total));
  cell.text += mark;
  cell.hint = subject_text(row, several_architectures(audit)) + ": " + cell.text;
  if (there) {
    cell.heat = scale.colour_of(row.errors.total);
    cell.hint += times_text(row.errors.total, audit.reference.value_or(0));
  } else if (row.errors.overflow != 0) {
    cell.heat = static_cast<int>(std::size(kHeatEdges));
  }
  if (!row.why.empty()) cell.hint += ". " + row.why + (row.advice.empty() ? "" : "; " + row.advice);
  return cell;
}

}  // namespace

Table row_table(const GemmAudit& audit) {
  return joined(audit, "Relative error of D (Frobenius norm)",
                {names_of(audit), figures_of(audit), verdict_of_row()});
}

Table page_row_table(const GemmAudit& audit) {
  const bool several = several_architectures(audit);
  const RowFields name = {
      {"Combination", [several](const GemmAuditRow& row) { return subject_text(row, several); }}};
  return joined(audit, "All figures", {name, verdict_of_row(), figures_of(audit)});
}

int HeatScale::colour_of(double error) const {
  constexpr int kMiddle = static_cast<int>(std::size(kHeatEdges)) / 2;  // the last within the unit
  const auto as_printed = [](double x) { return std::isfinite(x) ? std::stod(error_text(x)) : x; };
  const double share = as_printed(error) / (judges ? unit : as_printed(unit));
  const int colour = static_cast<int>(std::lower_bound(std::begin(kHeatEdges), std::end(kHeatEdges), share) -
                                      std::begin(kHeatEdges));
  if (!judges) return colour;
  return error <= unit ? std::min(colour, kMiddle) : std::max(colour, kMiddle + 1);
}

HeatScale heat_scale(const GemmAudit& audit) {
  if (audit.limit) return {*audit.limit, true};
  double least = audit.reference.value_or(0);
  for (const GemmAuditRow& row : audit.rows_of)
    if (!audit.reference && row.errors.total > 0 && (least == 0 || row.errors.total < least))
      least = row.errors.total;
  return {least > 0 ? least : 1};
}

Table matrix_table(const GemmAudit& audit) {
  const HeatScale scale = heat_scale(audit);
  std::vector<std::string> down, gpus, policies;
  std::vector<std::vector<Cell>> cells;
  const auto place = [](std::vector<std::string>& list, const std::string& one) {
    const auto at = std::find(list.begin(), list.end(), one);
    if (at != list.end()) return static_cast<std::size_t>(at - list.begin());
    list.push_back(one);
    return list.size() - 1;
  };
  const auto put = [&](const auto& one, const std::string& policy, Cell cell) {
    const std::size_t row = place(down, one.dtype + (one.scaling == "none" ? "" : " " + one.scaling));
    const std::size_t column = place(gpus, one.architecture) * policies.size() + place(policies, policy);
    if (cells.size() <= row) cells.resize(row + 1);
    if (cells[row].size() <= column) cells[row].resize(column + 1, Cell("-"));
    cells[row][column] = std::move(cell);
  };
  for (const GemmAuditRow& row : audit.rows_of) place(policies, row.accumulation);
  for (const GemmAbsent& one : audit.absent) place(policies, one.accumulation);
  // The reference stands first.
  for (const bool reference : {true, false})
    for (const GemmAuditRow& row : audit.rows_of)
      if ((row.dtype == "bf16") == reference) put(row, row.accumulation, matrix_cell(audit, row, scale));
  for (const GemmAbsent& one : audit.absent) {
    Cell cell("-");
    cell.heat = kAbsentHeat;
    cell.hint = one.why;
    put(one, one.accumulation, std::move(cell));
  }
  Table out{.title = "Error of every combination", .columns = {"Type and scale"}};
  for (const std::string& gpu : gpus)
    for (const std::string& policy : policies)
      out.columns.emplace_back(gpus.size() > 1 ? printable(gpu) + " " + policy : policy, true);
  for (std::size_t row = 0; row < down.size(); ++row) {
    // What no GPU computes is under Left out.
    if (std::none_of(cells[row].begin(), cells[row].end(),
                     [](const Cell& cell) { return cell.heat != kAbsentHeat && cell.text != "-"; }))
      continue;
    auto& line = out.rows.emplace_back(std::vector<Cell>{Cell(down[row])});
    cells[row].resize(out.columns.size() - 1, Cell("-"));
    line.insert(line.end(), cells[row].begin(), cells[row].end());
  }
  return out;
}

std::string subject_text(const GemmAuditRow& row, bool several) {
  return fmt::format("{}{} {} {}", several ? printable(row.architecture) + " " : "", row.dtype, row.scaling,
                     row.accumulation);
}

std::string_view columns_remark() {
  return "Total: D against the exact product. Quantization: the exact product of the converted operands "
         "against it. Accum.: the sum that leaves the tensor core against that. Output: scales applied and D "
         "rounded. The three add up element by element. SQNR: of D. ulp: of D's type at the exact value. To "
         "zero, "
         "saturated: of the operand that loses more.";
}

}  // namespace mmaudit::report
