// The page of an audit.
#include <fmt/format.h>

#include <map>
#include <set>

#include "html_parts.hpp"
#include "html_text.hpp"
#include "mmaudit/report/render.hpp"
#include "printed.hpp"
#include "tables.hpp"

namespace mmaudit::report {

namespace {

std::string first_screen(const AuditResult& result) {
  const Provenance& from = result.provenance;
  const Verification& verification = result.verification;
  std::string out = fmt::format("<header><h1>Tensor-core audit: {}</h1><p class=\"meta\">",
                                escaped_html(capitalised(from.architecture)));
  std::string separator;
  for (const auto& [label, value] :
       {std::pair<std::string_view, std::string_view>{"Numbers computed by: ", from.backend},
        {"mmaudit ", from.version},
        {"", from.date}}) {
    if (value.empty()) continue;
    out += separator + escaped_html(label) + escaped_html(value);
    separator = " &#183; ";
  }
  out += "</p>";
  out += fmt::format("<div class=\"verdict {}\" role=\"status\"><strong>{}</strong>",
                     class_of(tone_of(verification.verdict())), escaped_html(verdict_sentence(verification)));
  if (const std::string published = published_sentence(result); !published.empty())
    out += fmt::format("<p>{}</p>", escaped_html(published));
  out += "</div><ul class=\"tiles\">";
  out += tile(grouped(verification.dots()), "dot products compared bit for bit");
  out += tile(grouped(verification.mismatches()), "mismatches");
  out += tile(grouped(verification.instructions()), "instructions compared");
  out += tile(fmt::format("{} of {}", result.count(Agreement::same_digits), result.published_cells()),
              "published values, digit for digit");
  out += "</ul>";
  if (verification.mismatches() != 0) {
    Table failing = verification_table(verification, true);
    failing.title = "Where it differs";
    out += section(failing, "");
  }
  return out + "</header>\n";
}

std::string levels(const AuditResult& result) {
  std::string out = "<div class=\"split\"><section class=\"card\"><h2>Error level per data type</h2>";
  out += dtype_figure(result) + "</section>";
  out += "<section class=\"card\"><h2>Not covered</h2><ul class=\"plain small\">";
  for (const std::string& item : result.not_covered) out += fmt::format("<li>{}</li>", escaped_html(item));
  out += "</ul></section></div>\n";
  if (const Table table = dtype_table(result); !table.rows.empty())
    out += fmt::format(
        "<section class=\"card\"><h2>The same in numbers</h2><p class=\"soft small\">{}</p>{}</section>\n",
        escaped_html(dtype_remark(result) + " " + adds_remark()), html_table(table));
  return out;
}

std::string chains(const AuditResult& result) {
  const Table table = chain_table(result);
  if (table.rows.empty()) return "";
  return fmt::format(
      "<section class=\"card\"><h2>{}</h2><p class=\"soft small\">{}</p><div "
      "class=\"chart\"><div>{}</div>{}</div>"
      "</section>\n",
      escaped_html(table.title), escaped_html(result.chain_method), chain_figure(result), html_table(table));
}

std::string whole_products(const AuditResult& result) {
  const GemmStudy& study = result.gemm;
  const Table depth = study_depth_table(study);
  std::string out = section(study_table(study), study.method) + section(study_distribution_table(study), "");
  if (depth.rows.empty()) return out;
  return out + fmt::format(
                   "<section class=\"card\"><h2>{}</h2><div>{}</div><details><summary><h3>The same in "
                   "numbers</h3></summary>{}</details></section>\n",
                   escaped_html(depth.title), depth_figure(study), html_table(depth));
}

std::string published(const AuditResult& result) {
  const Table table = published_table(result);
  if (table.rows.empty()) return "";
  std::string out = fmt::format(
      "<section class=\"card long\"><h2>{}</h2><p class=\"soft small\">Mean absolute error; "
      "Sun et al. 2023, Tables XII to XV (A100).</p>{}",
      escaped_html(table.title), html_table(table));
  for (const std::string& note : notes(result))
    out += fmt::format("<p class=\"small\">{}</p>", escaped_html(note));
  return out + "</section>\n";
}

std::string every_cell(const AuditResult& result) {
  if (result.cells.empty()) return "";
  std::string out =
      "<section class=\"card long\"><h2>Every cell</h2><p class=\"soft small\">Errors are D minus reference; "
      "the bias of "
      "|D| is below zero where results are cut off.</p>";
  for (const Table& table : profile_tables(result))
    out += fmt::format("<details><summary><h3>{}</h3></summary>{}</details>", escaped_html(table.title),
                       html_table(table));
  return out + "</section>\n";
}

/// "205 instructions, 1,929,088 dot products, 0 mismatches. Rows of the model: 205 recorded."
std::string coverage_text(const Verification& verification) {
  std::map<std::string, std::set<std::string>> by_evidence;
  for (const VerificationRow& row : verification.rows) by_evidence[row.evidence].insert(row.instruction);
  std::string rows;
  for (const auto& [evidence, instructions] : by_evidence)
    rows += fmt::format("{}{} {}", rows.empty() ? "" : ", ", instructions.size(), evidence);
  return fmt::format(
      "{} instructions, {} dot products, {} mismatches. How their rows of the model are known: {}.",
      verification.instructions(), grouped(verification.dots()), grouped(verification.mismatches()), rows);
}

std::string compared(const Verification& verification) {
  const Table table = verification_table(verification, false);
  if (table.rows.empty()) return "";
  return fmt::format(
      "<section class=\"card long\"><h2>{}</h2><p class=\"soft small\">{}</p><details><summary><h3>Every "
      "instruction</h3></summary>{}</details></section>\n",
      escaped_html(table.title), escaped_html(coverage_text(verification)), html_table(table));
}

}  // namespace

std::string to_html(const AuditResult& result) {
  std::string out = page_start("Tensor-core audit: " + capitalised(result.provenance.architecture));
  out += first_screen(result) + "<main>\n";
  out += levels(result) + whole_products(result) + chains(result) + published(result) + every_cell(result);
  out += section(format_table(result), "");
  out += compared(result.verification);
  out += section(provenance_table(result.provenance), "");
  return out + page_end();
}

}  // namespace mmaudit::report
