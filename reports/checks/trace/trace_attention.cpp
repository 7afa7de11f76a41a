// Attentions of two traces by their plans.
#include <algorithm>

#include "mmaudit/attention.hpp"
#include "trace/trace_side.hpp"

namespace mmaudit::checks {
namespace {

/// An attention that a kernel with a plan computes.
struct Attended {
  AttentionProblem problem;
  AttentionPlan plan;
  const Architecture* architecture;
};

/// None: no plan is known. Operators and which corner is_causal means: torch's attention.cu; tensors come as
/// (batch, heads, rows, depth).
std::optional<Attended> attended(const Side& side) {
  struct Operator {
    std::string_view name, family;
    Causal causal;
  };
  static constexpr Operator kOperators[] = {
      {"aten._scaled_dot_product_flash_attention", "torch-flash", Causal::bottom_right},
      {"aten._scaled_dot_product_efficient_attention", "torch-efficient", Causal::top_left},
      {"aten._scaled_dot_product_cudnn_attention", "torch-cudnn", Causal::top_left},
      {"mmaudit.attention", "", Causal::none}};
  const Operator* const found = find_named(kOperators, side.of.name);
  if (found == nullptr || side.of.in.size() < 3 || !side.of.arguments.is_object()) return std::nullopt;
  const auto said = [&](const char* name) { return side.of.arguments.find(name); };
  const auto number = [](const Json* x) { return x != nullptr && x->is_number() ? x->get<double>() : 0; };
  const TraceTensor &q = side.trace.tensors[side.of.in[0]], &k = side.trace.tensors[side.of.in[1]];
  const auto type = format_of_dtype(q.dtype);
  if (!type || q.shape.size() != 4 || k.shape.size() != 4 || number(said("dropout_p")) != 0)
    return std::nullopt;
  Attended out;
  AttentionProblem& x = out.problem;
  x.type = *type, x.batch = q.shape[0], x.heads = q.shape[1], x.queries = q.shape[2], x.depth = q.shape[3];
  x.kv_heads = k.shape[1], x.keys = k.shape[2], x.scale = number(said("scale"));
  x.bias = side.of.in.size() > 3;
  std::string family(found->family);
  if (family.empty()) {  // of an emulation
    const Json *const like = said("like"), *const causal = said("causal");
    if (like == nullptr || causal == nullptr || !like->is_string() || !causal->is_string())
      return std::nullopt;
    family = like->get<std::string>();
    const auto* const corner =
        std::find(std::begin(names::kCausal), std::end(names::kCausal), causal->get<std::string>());
    if (corner == std::end(names::kCausal)) return std::nullopt;
    x.causal = static_cast<Causal>(corner - std::begin(names::kCausal));
  } else if (const Json* const causal = said("is_causal");
             causal != nullptr && causal->is_boolean() && causal->get<bool>()) {
    x.causal = found->causal;
  }
  if (x.queries == x.keys && x.causal != Causal::none) x.causal = Causal::top_left;
  if (find_attention_family(family) == nullptr || (!found->family.empty() && side.said("gpu").empty()))
    return std::nullopt;
  std::vector<std::string> kernels;
  for (const KernelLaunch& each : side.of.kernels) kernels.push_back(each.name);
  auto plan = attention_plan_of(x, kernels, nullptr);
  if (!plan && kernels.empty()) plan = attention_plan_of(family, x, nullptr);
  out.architecture = find_architecture(find_attention_family(family)->architecture);
  if (!plan || !why_no_attention(x, *plan, *out.architecture).empty()) return std::nullopt;
  out.plan = *plan;
  return out;
}

/// O of the values that `side` kept, by `of`; empty where it kept none.
std::vector<std::byte> predicted_o(const Side& side, const Attended& of) {
  const corpus::Tensor *const q = side.value("0"), *const k = side.value("1"), *const v = side.value("2"),
                              *const bias = side.value("3");
  const std::size_t bytes = spec_of(of.problem.type).storage_bytes();
  const std::uint64_t row = of.problem.batch * of.problem.depth * bytes,
                      keys = of.problem.kv_heads * of.problem.keys * row,
                      queries = of.problem.heads * of.problem.queries * row;
  if (q == nullptr || k == nullptr || v == nullptr || q->data.size() != queries || k->data.size() != keys ||
      v->data.size() != keys)
    return {};
  AttentionOperands operands{q->data.data(), k->data.data(), v->data.data()};
  if (of.problem.bias) {
    if (bias == nullptr || bias->shape.size() != 4 ||
        bias->data.size() != bias->shape[0] * bias->shape[1] * of.problem.queries * of.problem.keys * bytes)
      return {};
    operands.bias = bias->data.data(), operands.bias_batch = bias->shape[0],
    operands.bias_heads = bias->shape[1];
  }
  std::vector<std::byte> o(queries);
  attention(of.problem, of.plan, operands, {o.data()}, 0, *of.architecture);
  return o;
}

}  // namespace

std::optional<TraceCause> attention_plan_cause(const Side& a, const Side& b, bool values) {
  const auto of_a = attended(a), of_b = attended(b);
  if (!of_a || !of_b || of_a->problem != of_b->problem) return std::nullopt;
  const auto gives = [&](const Side& side, const Attended& of) {
    const corpus::Tensor* const o = values ? side.value("out") : nullptr;
    return o != nullptr && predicted_o(side, of) == o->data;
  };
  const bool right_a = gives(a, *of_a), right_b = gives(b, *of_b);
  if (of_a->plan != of_b->plan)
    return TraceCause{"attention plan", change_of(of_a->plan, of_b->plan),
                      right_a && right_b && !gives(a, *of_b) ? TraceProof::proven : TraceProof::suspected};
  if (right_a == right_b) return std::nullopt;
  return TraceCause{"wrong attention",
                    fmt::format("{}'s O is not what its plan gives, the other one's is", right_a ? "B" : "A"),
                    TraceProof::suspected};
}

}  // namespace mmaudit::checks
