// The report of an audit.
#include <fmt/format.h>

#include <map>
#include <set>

#include "audit_figures.hpp"
#include "mmaudit/report/audit.hpp"
#include "printed.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kPublishedRemark =
    "Mean absolute error, Sun et al. 2023, Tables XII to XV (A100).";

/// "205 instructions, 1,929,088 dot products, 0 mismatches. How the model knows them: 205 recorded."
std::string coverage_text(const Verification& verification) {
  std::map<std::string, std::set<std::string>> by_evidence;
  for (const VerificationRow& row : verification.rows) by_evidence[row.evidence].insert(row.instruction);
  std::string known;
  for (const auto& [evidence, instructions] : by_evidence)
    known += fmt::format("{}{} {}", known.empty() ? "" : ", ", instructions.size(), evidence);
  return fmt::format("{} instructions, {} dot products, {} mismatches. How the model knows them: {}.",
                     verification.instructions(), grouped(verification.dots()),
                     grouped(verification.mismatches()), known);
}

std::string meta_of(const Origin& from) {
  std::string out;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) out += fmt::format("{}{}{}", out.empty() ? "" : " \u00b7 ", label, value);
  };
  add("Numbers computed by: ", from.backend);
  add("mmaudit ", from.version);
  add("", from.date);
  return out;
}

/// The table is folded under `summary` on pages, where a figure or a sentence says most of it.
Section folded_on_page(Table table, std::string summary) {
  Section section{.title = table.title, .remark = table.remark, .shown = kOnPage};
  table.title = std::move(summary);
  table.folded = true;
  section.tables.push_back(std::move(table));
  return section;
}

Section with_figure(Section section, std::string figure, Layout layout) {
  section.figures.push_back(std::move(figure));
  section.layout = layout;
  return section;
}

std::vector<Section> sections_of(const AuditResult& result) {
  std::vector<Section> out;
  const Verification& verification = result.verification;
  Table failing = verification_table(verification, true);
  failing.title = "Where it differs";
  out.push_back(section_of(std::move(failing), kOnTerminal | kOnPage));

  Section levels{.title = "Error level per data type", .shown = kOnPage};
  if (Levels products = study_levels(result.gemm); !products.rows.empty())
    levels.plots.emplace_back(std::move(products));
  if (Levels single = dtype_levels(result); !single.rows.empty())
    levels.plots.emplace_back(std::move(single));
  if (levels.plots.size() == 1) levels.layout = Layout::wide;
  if (result.gemm.curves.empty())
    levels.remark = "Types with block scales are in the study of whole products, which this run left out.";
  out.push_back(std::move(levels));
  Table dtypes = dtype_table(result);
  dtypes.remark = dtype_remark(result);
  out.push_back(section_of(dtypes, kOnTerminal));
  dtypes.remark += " " + adds_remark();
  out.push_back(section_of(dtypes, kInMarkdown));
  dtypes.title = "The same in numbers";
  out.push_back(section_of(dtypes, kOnPage));

  out.push_back(section_of(study_table(result.gemm)));
  out.push_back(section_of(study_distribution_table(result.gemm)));
  const Table depth = study_depth_table(result.gemm);
  out.push_back(section_of(depth, kInMarkdown));
  if (!depth.rows.empty())
    out.push_back(
        with_figure(folded_on_page(depth, "The same in numbers"), depth_figure(result.gemm), Layout::wide));

  if (Table chains = chain_table(result); !chains.rows.empty())
    out.push_back(with_figure(section_of(std::move(chains)), chain_figure(result), Layout::beside));
  Section published = section_of(published_table(result));
  published.remark = kPublishedRemark;
  if (!published.tables.front().rows.empty()) published.notes = notes(result);
  out.push_back(std::move(published));
  constexpr std::size_t kLong = 12;
  out.push_back(
      {.title = "Not covered", .lines = result.not_covered, .folded = result.not_covered.size() > kLong});

  out.push_back(
      {.title = "Every cell",
       .remark = "Errors are D minus reference; the bias of |D| is below zero where results are cut off.",
       .tables = profile_tables(result),
       .shown = kInDocuments});
  out.push_back(section_of(format_table(result), kInDocuments));
  Table compared = verification_table(verification, false);
  out.push_back(section_of(compared, kInMarkdown));
  compared.remark = coverage_text(verification);
  out.push_back(folded_on_page(std::move(compared), "Every instruction"));
  out.push_back(section_of(provenance_table(result.provenance), kInDocuments));
  return out;
}

}  // namespace

Report report_of(const AuditResult& result) {
  const Origin& from = result.provenance;
  const Verification& verification = result.verification;
  Report out;
  out.title = "Tensor-core audit: " + capitalised(from.architecture);
  out.text_title = fmt::format("mmaudit {} audit: {} on {}", from.version, capitalised(from.architecture),
                               from.backend.empty() ? "unnamed backend" : from.backend);
  out.meta = {meta_of(from)};
  out.origin_told = true;
  out.headline = verdict_sentence(verification);
  out.tone = tone_of(verification.verdict());
  if (const std::string sentence = published_sentence(result); !sentence.empty()) out.lead = {sentence};
  out.highlights = {{grouped(verification.dots()), "dot products compared bit for bit"},
                    {grouped(verification.mismatches()), "mismatches"},
                    {grouped(verification.instructions()), "instructions compared"},
                    {fmt::format("{} of {}", result.count(Agreement::same_digits), result.published_cells()),
                     "published values, digit for digit"}};
  out.sections = sections_of(result);
  out.json = [result] { return to_json(result); };
  return out;
}

}  // namespace mmaudit::report
