// The C interface: attention by its plan.
#include "capi/attention.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "field_reader.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit::capi {
namespace {

constexpr char kPage[] = "docs/attention.md";

AttentionProblem problem_of(const mmaudit_attention& work) {
  AttentionProblem out;
  out.type = capi::format_of("type", work.type).id;
  out.batch = work.batch, out.heads = work.heads, out.kv_heads = work.kv_heads;
  out.queries = work.queries, out.keys = work.keys, out.depth = work.depth;
  out.scale = work.scale;
  out.bias = given(work.bias);
  out.softcap = work.softcap, out.sinks = given(work.sinks), out.packed = work.packed;
  if (work.left != 0) out.left = work.left - 1;
  if (work.right != 0) out.right = work.right - 1;
  const std::string_view causal = work.causal == nullptr ? "none" : work.causal;
  const auto* const found = std::find(std::begin(names::kCausal), std::end(names::kCausal), causal);
  if (found == std::end(names::kCausal))
    refuse("causal: found {}, allowed: {}", causal, names_of(names::kCausal));
  out.causal = static_cast<Causal>(found - names::kCausal);
  return out;
}

const AttentionRecipe* recipe_for(const mmaudit_attention& work) {
  return work.like != nullptr ? find_attention_recipe(work.like) : nullptr;
}

const Architecture& architecture_for(const mmaudit_attention& work) {
  if (work.arch != nullptr) return capi::architecture_of(work.arch);
  const AttentionRecipe* recipe = recipe_for(work);
  const AttentionFamily* family =
      work.like != nullptr ? find_attention_family(recipe != nullptr ? recipe->family : work.like) : nullptr;
  return *find_architecture(family != nullptr ? family->architecture : kDefaultArchitecture);
}

AttentionPlan plan_for(const mmaudit_attention& work, const AttentionProblem& problem) {
  const int ways = (work.like != nullptr) + (work.plan != nullptr) + (work.kernels != nullptr);
  if (ways != 1) refuse("like, plan, kernels: found {} of them, allowed: one", ways);
  std::string why;
  std::optional<AttentionPlan> found;
  if (work.plan != nullptr) {
    AttentionPlan plan;
    plan.p = plan.output = problem.type;
    FieldReader reader("plan", work.plan);
    for_each_field(plan, reader);
    reader.finish(kPage);
    if (plan.qk.k == 0 || plan.pv.k == 0)
      refuse("plan: found no qk or no pv, allowed: an instruction of each");
    found = plan;
  } else if (const AttentionRecipe* recipe = recipe_for(work)) {
    found = attention_plan_of(*recipe, problem, &why);
  } else if (work.like != nullptr) {
    found = attention_plan_of(work.like, problem, &why);
  } else {
    std::vector<std::string> names;
    for (std::string_view rest = work.kernels; !rest.empty();) {
      names.emplace_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(std::min(names.back().size() + 1, rest.size()));
    }
    found = attention_plan_of(problem, names, &why);
  }
  if (!found) throw InputError(why);
  return *found;
}

}  // namespace

AttentionWork attention_of(const mmaudit_attention& work) {
  AttentionProblem problem = problem_of(work);
  const FormatSpec type = spec_of(problem.type);
  const AttentionRecipe* const recipe = recipe_for(work);
  if (recipe != nullptr) {
    constexpr std::array kNumbers{Format::f16, Format::bf16, Format::f32};
    if (std::find(kNumbers.begin(), kNumbers.end(), type.id) == kNumbers.end())
      refuse("type: found {}, allowed: {} with {}", name_of(type.id), names_of(kNumbers), recipe->name);
    problem.type = recipe->type;
  }
  const AttentionPlan plan = plan_for(work, problem);
  if (recipe == nullptr && plan.score == ScoreRule::dequantized)
    refuse("score: found dequantized, allowed: with a recipe, which makes the scales of rows");
  const Architecture& architecture = architecture_for(work);
  if (const std::string why = why_no_attention(problem, plan, architecture); !why.empty())
    throw InputError(why);
  return {problem, plan, &architecture, recipe, type};
}

