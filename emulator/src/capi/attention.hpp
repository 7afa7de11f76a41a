#pragma once
// The request for attention as every function of the C interface takes it.
#include "guard.hpp"
#include "mmaudit/attention.hpp"

namespace mmaudit::capi {

/// Checked except for its arrays.
struct AttentionWork {
  AttentionProblem problem;  ///< of the operands that the plan takes
  AttentionPlan plan;
  const Architecture* architecture = nullptr;
  const AttentionRecipe* recipe = nullptr;  ///< null: none converts
  FormatSpec type;                          ///< of the arrays
};

AttentionWork attention_of(const mmaudit_attention& work);

/// The arrays, checked.
AttentionOperands take_attention(const mmaudit_attention& work, const AttentionWork& x);

}  // namespace mmaudit::capi
