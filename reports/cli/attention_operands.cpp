#include "attention_operands.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::cli {

Causal causal_of(const std::string& name) {
  const auto* const found = std::find(std::begin(names::kCausal), std::end(names::kCausal), name);
  if (found == std::end(names::kCausal))
    refuse("--causal: found {}, allowed: {}", name, names_of(names::kCausal));
  return static_cast<Causal>(found - std::begin(names::kCausal));
}

corpus::Tensor load_part(const char* option, const std::string& file) {
  corpus::Tensor out = corpus::load_tensor(file);
  while (out.shape.size() < 4) out.shape.insert(out.shape.begin(), 1);
  if (out.shape.size() != 4 || std::find(out.shape.begin(), out.shape.end(), 0) != out.shape.end())
    refuse("{}: {}: shape: found {}, allowed: batch, heads, rows, depth", option, file,
           corpus::to_string(out.shape));
  return out;
}

Format format_of(const char* option, const corpus::Tensor& tensor, const std::string& type) {
  constexpr std::array kTypes{Format::f16, Format::bf16, Format::e4m3, Format::e5m2, Format::f32};
  const Format found =
      type.empty() ? corpus::format_of(tensor.dtype) : read_format(type).value_or(Format::none);
  if (std::find(kTypes.begin(), kTypes.end(), found) != kTypes.end()) return found;
  if (!type.empty()) refuse("--type: found {}, allowed: {}", type, names_of(kTypes));
  refuse("{}: found {}, allowed: {}, or raw bits with --type", option, corpus::safetensors_name(tensor.dtype),
         names_of(kTypes));
}

Loaded load(const AttentionOptions& options) {
  Loaded out{{}, load_part("--q", options.q), load_part("--k", options.k), load_part("--v", options.v), {}};
  AttentionProblem& x = out.problem;
  x.type = format_of("--q", out.q, options.type);
  for (const auto& [option, tensor] : {std::pair{"--q", &out.q}, {"--k", &out.k}, {"--v", &out.v}})
    corpus::require_elements(option, *tensor, spec_of(x.type));
  x.batch = out.q.shape[0], x.heads = out.q.shape[1], x.queries = out.q.shape[2], x.depth = out.q.shape[3];
  x.kv_heads = out.k.shape[1], x.keys = out.k.shape[2];
  const std::vector<std::uint64_t> wanted = {x.batch, x.kv_heads, x.keys, x.depth};
  for (const auto& [option, tensor] : {std::pair{"--k", &out.k}, {"--v", &out.v}})
    if (tensor->shape != wanted)
      refuse("{}: shape: found {}, allowed: {}", option, corpus::to_string(tensor->shape),
             corpus::to_string(wanted));
  x.causal = causal_of(options.causal);
  x.scale = options.scale, x.softcap = options.softcap, x.bias = !options.mask.empty();
  if (!x.bias) return out;
  out.mask = load_part("--mask", options.mask);
  corpus::require_elements("--mask", out.mask, spec_of(x.type));
  const std::vector<std::uint64_t>& shape = out.mask.shape;
  if ((shape[0] != 1 && shape[0] != x.batch) || (shape[1] != 1 && shape[1] != x.heads) ||
      shape[2] != x.queries || shape[3] != x.keys)
    refuse("--mask: shape: found {}, allowed: batch or 1, heads or 1, queries, keys",
           corpus::to_string(shape));
  return out;
}

AttentionOperands Loaded::operands() const {
  AttentionOperands out{q.data.data(), k.data.data(), v.data.data()};
  if (problem.bias)
    out.bias = mask.data.data(), out.bias_batch = mask.shape[0], out.bias_heads = mask.shape[1];
  return out;
}

std::vector<NamedFile> inputs_of(const AttentionOptions& options) {
  return {{"--q", options.q}, {"--k", options.k},       {"--v", options.v},
          {"--o", options.o}, {"--mask", options.mask}, {"--capture", options.capture}};
}

Planned planned(const AttentionOptions& options, const AttentionProblem& problem) {
  std::string why;
  const auto plan = options.kernels.empty() ? attention_plan_of(options.like, problem, &why)
                                            : attention_plan_of(problem, options.kernels, &why);
  if (!plan) throw InputError(why);
  const AttentionFamily* family = options.kernels.empty() ? find_attention_family(options.like) : nullptr;
  const Architecture* architecture =
      find_architecture(family != nullptr ? family->architecture : kDefaultArchitecture);
  if (why = why_no_attention(problem, *plan, *architecture); !why.empty()) throw InputError(why);
  return {*plan, architecture};
}

corpus::Tensor predicted(const AttentionOptions& options, const Loaded& given, const Planned& how) {
  corpus::Operand raw;
  raw.raw = false;
  const AttentionProblem& x = given.problem;
  corpus::Tensor o = corpus::result_tensor(spec_of(how.plan.output), {x.batch * x.heads, x.queries, x.depth},
                                           raw, std::nullopt);
  o.shape = {x.batch, x.heads, x.queries, x.depth};
  attention(x, how.plan, given.operands(), {o.data.data()}, options.threads, *how.architecture);
  return o;
}

}  // namespace mmaudit::cli
