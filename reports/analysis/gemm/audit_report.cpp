// The report of an audit of tensors: the verdict first, then why.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit_figures.hpp"
#include "audit_tables.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

const GemmAuditRow* closest(const GemmAudit& audit) {
  const GemmAuditRow* best = nullptr;
  for (const GemmAuditRow& row : audit.rows_of) {
    if (!has_total(row)) continue;
    if (best == nullptr || row.errors.total < best->errors.total) best = &row;
  }
  return best;
}

std::vector<Highlight> highlights_of(const GemmAudit& audit) {
  std::vector<Highlight> out;
  if (audit.judges())
    out.push_back({fmt::format("{} of {}", audit.count(GemmVerdict::pass), audit.rows_of.size()),
                   fmt::format("combinations within {}", limits_text(audit))});
  out.push_back({grouped(audit.rows * audit.columns),
                 fmt::format("elements of D computed, of {}", grouped(audit.m * audit.n))});
  out.push_back({grouped(audit.k), "products per element, K"});
  if (const GemmAuditRow* best = closest(audit))
    out.push_back({error_text(best->errors.total),
                   "least relative error: " + subject_text(*best, several_architectures(audit))});
  return out;
}

Section split_section(const GemmAudit& audit) {
  Section out{.title = "Splits of the error",
              .remark =
                  "Quantization, accumulation and output add up to the total element by element; their norms "
                  "need not.",
              .shown = kOnPage,
              .layout = Layout::wide};
  if (audit.rows_of.size() > kMostDrawn)
    out.remark += fmt::format(" The first {} of {} combinations.", kMostDrawn, grouped(audit.rows_of.size()));
  constexpr std::size_t kLong = 12;
  out.folded = audit.rows_of.size() > kLong;
  if (std::string figure = split_figure(audit); !figure.empty()) out.figures.push_back(std::move(figure));
  return out;
}

Section bits_lost_section(const GemmAudit& audit) {
  Table table = conversion_table(audit);
  Section out{
      .title = table.title,
      .remark =
          "Of the 24 bits of a binary32 number: the size of the relative error of every finite element after "
          "scaling, rounding and scaling back. 24: half of the number or more, as of what became zero.",
      .figures = bits_lost_figures(audit),
      .shown = kOnPage,
      .layout = Layout::small};
  if (out.figures.empty()) return out;
  table.title = "The same in numbers";
  table.folded = true;
  out.tables.push_back(std::move(table));
  return out;
}

/// The rows whose worst element says most: those that fail, largest error first.
std::vector<const GemmAuditRow*> explained(const GemmAudit& audit) {
  std::vector<const GemmAuditRow*> out;
  for (const GemmAuditRow& row : audit.rows_of)
    if (row.worst) out.push_back(&row);
  std::stable_sort(out.begin(), out.end(), [](const GemmAuditRow* x, const GemmAuditRow* y) {
    const bool passes_x = x->verdict == GemmVerdict::pass, passes_y = y->verdict == GemmVerdict::pass;
    return passes_x != passes_y ? passes_y : x->errors.total > y->errors.total;
  });
  if (out.size() > kMostDrawn) out.resize(kMostDrawn);
  return out;
}

Section worst_section(const GemmAudit& audit) {
  Section out{.title = "Worst dot product, explained", .shown = kOnPage, .layout = Layout::wide};
  const bool several = several_architectures(audit);
  for (const GemmAuditRow* row : explained(audit)) {
    Table terms = term_table(*row->worst);
    terms.title = fmt::format("{}: {}", subject_text(*row, several), terms.title);
    terms.remark = worst_text(*row);
    terms.folded = !out.tables.empty();
    if (out.tables.empty()) {
      out.remark = fmt::format(
          "{}: the element of D with the largest error, how far the accumulator is from the exact sum of the "
          "converted products, and the products that conversion changes most.",
          subject_text(*row, several));
      if (std::string figure = sum_figure(*row->worst); !figure.empty()) out.figures = {std::move(figure)};
    }
    out.tables.push_back(std::move(terms));
  }
  return out;
}

std::vector<std::string> printable_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  out.reserve(lines.size());
  for (const std::string& line : lines) out.push_back(printable(line, kLongestLine));
  return out;
}

Section channel_section(const GemmAudit& audit, bool on_page) {
  Table wide = wide_table(audit), all = channel_table(audit);
  Section out{.title = wide.title, .shown = on_page ? kOnPage : kOnTerminal | kInMarkdown};
  all.folded = true;
  if (all.rows.empty() || (wide.rows.empty() && !on_page)) return out;
  if (wide.rows.empty())
    out.remark = "No channel (k) stands out: none brings 16 times the error of a usual one.";
  else
    out.remark =
        "Channels (k) that bring 16 times the quantization error of a usual one, and what is left of it when "
        "they alone are multiplied in BF16. Share: of the squared error.";
  if (!wide.rows.empty()) out.tables.push_back(std::move(wide));
  if (on_page) out.tables.push_back(std::move(all));
  return out;
}

