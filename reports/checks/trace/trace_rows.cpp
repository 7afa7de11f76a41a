// Row reductions of two traces by torch's plans of them.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "mmaudit/functions/row_reduction.hpp"
#include "trace/trace_side.hpp"

namespace mmaudit::checks {
namespace {

/// A reduction of the last axis that a kernel with a plan computes.
struct Reduced {
  RowProblem problem;
  RowPlan plan;
  float epsilon = 0;
};

/// Whether an operation reduces the last axis alone: plans are of such rows.
bool reduces_last_axis(const Side& side, std::size_t axes) {
  if (const Json* const shape = side.of.arguments.find("normalized_shape")) return shape->size() == 1;
  const Json* dim = side.of.arguments.find("dim");
  if (dim != nullptr && dim->is_array()) dim = dim->size() == 1 ? &dim->front() : nullptr;
  return dim != nullptr && (*dim == Json(-1) || *dim == Json(axes - 1));
}

/// None: torch has no plan of it that is known.
std::optional<Reduced> reduced(const Side& side) {
  static constexpr std::pair<std::string_view, RowOperation> kOperators[] = {
      {"aten.mean.dim", RowOperation::mean},
      {"aten.sum.dim_IntList", RowOperation::sum},
      {"aten._softmax", RowOperation::softmax},
      {"aten._log_softmax", RowOperation::log_softmax},
      {"aten.amax", RowOperation::amax},
      {"aten.native_layer_norm", RowOperation::layer_norm},
      {"aten._fused_rms_norm", RowOperation::rms_norm}};
  const auto* const found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                         [&](const auto& each) { return each.first == side.of.name; });
  if (found == std::end(kOperators) || side.of.in.empty() || side.said("gpu").empty() ||
      !side.of.arguments.is_object())
    return std::nullopt;
  const TraceTensor& x = side.trace.tensors[side.of.in[0]];
  const auto type = format_of_dtype(x.dtype);
  const auto output = side.result() == nullptr ? std::nullopt : format_of_dtype(side.result()->dtype);
  if (!type || !output || x.shape.empty() || x.shape.back() == 0 || !x.stride.empty() ||
      !reduces_last_axis(side, x.shape.size()))
    return std::nullopt;
  Reduced out{{found->second, *type, *output, 1, x.shape.back()}, {}};
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) out.problem.rows *= x.shape[i];
  out.plan = row_plan_of(out.problem);
  out.plan.evidence = Evidence::recorded;  // how a plan is known makes no bits differ
  if (const Json* const epsilon = side.of.arguments.find("eps"); epsilon != nullptr && epsilon->is_number())
    out.epsilon = static_cast<float>(epsilon->get<double>());
  return out;
}

/// Whether the rows that `side` kept have, by `plan`, the results that it kept.
bool gives(const Side& side, const Reduced& of, const RowPlan& plan) {
  const corpus::Tensor *const x = side.value("0"), *const y = side.value("out");
  if (x == nullptr || y == nullptr) return false;
  RowProblem problem = of.problem;
  const std::uint64_t bytes = spec_of(problem.type).storage_bytes(), row = problem.n * bytes;
  problem.rows = x->data.size() / row;
  const std::uint64_t results = problem.rows * (one_per_row(problem.operation) ? 1 : problem.n);
  if (x->data.size() != problem.rows * row ||
      y->data.size() != results * spec_of(problem.output).storage_bytes())
    return false;
  const auto vector = [&](const char* name) -> const void* {
    const corpus::Tensor* const one = side.value(name);
    return one != nullptr && one->data.size() == row ? one->data.data() : nullptr;
  };
  const RowOperands operands{x->data.data(), vector("1"), vector("2"), of.epsilon};
  if (side.of.in.size() > 1 && operands.weight == nullptr) return false;
  if (!why_no_rows(problem, operands).empty()) return false;
  std::vector<std::byte> found(y->data.size());
  reduce_rows(problem, plan, operands, found.data());
  return found == y->data;
}

/// The words of two plans that differ: "lanes=32 -> lanes=64".
std::string words_changed(const std::string& before, const std::string& after) {
  std::istringstream of_a(before), of_b(after);
  std::string x, y, out;
  while (of_a >> x && of_b >> y)
    if (x != y) out += fmt::format("{}{} -> {}", out.empty() ? "" : ", ", x, y);
  return out;
}

}  // namespace

std::optional<TraceCause> row_cause(const Side& a, const Side& b, bool values) {
  const auto of_a = reduced(a), of_b = reduced(b);
  if (!of_a || !of_b) return std::nullopt;
  const std::string plan_a = text_of(of_a->plan), plan_b = text_of(of_b->plan);
  const bool right_a = values && gives(a, *of_a, of_a->plan), right_b = values && gives(b, *of_b, of_b->plan);
  if (plan_a != plan_b)
    return TraceCause{
        "row reduction", words_changed(plan_a, plan_b),
        right_a && right_b && !gives(a, *of_a, of_b->plan) ? TraceProof::proven : TraceProof::suspected};
  if (right_a == right_b) return std::nullopt;
  return TraceCause{
      "wrong reduction",
      fmt::format("{}'s rows are not what their plan gives, the other one's are", right_a ? "B" : "A"),
      TraceProof::suspected};
}

}  // namespace mmaudit::checks
