#include <fmt/format.h>

#include "mmaudit/report/render.hpp"
#include "tables.hpp"
#include "text_layout.hpp"

namespace mmaudit::report {
std::string to_markdown(const AuditResult& result) {
  std::string out = fmt::format("# Tensor-core audit: {}\n\n**{}**\n",
                                markdown_escaped(capitalised(result.provenance.architecture)),
                                markdown_escaped(verdict_sentence(result.verification)));
  if (const std::string sentence = published_sentence(result); !sentence.empty())
    out += fmt::format("\n{}\n", markdown_escaped(sentence));
  const auto section = [&](int level, const Table& table, std::string_view remark) {
    if (table.rows.empty()) return;
    out += fmt::format("\n{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'),
                       markdown_escaped(table.title));
    if (!remark.empty()) out += fmt::format("{}\n\n", markdown_escaped(remark));
    out += markdown_table(table);
  };
  section(2, dtype_table(result), dtype_remark(result) + " " + adds_remark());
  section(2, study_table(result.gemm), result.gemm.method);
  section(3, study_distribution_table(result.gemm), "");
  section(3, study_depth_table(result.gemm), "");
  out += "\n## Not covered\n\n";
  for (const std::string& line : result.not_covered) out += fmt::format("- {}\n", markdown_escaped(line));
  if (!result.chains.empty()) section(2, chain_table(result), result.chain_method);
  section(2, published_table(result), "Mean absolute error, Sun et al. 2023, Tables XII to XV (A100).");
  for (const std::string& note : notes(result)) out += fmt::format("\n{}\n", markdown_escaped(note));
  if (!result.cells.empty()) out += "\n## Every cell\n";
  for (const Table& table : profile_tables(result)) section(3, table, "");
  section(2, format_table(result), "");
  section(2, verification_table(result.verification, false), "");
  section(2, provenance_table(result.provenance), "");
  return out;
}

}  // namespace mmaudit::report