/// The map of what to use, then of what fails, one per conversion.
Section map_section(const GemmAudit& audit) {
  Section out{
      .title = "Where in D the error is",
      .remark =
          "Bands of rows down and of columns across, in the colours above: the norm of the error over the "
          "norm of the exact product, both of the band alone.",
      .shown = kOnPage};
  std::vector<const GemmAuditRow*> drawn = to_use(audit);
  const auto others = explained(audit);
  drawn.insert(drawn.end(), others.begin(), others.end());
  std::vector<const GemmAuditRow*> done;
  constexpr std::size_t kMost = 4;
  for (const GemmAuditRow* row : drawn) {
    if (done.size() == kMost || std::any_of(done.begin(), done.end(), [&](const GemmAuditRow* there) {
          return there->dtype == row->dtype && there->scaling == row->scaling;
        }))
      continue;
    if (std::string figure = error_map_figure(audit, *row, done.size()); !figure.empty()) {
      out.figures.push_back(std::move(figure));
      done.push_back(row);
    }
  }
  return out;
}

/// One glance; every figure stands behind it.
Section matrix_section(const GemmAudit& audit) {
  Section out{
      .title = "Error of every combination",
      .remark =
          "Relative error of D (Frobenius norm): type and scale down, GPU and policy across. Grey: can't "
          "be computed; the reason shows on hover and under Left out.",
      .figures = {heat_key(audit)},
      .tables = {matrix_table(audit), page_row_table(audit)},
      .shown = kOnPage,
      .layout = Layout::wide};
  out.remark += fmt::format(" Blue: at most {}; orange: more.", audit.limit       ? "the limit"
                                                                : audit.reference ? "BF16's error"
                                                                                  : "the least error");
  if (audit.reference) out.remark += fmt::format(" BF16, the reference: {}.", error_text(*audit.reference));
  out.tables.back().remark = columns_remark();
  out.tables.back().folded = true;
  return out;
}

std::vector<Section> sections_of(const GemmAudit& audit) {
  std::vector<Section> out;
  const Table tensors = tensor_table(audit);
  out.push_back(section_of(tensors, kOnTerminal));
  Section rows = section_of(row_table(audit), kOnTerminal | kInMarkdown);
  if (!audit.rows_of.empty()) rows.notes = {std::string(columns_remark())};
  out.push_back(std::move(rows));
  out.push_back(section_of(tolerance_table(audit)));
  out.push_back(matrix_section(audit));
  out.push_back({.title = "Why, and what would help", .lines = reasons(audit)});
  for (const bool on_page : {false, true}) out.push_back(channel_section(audit, on_page));
  out.push_back(map_section(audit));
  out.push_back(split_section(audit));
  out.push_back(bits_lost_section(audit));
  out.push_back(worst_section(audit));
  out.push_back(section_of(tensors, kInDocuments));
  out.back().remark = "NaN, infinities, zeros and the largest and least magnitudes are of the whole tensors.";
  out.push_back({.title = "Remarks", .lines = printable_lines(audit.remarks)});
  out.push_back({.title = "Left out", .lines = printable_lines(audit.left_out)});
  out.push_back(section_of(provenance_table(audit.provenance), kInDocuments));
  return out;
}

using Row = GemmAuditRow;

