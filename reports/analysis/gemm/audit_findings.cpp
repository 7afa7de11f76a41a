// What is wrong with the tensors, what conversion took from them, and the worst element, in words and tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit_tables.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

/// The least number of bits that at most `share` of the finite elements exceed.
std::string bits_at(const CastCounts& counts, double share) {
  const std::uint64_t all = finite_elements(counts);
  if (all == 0) return "-";
  std::uint64_t below = 0;
  std::size_t bits = 0;
  while (bits + 1 < counts.bits_lost.size()) {
    below += counts.bits_lost[bits];
    if (static_cast<double>(below) >= share * static_cast<double>(all)) break;
    ++bits;
  }
  return fmt::format("{}", bits);
}

void about_tensor(const GemmAudit& audit, const TensorFacts& one, std::vector<std::string>& out) {
  if (one.elements == 0) {
    out.push_back(fmt::format("{} is empty ({}).", one.role, fmt::join(one.shape, " x ")));
    return;
  }
  const bool of_c = one.role == "C";
  const auto count = [&](std::uint64_t number, std::string_view what) {
    if (number == 0) return;
    if (number == one.elements) {
      out.push_back(fmt::format("Every element of {} is {}: nothing can be compared.", one.role, what));
      return;
    }
    out.push_back(fmt::format("{} of {} elements of {} {} {}; what {} no exact value.", grouped(number),
                              grouped(one.elements), one.role, number == 1 ? "is" : "are", what,
                              number == 1 ? "it reaches has" : "they reach has"));
  };
  count(one.nan, "NaN");
  count(one.infinite, "infinite");
  if (one.zeros == one.elements && !of_c)
    out.push_back(
        fmt::format("Every element of {} is zero: every error is zero too, which says nothing.", one.role));
  if (ends_in_zeros(one) && !of_c && one.zeros != one.elements)
    out.push_back(fmt::format("The last {} of {} elements of {} are zero, as of a file cut short.",
                              grouped(one.zeros_at_end), grouped(one.elements), one.role));
  constexpr double kSingle = 0x1p128;
  if (one.largest >= kSingle && audit.k != 0)
    out.push_back(fmt::format("{} holds numbers beyond binary32, up to {:.3g}.", one.role, one.largest));
}

/// A conversion that makes zeros of most of an operand, and which of `all` of the run keeps most of them.
void about_underflow(const GemmAuditRow& row, std::string_view role, CastCounts GemmAuditRow::*operand,
                     const std::vector<const GemmAuditRow*>& all, std::vector<std::string>& out) {
  const CastCounts& counts = row.*operand;
  if (counts.underflow <= counts.elements / 2) return;
  const GemmAuditRow* best = &row;
  for (const GemmAuditRow* one : all)
    if ((one->*operand).elements == counts.elements && (one->*operand).underflow < (best->*operand).underflow)
      best = one;
  const std::uint64_t left = (best->*operand).underflow;
  const std::string keeps =
      best == &row ? "nothing in this run keeps more of them"
                   : fmt::format("{} with scale {} keeps {}", best->dtype, best->scaling,
                                 left == 0 ? "all of them" : fmt::format("all but {}", grouped(left)));
  out.push_back(fmt::format("{} of {} elements of {} become zero in {} with scale {}: {}.",
                            grouped(counts.underflow), grouped(counts.elements), role, row.dtype, row.scaling,
                            keeps));
}

/// "-0.0123 (98 %)" of `whole`.
std::string part_text(double part, double whole) {
  if (part == 0) return "nothing";
  const double percent = std::round(100 * part / whole);
  return fmt::format("{:+.3e} ({:.0f}%)", part, percent == 0 ? 0 : percent);  // not "-0"
}

}  // namespace

bool ends_in_zeros(const TensorFacts& tensor) {
  return tensor.zeros_at_end != 0 && tensor.zeros_at_end >= tensor.elements / 2;
}

std::uint64_t finite_elements(const CastCounts& counts) {
  return std::accumulate(counts.bits_lost.begin(), counts.bits_lost.end(), std::uint64_t{0});
}

std::vector<const GemmAuditRow*> conversions(const GemmAudit& audit) {
  std::vector<const GemmAuditRow*> out;
  for (const GemmAuditRow& row : audit.rows_of)
    if (std::none_of(out.begin(), out.end(), [&](const GemmAuditRow* there) {
          return there->dtype == row.dtype && there->scaling == row.scaling;
        }))
      out.push_back(&row);
  return out;
}

std::vector<std::string> findings(const GemmAudit& audit) {
  std::vector<std::string> out;
  for (const TensorFacts& one : audit.tensors) about_tensor(audit, one, out);
  const std::vector<const GemmAuditRow*> all = conversions(audit);
  for (const GemmAuditRow* row : all) {
    about_underflow(*row, "A", &GemmAuditRow::cast_a, all, out);
    about_underflow(*row, "B", &GemmAuditRow::cast_b, all, out);
  }
  const bool no_rows = audit.m == 0 || audit.n == 0;
  if (no_rows) out.push_back(fmt::format("D has no element ({} x {}).", audit.m, audit.n));
  if (audit.k == 0 && !no_rows) out.emplace_back("K is 0: every sum is empty.");
  return out;
}

