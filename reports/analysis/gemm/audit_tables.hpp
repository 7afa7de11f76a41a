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

/// Its figures say something: an element was compared, and they are relative to more than zero.
bool has_figures(const GemmErrors& errors);
/// An error: "-" where there is none, "overflow" where D alone is to blame, "infinite".
std::string figure_text(const GemmErrors& errors, double value);
/// Its total is a number that holds for all of D.
bool has_total(const GemmAuditRow& row);
Tone tone_of(GemmVerdict verdict);
/// Of the whole audit.
Tone tone_of(const GemmAudit& audit);
bool several_architectures(const GemmAudit& audit);
/// "hopper e4m3 tensor plain"; the architecture where there are several.
std::string subject_text(const GemmAuditRow& row, bool several);

/// Bits of an element of A or B, whichever has more.
int element_bits(const GemmAuditRow& row);
/// Whether the sum of a row is one chain over K.
bool one_chain(const GemmAuditRow& row);
/// What a user takes first: the fewest bits, then one chain over K, then the least error.
bool goes_before(const GemmAuditRow& x, const GemmAuditRow& y);
/// "Not all that was asked for is judged: hopper has no combination with nvf4. "; empty: all is.
std::string unjudged_text(const GemmAudit& audit);
/// That, what to use, and which types fail on what.
std::string headline(const GemmAudit& audit);
/// The least error of every type of which nothing passes, in one sentence; empty: there is none.
std::string least_errors(const GemmAudit& audit);
/// How many combinations pass, in one sentence.
std::string counts_text(const GemmAudit& audit);
/// Per architecture that has one, the combination to use: of those that pass the one with the fewest bits per
/// element, then without promotion, then with the least error.
std::vector<const GemmAuditRow*> to_use(const GemmAudit& audit);
/// What is wrong with the tensors; empty when nothing is.
std::vector<std::string> findings(const GemmAudit& audit);
/// One line per cause of what does not pass: which rows, and what would help.
std::vector<std::string> reasons(const GemmAudit& audit);
std::string_view columns_remark();

/// The first row of every type and scaling: what has been converted does not depend on the rest.
std::vector<const GemmAuditRow*> conversions(const GemmAudit& audit);
/// Half of the tensor or more, at its end, is zeros: whoever wrote the file did not finish.
bool ends_in_zeros(const TensorFacts& tensor);
/// The share of the elements of A or of B, whichever is larger.
double lost_share(const GemmAuditRow& row, std::uint64_t CastCounts::*lost);
std::uint64_t finite_elements(const CastCounts& counts);

/// "rtol 0.01, atol 0", of tolerances that are given.
std::string tolerances_text(const GemmAudit& audit);
/// "limit 0.05, rtol 0.01, atol 0": what D is judged by; empty: by nothing.
std::string limits_text(const GemmAudit& audit);
/// Every combination under the tolerances, one line each; empty: there are none.
Table tolerance_table(const GemmAudit& audit);
Table tensor_table(const GemmAudit& audit);
Table row_table(const GemmAudit& audit);
/// The same for a page: the combination in one column, and the verdict before the figures.
Table page_row_table(const GemmAudit& audit);
/// Total error of type and scale, down, on GPU and policy, across.
Table matrix_table(const GemmAudit& audit);
/// Steps of the matrix's colours: shares of the limit, else of the error of BF16, else of the least total.
inline constexpr double kHeatEdges[] = {1 / 16., 1 / 4., 1 / 2., 1, 2, 4, 16};
struct HeatScale {
  double unit = 1;
  bool judges = false;  ///< the unit is a limit

  /// Errors that are printed alike have one colour, unless a limit lies between them: their marks differ too.
  [[nodiscard]] int colour_of(double error) const;
};
HeatScale heat_scale(const GemmAudit& audit);
/// What conversion took from the operands: one row per type, scaling and operand.
Table conversion_table(const GemmAudit& audit);
/// "77", "77 and 640"; of more than `named` "77, 640, 12 and 5 more".
std::string channels_text(const ChannelStudy& study, std::size_t named);
/// Every conversion in which channels stand out, and what keeping them in BF16 would leave.
Table wide_table(const GemmAudit& audit);
/// The channels of the largest shares of every conversion.
Table channel_table(const GemmAudit& audit);
/// The products that differ most from the exact ones.
Table term_table(const WorstElement& worst);
/// Where the error of the worst element comes from, in a few sentences.
std::string worst_text(const GemmAuditRow& row);

}  // namespace mmaudit::report