/// Every figure of every row; empty where there is none.
Table records_of(const GemmAudit& audit) {
  const auto number = [](double x, bool there) {
    return there && std::isfinite(x) ? fmt::format("{:.9g}", x) : "";
  };
  std::vector<Field<Row>> fields = {{"architecture", [](const Row& row) { return row.architecture; }},
                                    {"dtype", [](const Row& row) { return row.dtype; }},
                                    {"scaling", [](const Row& row) { return row.scaling; }},
                                    {"accumulation", [](const Row& row) { return row.accumulation; }},
                                    {"output", [](const Row& row) { return name_of(row.output); }},
                                    {"instruction", [](const Row& row) { return row.instruction; }},
                                    {"evidence", [](const Row& row) { return row.evidence; }}};
  const auto add_count = [&](const char* name, std::uint64_t GemmErrors::*value) {
    fields.push_back({name, [value](const Row& row) { return std::to_string(row.errors.*value); }});
  };
  const auto add = [&](const char* name, double GemmErrors::*value) {
    fields.push_back(
        {name, [=](const Row& row) { return number(row.errors.*value, has_figures(row.errors)); }});
  };
  const auto add_end = [&](const char* name, double Interval::*end) {
    fields.push_back({name, [=](const Row& row) {
                        const GemmErrors& e = row.errors;
                        return number(e.interval.value_or(Interval{e.total, e.total}).*end, has_figures(e));
                      }});
  };
  const auto add_cast = [&](const std::string& name, std::uint64_t CastCounts::*value) {
    fields.push_back({name + "_a", [value](const Row& row) { return std::to_string(row.cast_a.*value); }});
    fields.push_back({name + "_b", [value](const Row& row) { return std::to_string(row.cast_b.*value); }});
  };
  add_count("elements", &GemmErrors::elements);
  add_count("compared", &GemmErrors::compared);
  add_count("no_exact", &GemmErrors::no_exact);
  add_count("overflow", &GemmErrors::overflow);
  add("total", &GemmErrors::total);
  add_end("total_low", &Interval::low);
  add_end("total_high", &Interval::high);
  add("quantization", &GemmErrors::quantization);
  add("accumulation_error", &GemmErrors::accumulation);
  add("output_error", &GemmErrors::output);
  const auto add_number = [&](const char* name, auto value) {
    fields.push_back(
        {name, [=](const Row& row) { return number(value(row.errors), has_figures(row.errors)); }});
  };
  add_number("sqnr_db", [](const GemmErrors& e) { return e.sqnr(); });
  add("cosine", &GemmErrors::cosine);
  add_number("times_bf16",
             [bf16 = audit.reference.value_or(0)](const GemmErrors& e) { return e.total / bf16; });
  add("middle_row_error", &GemmErrors::middle_row);
  add_number("worst_row_error",
             [](const GemmErrors& e) { return e.rows.empty() ? e.total : e.rows[0].error; });
  add("p50_ulp", &GemmErrors::p50_ulp);
  add("p99_ulp", &GemmErrors::p99_ulp);
  add("max_ulp", &GemmErrors::max_ulp);
  add("bias", &GemmErrors::bias);
  add("magnitude_bias", &GemmErrors::magnitude_bias);
  add("accumulation_drift", &GemmErrors::accumulation_drift);
  const auto bounded = [](const Row& row) { return has_figures(row.errors) && row.errors.bound; };
  fields.push_back(
      {"bound", [=](const Row& row) { return number(row.errors.bound.value_or(0), bounded(row)); }});
  fields.push_back({"of_bound", [=](const Row& row) { return number(row.errors.of_bound, bounded(row)); }});
  add_cast("underflow", &CastCounts::underflow);
  add_cast("subnormal", &CastCounts::subnormal);
  add_cast("saturated", &CastCounts::saturated);
  fields.push_back({"verdict", [](const Row& row) {
                      return row.verdict == GemmVerdict::not_asked ? std::string_view()
                                                                   : name_of(row.verdict);
                    }});
  fields.push_back({"why", [](const Row& row) { return row.why; }});
  return table_of<Row>("", audit.rows_of, fields);
}

TestCase case_of(const Row& row) {
  TestCase out{row.architecture, fmt::format("{} {} {}", row.dtype, row.scaling, row.accumulation)};
  if (row.verdict == GemmVerdict::pass || row.verdict == GemmVerdict::not_asked) return out;
  out.outcome =
      row.verdict == GemmVerdict::not_judged ? TestCase::Outcome::error : TestCase::Outcome::failure;
  out.message = fmt::format("{}: {}", name_of(row.verdict), row.why);
  out.text = row.advice;
  return out;
}

}  // namespace

Report report_of(const GemmAudit& audit) {
  Report out;
  out.title = "Error of A B by data type";
  out.meta = {fmt::format("mmaudit {} \u00b7 {}", audit.provenance.version, audit.provenance.date)};
  out.headline = printable(headline(audit), kLongestLine);
  out.tone = tone_of(audit);
  out.lead = {counts_text(audit), audit.method};
  if (!audit.untried.empty()) out.lead.insert(out.lead.begin() + 1, audit.untried);
  if (std::string text = least_errors(audit); !text.empty())
    out.lead.insert(out.lead.begin(), printable(text, kLongestLine));
  out.warnings = {.title = "What is wrong with the tensors", .lines = findings(audit)};
  out.highlights = highlights_of(audit);
  out.sections = sections_of(audit);
  out.origin_told = true;
  out.json = [audit] { return to_json(audit); };
  out.records = records_of(audit);
  out.suite = "mmaudit audit";
  for (const Row& row : audit.rows_of) {
    TestCase one = case_of(row);
    // Where something can be used, what can't is left aside: the suite passes as the exit code does.
    if (exit_code(out) == 0 && one.outcome != TestCase::Outcome::passed)
      one.outcome = TestCase::Outcome::skipped;
    out.cases.push_back(std::move(one));
  }
  for (const std::string& one : audit.missing)
    out.cases.push_back({"missing", one, TestCase::Outcome::failure, one});
  return out;
}

}  // namespace mmaudit::report