Table conversion_table(const GemmAudit& audit) {
  Table table{.title = "Bits lost in conversion",
              .columns = {"Type",
                          "Scale",
                          "Operand",
                          {"Bits lost, median", true},
                          {"99 % lose at most", true},
                          {"Nothing lost", true},
                          {"To zero", true},
                          {"Subnormal", true},
                          {"Saturated", true}}};
  for (const GemmAuditRow* row : conversions(audit))
    for (const auto& [operand, counts] : {std::pair{"A", &row->cast_a}, std::pair{"B", &row->cast_b}})
      table.rows.push_back({row->dtype, row->scaling, operand, bits_at(*counts, 0.5), bits_at(*counts, 0.99),
                            percent_text(share_of(counts->bits_lost[0], finite_elements(*counts))),
                            percent_text(share_of(counts->underflow, counts->elements)),
                            percent_text(share_of(counts->subnormal, counts->elements)),
                            percent_text(share_of(counts->saturated, counts->elements))});
  return table;
}

std::string channels_text(const ChannelStudy& study, std::size_t named) {
  std::string text;
  for (std::size_t i = 0; i < std::min(named, study.wide.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == study.wide.size() ? " and " : ", ", study.wide[i]);
  return study.wide.size() > named ? fmt::format("{} and {} more", text, study.wide.size() - named) : text;
}

Table wide_table(const GemmAudit& audit) {
  Table table{.title = "Channels to keep in a wider type",
              .columns = {"Type",
                          "Scale",
                          "Channels (k)",
                          {"Share", true},
                          {"Quanti- zation", true},
                          {"With them in BF16", true}}};
  for (const GemmAuditRow* row : conversions(audit))
    if (const ChannelStudy& study = row->channels; !study.wide.empty())
      table.rows.push_back({row->dtype, row->scaling, channels_text(study, 8), percent_text(study.wide_share),
                            error_text(row->errors.quantization),
                            study.kept
                                ? Cell(error_text(*study.kept),
                                       audit.limit && *study.kept <= *audit.limit ? Tone::good : Tone::plain)
                                : Cell("-")});
  return table;
}

Table channel_table(const GemmAudit& audit) {
  Table table{
      .title = "The channels with most of the error",
      .columns = {
          "Type", "Scale", {"k", true}, {"Share", true}, {"Largest of A", true}, {"Largest of B", true}}};
  for (const GemmAuditRow* row : conversions(audit))
    for (const ChannelShare& one : row->channels.channels)
      table.rows.push_back({row->dtype, row->scaling, std::to_string(one.k), percent_text(one.share),
                            fmt::format("{:.4g}", one.largest_a), fmt::format("{:.4g}", one.largest_b)});
  return table;
}

Table term_table(const WorstElement& worst) {
  using Row = WorstTerm;
  const auto number = [](double Row::*value) {
    return [value](const Row& row) { return fmt::format("{:.7g}", row.*value); };
  };
  return table_of<Row>(
      "Products that conversion changes most", worst.terms,
      {{{"k", true}, [](const Row& row) { return std::to_string(row.k); }},
       {{"a", true}, number(&Row::a)},
       {{"b", true}, number(&Row::b)},
       {{"a, converted", true}, number(&Row::converted_a)},
       {{"b, converted", true}, number(&Row::converted_b)},
       {{"Product", true}, [](const Row& row) { return fmt::format("{:.4e}", row.a * row.b); }},
       {{"Changes by", true}, [](const Row& row) {
          return fmt::format("{:+.3e}", row.converted_a * row.converted_b - row.a * row.b);
        }}});
}

std::string worst_text(const GemmAuditRow& row) {
  if (!row.worst) return "";
  const WorstElement& w = *row.worst;
  const double error = w.result - w.exact;
  std::string text = fmt::format(
      "D[{}, {}] is {:.9g}; exact it is {:.9g}. Of the error of {:+.3e}, quantization brings {}, "
      "accumulation {} and output {}.",
      w.row, w.column, w.result, w.exact, error, part_text(w.converted - w.exact, error),
      part_text(w.accumulator - w.converted, error), part_text(w.result - w.accumulator, error));
  constexpr double kMuch = 10;
  if (w.magnitudes > kMuch * std::fabs(w.exact))
    text += w.exact == 0 ? std::string(" The products cancel completely.")
                         : fmt::format(
                               " The magnitudes of its products add up to {:.3g} times the result: most of "
                               "it cancels, and errors do not.",
                               w.magnitudes / std::fabs(w.exact));
  return text;
}

}  // namespace mmaudit::report
