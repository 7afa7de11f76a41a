#include <fmt/format.h>

#include "mmaudit/report/render.hpp"
#include "tables.hpp"
#include "text_layout.hpp"

namespace mmaudit::report {
std::string to_console(const AuditResult& result, bool colour) {
  const Provenance& from = result.provenance;
  std::string out =
      fmt::format("mmaudit {} audit: {} on {}\n\n", from.version, capitalised(from.architecture),
                  from.backend.empty() ? "unnamed backend" : from.backend);
  const Tone tone = tone_of(result.verification.verdict());
  out += painted(wrapped(verdict_sentence(result.verification), ""), tone, colour);
  if (result.verification.mismatches() != 0)
    out += '\n' + console_table(verification_table(result.verification, true), colour);
  if (const std::string sentence = published_sentence(result); !sentence.empty())
    out += wrapped(sentence, "");

  const auto section = [&](const Table& table, std::string_view remark) {
    if (table.rows.empty()) return;
    out += fmt::format("\n{}\n", table.title);
    if (!remark.empty()) out += wrapped(remark, "");
    out += console_table(table, colour);
  };
  section(dtype_table(result), dtype_remark(result));
  section(study_table(result.gemm), result.gemm.method);
  section(study_distribution_table(result.gemm), "");
  section(published_table(result), "Mean absolute error, Sun et al. 2023, Tables XII to XV (A100).");
  for (const std::string& note : notes(result)) out += wrapped(note, "  Note: ");
  if (!result.chains.empty()) section(chain_table(result), result.chain_method);
  out += "\nNot covered\n";
  for (const std::string& line : result.not_covered) out += wrapped(line, "  - ");
  return out;
}

}  // namespace mmaudit::report
