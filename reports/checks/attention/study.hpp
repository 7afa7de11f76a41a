#pragma once
// What attention by a plan loses on a user's Q, K and V, cause by cause, and one row explained.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/attention.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

const AttentionRecipe& require_attention_recipe(const std::string& name);

/// Numbers of the user, (batch, heads, rows, depth) each.
struct AttentionCase {
  AttentionProblem problem;  ///< its type is the recipe's
  std::vector<double> q, k, v;
};

inline constexpr std::string_view kAttentionCauses[] = {
    "Q, K", "V", "QK sum", "exponential", "P rounding", "P saturation", "PV sum", "output"};
/// A part of the error: its 2-norm and the exact O's give `size`; shares of all parts add up to 1.
struct AttentionCause {
  std::string_view name;
  double size = 0, share = 0;
};
struct AttentionAudit {
  const AttentionRecipe* recipe = nullptr;
  std::string plan;
  double total = 0;              ///< |O - exact O| / |exact O|, 2-norms
  double worst = 0;              ///< the same of one head, the worst
  std::uint64_t worst_head = 0;  ///< of batch * heads
  std::vector<AttentionCause> causes;
  /// Of P that are not 0 in binary32: those beyond the format's largest number, and those that become 0.
  double saturated = 0, flushed = 0;
  std::uint64_t rows = 0;  ///< compared with the exact ones
  /// Of them, and of a head's columns: all zero or not finite, and the exact ones are not all zero.
  std::uint64_t lost_rows = 0, lost_columns = 0;
  std::string layer, why;  ///< of a capture; why: nothing was measured, or every exact O is zero
};
/// What: O by the recipe's plan against softmax(scale Q K^T) V of the given numbers in binary64. `rows`: at
/// most so many of each head. Errors: InputError where the family has no plan.
AttentionAudit audit_attention(const AttentionCase& given, const AttentionRecipe& recipe, std::uint64_t rows,
                               unsigned threads);
/// Passed where every one is measured, its total is at most `limit`, and no row or column is lost; 0: nothing
/// is judged. `meta`: of what.
report::Report report_of(const std::vector<AttentionAudit>& audits, std::vector<std::string> meta,
                         double limit);
/// "1 x 8 heads (2 of K), 512 queries, ...".
std::string sizes_of(const AttentionProblem& problem);

/// One element of O, block of keys by block. `like`: whose plan it is; empty: none of a name.
report::Report explain_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                                 const AttentionOperands& operands, const Architecture& architecture,
                                 std::uint64_t head, std::uint64_t row, std::uint64_t column,
                                 unsigned threads, const std::string& like);

/// Ranges of one size over which the plan, and so the bits of a row, stays.
report::Report attention_invariance(std::string_view family, const AttentionProblem& problem,
                                    std::uint64_t most);
report::Report attention_families_report();

}  // namespace mmaudit::checks
