// The page on the user's own tensors: the verdict first, then why.
#include <fmt/format.h>

#include <algorithm>

#include "audit_figures.hpp"
#include "audit_tables.hpp"
#include "html_parts.hpp"
#include "mmaudit/report/render.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

std::string list(const std::vector<std::string>& lines) {
  std::string out = "<ul class=\"plain small\">";
  for (std::size_t i = 0; i < std::min(lines.size(), kMostRows); ++i)
    out += fmt::format("<li>{}</li>", escaped_html(printable(lines[i], kLongestLine)));
  return out + "</ul>";
}

std::string list_card(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  return fmt::format("<section class=\"card\"><h2>{}</h2>{}</section>\n", title, list(lines));
}

const GemmAuditRow* closest(const GemmAudit& audit) {
  const GemmAuditRow* best = nullptr;
  for (const GemmAuditRow& row : audit.rows_of) {
    if (row.errors.compared == 0 || row.errors.overflow != 0) continue;
    if (best == nullptr || row.errors.total < best->errors.total) best = &row;
  }
  return best;
}

std::string first_screen_of(const GemmAudit& audit) {
  std::string out =
      fmt::format("<header><h1>Error of A B by data type</h1><p class=\"meta\">mmaudit {} &#183; {}</p>",
                  escaped_html(audit.provenance.version), escaped_html(audit.provenance.date));
  out += fmt::format("<div class=\"verdict {}\" role=\"status\"><strong>{}</strong><p>{}</p></div>",
                     class_of(audit.limit ? tone_of(audit) : Tone::note), escaped_html(headline(audit)),
                     escaped_html(audit.method));
  if (const std::vector<std::string> wrong = findings(audit); !wrong.empty())
    out += fmt::format("<div class=\"verdict note\"><strong>What is wrong with the tensors</strong>{}</div>",
                       list(wrong));
  out += "<ul class=\"tiles\">";
  if (audit.limit)
    out += tile(fmt::format("{} of {}", audit.count(GemmVerdict::pass), audit.rows_of.size()),
                fmt::format("combinations within {:.3g}", *audit.limit));
  out += tile(grouped(audit.rows * audit.columns),
              fmt::format("elements of D computed, of {}", grouped(audit.m * audit.n)));
  out += tile(grouped(audit.k), "products an element, K");
  if (const GemmAuditRow* best = closest(audit))
    out += tile(error_text(best->errors.total),
                "least relative error: " + subject_text(*best, several_architectures(audit)));
  return out + "</ul></header>\n";
}

std::string errors_of_parts(const GemmAudit& audit) {
  const std::string figure = split_figure(audit);
  if (figure.empty()) return "";
  std::string out =
      "<section class=\"card long\"><h2>Splits of the error</h2><p class=\"soft small\">Quantization, "
      "accumulation and output add up to the total element by element; their norms need not.";
  if (audit.rows_of.size() > kMostDrawn)
    out += fmt::format(" The first {} of {} combinations.", kMostDrawn, grouped(audit.rows_of.size()));
  return out + "</p>" + figure + "</section>\n";
}

std::string bits_lost(const GemmAudit& audit) {
  const std::string figures = bits_lost_figures(audit);
  if (figures.empty()) return "";
  const Table table = conversion_table(audit);
  return fmt::format(
      "<section class=\"card long\"><h2>{0}</h2><p class=\"soft small\">Of the 24 bits of a binary32 number: "
      "the size of "
      "the relative error of every finite element after scaling, rounding and scaling back. 24: half of the "
      "number or "
      "more, as of what became zero. <svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect "
      "class=\"bar "
      "a\" width=\"10\" height=\"10\"/></svg> A <svg class=\"key\" viewBox=\"0 0 10 10\" "
      "aria-hidden=\"true\"><rect "
      "class=\"bar b\" width=\"10\" height=\"10\"/></svg> B</p><div class=\"small-figures\">{1}</div>"
      "<details><summary><h3>The same in numbers</h3></summary>{2}</details></section>\n",
      escaped_html(table.title), figures, html_table(table));
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

std::string one_worst(const GemmAuditRow& row, bool several) {
  Table terms = term_table(*row.worst);
  terms.title += ", " + subject_text(row, several);
  return fmt::format("<p>{}</p>{}", escaped_html(worst_text(row)), html_table(terms));
}

std::string worst_elements(const GemmAudit& audit) {
  const std::vector<const GemmAuditRow*> rows = explained(audit);
  if (rows.empty()) return "";
  const GemmAuditRow& first = *rows.front();
  const bool several = several_architectures(audit);
  std::string out = fmt::format(
      "<section class=\"card long\"><h2>Worst dot product, explained</h2><p class=\"soft small\">{}: the "
      "element of D "
      "with the largest error. Below, the products that conversion changes most, and how far the accumulator "
      "is from "
      "the exact sum of the converted products.</p>{}",
      escaped_html(subject_text(first, several)), one_worst(first, several));
  out += sum_figure(*first.worst);
  constexpr std::size_t kListed = 10;
  const bool fold = rows.size() > kListed;
  if (fold)
    out += fmt::format("<details><summary><h3>The other {} combinations</h3></summary>", rows.size() - 1);
  for (std::size_t i = 1; i < rows.size(); ++i)
    out += fmt::format("<details><summary><{0}>{1}</{0}></summary>{2}</details>", fold ? "h4" : "h3",
                       escaped_html(subject_text(*rows[i], several)), one_worst(*rows[i], several));
  return out + (fold ? "</details>" : "") + "</section>\n";
}

}  // namespace

std::string to_html(const GemmAudit& audit) {
  std::string out = page_start("Error of A B by data type") + first_screen_of(audit) + "<main>\n";
  out += section(row_table(audit, true), columns_remark(), "card long");
  out += list_card("Why, and what would help", reasons(audit));
  out += errors_of_parts(audit) + bits_lost(audit) + worst_elements(audit);
  out += section(tensor_table(audit),
                 "NaN, infinities, zeros and the largest and least magnitudes are of the whole tensors.");
  out += list_card("Remarks", audit.remarks) + list_card("Left out", audit.left_out);
  return out + section(provenance_table(audit.provenance), "") + page_end();
}

}  // namespace mmaudit::report
