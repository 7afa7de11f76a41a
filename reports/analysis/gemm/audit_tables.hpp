#pragma once
// What every writer says of an audit of tensors.
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"
#include "tables.hpp"

namespace mmaudit::report {

/// Names come from anywhere: without control characters, and of bounded length.
inline constexpr std::size_t kLongestName = 400, kLongestLine = 4000;
std::string printable(std::string_view text, std::size_t longest = kLongestName);

Tone tone_of(GemmVerdict verdict);
/// Of the whole audit.
Tone tone_of(const GemmAudit& audit);
bool several_architectures(const GemmAudit& audit);
/// "hopper e4m3 tensor plain"; the architecture where there are several.
std::string subject_text(const GemmAuditRow& row, bool several);

/// How many combinations pass, in one sentence.
std::string headline(const GemmAudit& audit);
/// What is wrong with the tensors; empty when nothing is.
std::vector<std::string> findings(const GemmAudit& audit);
/// One line for every row that does not pass: why, and what would help.
std::vector<std::string> reasons(const GemmAudit& audit);
std::string_view columns_remark();

/// The first row of every type and scaling: what has been converted does not depend on the rest.
std::vector<const GemmAuditRow*> conversions(const GemmAudit& audit);
/// Half of the tensor or more, at its end, is zeros: whoever wrote the file did not finish.
bool ends_in_zeros(const TensorFacts& tensor);
/// The share of the elements of A or of B, whichever is larger.
double lost_share(const GemmAuditRow& row, std::uint64_t CastCounts::*lost);
std::uint64_t finite_elements(const CastCounts& counts);

Table tensor_table(const GemmAudit& audit);
/// `verdict_first`: before the figures, for readers who scroll.
Table row_table(const GemmAudit& audit, bool verdict_first = false);
/// What conversion took from the operands: one row per type, scaling and operand.
Table conversion_table(const GemmAudit& audit);
/// The products that differ most from the exact ones.
Table term_table(const WorstElement& worst);
/// Where the error of the worst element comes from, in a few sentences.
std::string worst_text(const GemmAuditRow& row);

}  // namespace mmaudit::report
