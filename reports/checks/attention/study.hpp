#pragma once
// What attention by a plan loses on a user's Q, K and V, cause by cause, and one row explained.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/attention.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// How Q, K and V become what a kernel takes, and whose plan sums them.
struct AttentionRecipe {
  std::string_view name, family;
  Format type = Format::bf16;  ///< of the operands of the products
  bool scaled = false;         ///< divided by the largest number over the format's largest
  bool per_head = false;       ///< a scale per batch and key head; else one of the tensor
  Format cache = Format::f32;  ///< K and V go through this format first, scaled; f32: they don't
  std::int64_t offset = -1, threshold = -1;  ///< -1: the family's
  bool two_level = false;  ///< P V of each block of keys is added outside of the tensor core
  std::string_view source, evidence;
};
std::span<const AttentionRecipe> attention_recipes();
const AttentionRecipe& require_attention_recipe(const std::string& name);

/// Numbers of the user, (batch, heads, rows, depth) each.
struct AttentionCase {
  AttentionProblem problem;  ///< its type is the recipe's
  std::vector<double> q, k, v;
};

/// A part of the error: its 2-norm and the exact O's give `size`; shares of all parts add up to 1.
struct AttentionCause {
  std::string_view name;
  double size = 0, share = 0;
};
struct AttentionAudit {
  const AttentionRecipe* recipe = nullptr;
  std::string plan;
  double total = 0;  ///< |O - exact O| / |exact O|, 2-norms
  std::vector<AttentionCause> causes;
  /// Of P that are not 0 in binary32: those beyond the format's largest number, and those that become 0.
  double saturated = 0, flushed = 0;
  std::uint64_t rows = 0;  ///< compared with the exact ones
};
/// What: O by the recipe's plan against softmax(scale Q K^T) V of the given numbers in binary64. `rows`: at
/// most so many of each head. Errors: InputError where the family has no plan.
AttentionAudit audit_attention(const AttentionCase& given, const AttentionRecipe& recipe, std::uint64_t rows,
                               unsigned threads);
/// Passed where every recipe's total is at most `limit`; 0: nothing is judged.
report::Report report_of(const std::vector<AttentionAudit>& audits, const AttentionCase& given, double limit);

/// One element of O, block of keys by block.
report::Report explain_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                                 const AttentionOperands& operands, const Architecture& architecture,
                                 std::uint64_t head, std::uint64_t row, std::uint64_t column,
                                 unsigned threads);

/// Ranges of one size over which the plan, and so the bits of a row, stays.
report::Report attention_invariance(std::string_view family, const AttentionProblem& problem,
                                    std::uint64_t most);
report::Report attention_families_report();

}  // namespace mmaudit::checks
