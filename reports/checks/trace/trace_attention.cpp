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

/// None: no plan is known. Operators and the corner that is_causal means: torch's attention.cu; tensors come
/// as (batch, heads, rows, depth).
std::optional<Attended> attended(const Side& side) {
  struct Operator {
    std::string_view name, family, causal;
  };
  static constexpr Operator kOperators[] = {
      {"aten._scaled_dot_product_flash_attention", "torch-flash", "bottom_right"},
      {"aten._scaled_dot_product_efficient_attention", "torch-efficient", "top_left"},
      {"aten._scaled_dot_product_cudnn_attention", "torch-cudnn", "top_left"},
      {"mmaudit.attention", "", ""}};  // of an emulation: arguments say both
  const Operator* const found = find_named(kOperators, side.of.name);
  const Json& arguments = side.of.arguments;
  if (found == nullptr || side.of.in.size() < 3 || !arguments.is_object()) return std::nullopt;
  const auto number = [&](const char* name) {
    const Json* const x = arguments.find(name);
    return x != nullptr && x->is_number() ? x->get<double>() : 0;
  };
  const auto text = [&](const char* name) {
    const Json* const x = arguments.find(name);
    return x != nullptr && x->is_string() ? x->get<std::string>() : std::string();
  };
  const bool emulated = found->family.empty();
  const Json* const is_causal = arguments.find("is_causal");
  const bool causal = is_causal != nullptr && is_causal->is_boolean() && is_causal->get<bool>();
  const std::string like = emulated ? text("like") : std::string(found->family),
                    corner = emulated ? text("causal") : std::string(causal ? found->causal : "none");
  const AttentionFamily* const family = find_attention_family(like);
  const auto* const named = std::find(std::begin(names::kCausal), std::end(names::kCausal), corner);
  const TraceTensor &q = side.trace.tensors[side.of.in[0]], &k = side.trace.tensors[side.of.in[1]];
  const auto type = format_of_dtype(q.dtype);
  if (!type || q.shape.size() != 4 || k.shape.size() != 4 || number("dropout_p") != 0 || family == nullptr ||
      named == std::end(names::kCausal) || (!emulated && side.said("gpu").empty()))
    return std::nullopt;
  Attended out{{}, {}, find_architecture(family->architecture)};
  AttentionProblem& x = out.problem;
  x.type = *type, x.batch = q.shape[0], x.heads = q.shape[1], x.queries = q.shape[2], x.depth = q.shape[3];
  x.kv_heads = k.shape[1], x.keys = k.shape[2];
  x.causal = static_cast<Causal>(named - std::begin(names::kCausal));
  if (x.queries == x.keys && x.causal != Causal::none) x.causal = Causal::top_left;
  x.scale = number("scale"), x.bias = side.of.in.size() > 3;
  std::vector<std::string> kernels;
  for (const KernelLaunch& each : side.of.kernels) kernels.push_back(each.name);
  const auto plan =
      kernels.empty() ? attention_plan_of(like, x, nullptr) : attention_plan_of(x, kernels, nullptr);
  if (!plan || !why_no_attention(x, *plan, *out.architecture).empty()) return std::nullopt;
  out.plan = *plan;
  return out;
}

/// Whether O of the values that `side` kept, by `of`, is the one that it kept.
bool gives(const Side& side, const Attended& of) {
  const AttentionProblem& x = of.problem;
  const std::uint64_t row = x.batch * x.depth * spec_of(x.type).storage_bytes();
  const std::pair<const corpus::Tensor*, std::uint64_t> kept[] = {{side.value("0"), x.heads * x.queries},
                                                                  {side.value("1"), x.kv_heads * x.keys},
                                                                  {side.value("2"), x.kv_heads * x.keys},
                                                                  {side.value("out"), x.heads * x.queries}};
  for (const auto& [tensor, rows] : kept)
    if (tensor == nullptr || tensor->data.size() != rows * row) return false;
  if (x.bias) return false;  // the values of a mask are not looked at
  std::vector<std::byte> o(x.heads * x.queries * row);
  attention(x, of.plan, {kept[0].first->data.data(), kept[1].first->data.data(), kept[2].first->data.data()},
            {o.data()}, 0, *of.architecture);
  return o == kept[3].first->data;
}

}  // namespace

std::optional<TraceCause> attention_plan_cause(const Side& a, const Side& b, bool values) {
  const auto of_a = attended(a), of_b = attended(b);
  if (!of_a || !of_b || of_a->problem != of_b->problem) return std::nullopt;
  const bool right_a = values && gives(a, *of_a), right_b = values && gives(b, *of_b);
  if (of_a->plan != of_b->plan)
    return TraceCause{"attention plan", change_of(of_a->plan, of_b->plan),
                      right_a && right_b && !gives(a, *of_b) ? TraceProof::proven : TraceProof::suspected};
  if (right_a == right_b) return std::nullopt;
  return TraceCause{"wrong attention",
                    fmt::format("{}'s O is not what its plan gives, the other one's is", right_a ? "B" : "A"),
                    TraceProof::suspected};
}

}  // namespace mmaudit::checks
