// The C interface: rows as torch's kernels reduce them.
#include <algorithm>

#include "guard.hpp"
#include "mmaudit/functions/row_reduction.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::capi {
namespace {

void run_rows(const mmaudit_rows& work, char** plan_text) {
  constexpr std::string_view kLike = "torch-2.11";
  if (work.like != nullptr && work.like != kLike)
    refuse("like: found {}, allowed: {}", in_quotes(work.like), kLike);
  const std::string_view name = work.operation == nullptr ? "" : work.operation;
  const auto* const found = std::find(kRowOperations.begin(), kRowOperations.end(), name);
  if (found == kRowOperations.end())
    refuse("operation: found {}, allowed: {}", in_quotes(name), names_of(kRowOperations));
  const FormatSpec type = capi::format_of("type", work.type);
  const FormatSpec output = work.output == nullptr ? type : capi::format_of("output", work.output);
  const RowProblem problem{static_cast<RowOperation>(found - kRowOperations.begin()), type.id, output.id,
                           work.rows, work.n};
  const RowOperands operands{work.x.data, work.weight.data, work.bias.data, work.epsilon};
  if (const std::string why = why_no_rows(problem, operands); !why.empty()) throw InputError(why);
  const Axis n{"n", work.n};
  require("x", work.x, {{"rows", work.rows}, n}, type);
  require_if_given("weight", work.weight, {n}, type);
  require_if_given("bias", work.bias, {n}, type);
  require("y", work.y, {{"rows", work.rows}, one_per_row(problem.operation) ? Axis{"one", 1} : n}, output);
  for (const auto& [field, array] : {std::pair{"x", work.x}, {"weight", work.weight}, {"bias", work.bias}})
    require_apart(field, work.y, array);
  const RowPlan plan = row_plan_of(problem);
  reduce_rows(problem, plan, operands, work.y.data);
  if (plan_text != nullptr) give_text(plan_text, [&] { return text_of(plan); });
}

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_reduce_rows(const mmaudit_rows* work, char** plan_text) {
  return mmaudit::capi::guarded([&] { mmaudit::capi::run_rows(mmaudit::capi::taken(work), plan_text); });
}