AttentionOperands take_attention(const mmaudit_attention& work, const AttentionWork& x) {
  const AttentionProblem& problem = x.problem;
  const AttentionRecipe* const recipe = x.recipe;
  const FormatSpec &type = x.type, f32 = spec_of(Format::f32);
  const Axis batch{"batch", problem.batch}, heads{"heads", problem.heads}, kv{"kv_heads", problem.kv_heads},
      queries{"queries", problem.queries}, keys{"keys", problem.keys}, depth{"depth", problem.depth};
  require("q", work.q, {batch, heads, queries, depth}, type);
  require("k", work.k, {batch, kv, keys, depth}, type);
  require("v", work.v, {batch, kv, keys, depth}, type);
  for (const auto& [name, found, whole] : {std::tuple{"bias_batch", work.bias_batch, problem.batch},
                                           {"bias_heads", work.bias_heads, problem.heads}})
    if (problem.bias && found != 1 && found != whole)
      refuse("{}: found {}, allowed: 1, {}", name, found, whole);
  require_if_given("bias", work.bias,
                   {{"bias_batch", work.bias_batch}, {"bias_heads", work.bias_heads}, queries, keys}, type);
  for (const auto& [name, factors] : {std::pair{"descale_q", work.descale_q},
                                      {"descale_k", work.descale_k},
                                      {"descale_v", work.descale_v}}) {
    if (recipe != nullptr && given(factors))
      refuse("{}: found it with {}, allowed: none, since the recipe makes them", name, recipe->name);
    require_if_given(name, factors, {batch, kv}, f32);
  }
  require_if_given("sinks", work.sinks, {heads}, f32);
  require("o", work.o, {batch, heads, queries, depth}, spec_of(x.plan.output));
  for (const auto& [name, rows] : {std::pair{"lse", work.lse}, {"maxima", work.maxima}, {"sums", work.sums}})
    require_if_given(name, rows, {batch, heads, queries}, f32);
  for (const auto& [name, rows] : {std::pair{"scores", work.scores},
                                   {"weights", work.weights},
                                   {"bases", work.bases},
                                   {"later", work.later}})
    require_if_given(name, rows, {batch, heads, queries, keys}, f32);
  for (const auto& [name, array] :
       {std::pair{"q", work.q}, {"k", work.k}, {"v", work.v}, {"bias", work.bias}})
    require_apart(name, work.o, array);
  const auto in = [](mmaudit_in array) { return static_cast<const float*>(array.data); };
  return {work.q.data,     work.k.data,        work.v.data,        work.bias.data,     work.bias_batch,
          work.bias_heads, in(work.descale_q), in(work.descale_k), in(work.descale_v), in(work.sinks)};
}

namespace {

void run_attention(const mmaudit_attention& work, char** plan_text) {
  const AttentionWork x = attention_of(work);
  const AttentionProblem& problem = x.problem;
  if (plan_text != nullptr) give_text(plan_text, [&] { return text_of(x.plan); });
  if (!given(work.o)) return;
  AttentionOperands operands = take_attention(work, x);
  const auto out = [](mmaudit_out array) { return static_cast<float*>(array.data); };
  AttentionElements elements;
  if (x.recipe != nullptr) {
    const FormatSpec& type = x.type;
    const FastDecode decode(type);
    const auto numbers = [&](mmaudit_in array) {
      std::vector<double> all(array.bytes / type.storage_bytes());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = decode.at(array.data, i);
      return all;
    };
    elements = attention_elements(*x.recipe, problem, numbers(work.q), numbers(work.k), numbers(work.v),
                                  problem.bias ? numbers(work.bias) : std::vector<double>());
    operands = elements.operands();
    operands.bias_batch = work.bias_batch, operands.bias_heads = work.bias_heads;
    operands.sinks = static_cast<const float*>(work.sinks.data);
  }
  attention(problem, x.plan, operands,
            {work.o.data, out(work.lse), out(work.scores), out(work.weights), out(work.bases),
             out(work.later), out(work.maxima), out(work.sums)},
            work.threads, *x.architecture);
}

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_attention_predict(const mmaudit_attention* work, char** plan_text) {
  return mmaudit::capi::guarded([&] { mmaudit::capi::run_attention(mmaudit::capi::taken(work), plan_text); });
}
