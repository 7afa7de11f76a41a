// Recipes of attention: how numbers become a kernel's operands.
#include <cmath>

#include "mmaudit/attention.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit {
namespace {

constexpr AttentionRecipe kRecipes[] = {
    {"f16", "torch-flash", Format::f16, false, false, Format::f32, -1, -1, false, "torch", "recorded"},
    {"bf16", "torch-flash", Format::bf16, false, false, Format::f32, -1, -1, false, "torch", "recorded"},
    {"bf16-efficient", "torch-efficient", Format::bf16, false, false, Format::f32, -1, -1, false, "torch",
     "recorded"},
    {"kv-e4m3", "torch-flash", Format::bf16, false, true, Format::e4m3, -1, -1, false,
     "a cache of K and V in E4M3, read back as bf16 (flashinfer)", "literature"},
    {"kv-e4m3-tensor", "torch-flash", Format::bf16, false, false, Format::e4m3, -1, -1, false,
     "a cache of K and V in E4M3 with a scale each (vLLM's k_scale, v_scale), read back as bf16",
     "literature"},
    {"fa3-tensor", "fa3", Format::e4m3, true, false, Format::f32, -1, -1, false,
     "flash-attention hopper/, one descale", "literature"},
    {"fa3-head", "fa3", Format::e4m3, true, true, Format::f32, -1, -1, false,
     "flash-attention hopper/, descales per batch and key head", "literature"},
    {"fa3-head-two-level", "fa3", Format::e4m3, true, true, Format::f32, -1, -1, true,
     "vllm-project/flash-attention PR #104", "literature"},
    {"fa4-e4m3", "fa4", Format::e4m3, true, true, Format::f32, 8, 4, false,
     "flash-attention before PR #2717 (issue #2716)", "literature"},
    {"fa4-e4m3-mended", "fa4", Format::e4m3, true, true, Format::f32, 4, 4, false,
     "flash-attention PR #2717: offset + threshold <= log2(448)", "literature"},
    {"fa4-e5m2", "fa4", Format::e5m2, true, true, Format::f32, 8, 4, false,
     "flash-attention before PR #2717 (issue #2716)", "literature"},
};

/// The scale that makes a format's largest number of the largest magnitude of x; 1 where that is 0. As
/// torch's amax() has it, one infinity or NaN makes an infinity or NaN of it.
float scale_of(std::span<const double> x, Format type) {
  double most = 0;
  for (const double each : x)
    if (!(std::abs(each) <= most) && most == most) most = std::abs(each);
  const FormatSpec spec = spec_of(type);
  return most == 0 ? 1.0F : static_cast<float>(most / decode_value(spec.max_finite_bits(), spec));
}

/// Parts of an operand that have a scale each, in a format.
class Parts {
 public:
  Parts(std::span<const double> x, std::size_t parts, bool per_part, bool scaled, Format type)
      : x_(x), size_(x.size() / parts), type_(type) {
    scales.assign(parts, scaled && !per_part ? scale_of(x, type) : 1.0F);
    for (std::size_t i = 0; scaled && per_part && i < parts; ++i)
      scales[i] = scale_of(x.subspan(i * size_, size_), type);
    saturates_ = scaled;
  }
  [[nodiscard]] std::vector<std::byte> elements() const {
    const FormatSpec spec = spec_of(type_);
    std::vector<std::byte> out(x_.size() * spec.storage_bytes());
    each([&](std::size_t i, std::uint64_t bits) { store_word(out.data(), spec.storage_bytes(), i, bits); });
    return out;
  }
  /// The numbers that the elements stand for.
  [[nodiscard]] std::vector<double> numbers() const {
    const FastDecode decode(spec_of(type_));
    std::vector<double> out(x_.size());
    each([&](std::size_t i, std::uint64_t bits) { out[i] = decode(bits) * scales[i / size_]; });
    return out;
  }
  std::vector<float> scales;

 private:
  template <typename Take>
  void each(Take&& take) const {
    const FastCast cast(spec_of(type_), {CastRounding::nearest_even, saturates_});
    for (std::size_t i = 0; i < x_.size(); ++i)
      take(i, cast(static_cast<double>(static_cast<float>(x_[i]) / scales[i / size_])));
  }
  std::span<const double> x_;
  std::size_t size_;
  Format type_;
  bool saturates_;
};

}  // namespace

std::span<const AttentionRecipe> attention_recipes() { return kRecipes; }
const AttentionRecipe* find_attention_recipe(std::string_view name) { return find_named(kRecipes, name); }

std::optional<AttentionPlan> attention_plan_of(const AttentionRecipe& recipe, AttentionProblem problem,
                                               std::string* why) {
  problem.type = recipe.type;
  auto plan = attention_plan_of(recipe.family, problem, why);
  if (!plan) return plan;
  if (recipe.offset >= 0) plan->offset = static_cast<std::uint64_t>(recipe.offset);
  if (recipe.threshold >= 0) plan->threshold = static_cast<std::uint64_t>(recipe.threshold);
  if (recipe.two_level) plan->output_sum = OutputSum::two_level;
  return plan;
}

AttentionElements attention_elements(const AttentionRecipe& recipe, const AttentionProblem& problem,
                                     std::span<const double> q, std::span<const double> k,
                                     std::span<const double> v, std::span<const double> bias) {
  // Q's scale is that of all heads which share a head of K.
  const std::size_t parts = problem.batch * problem.kv_heads;
  AttentionElements out;
  const auto take = [&](std::span<const double> x, std::vector<std::byte>& elements,
                        std::vector<float>& scales) {
    const Parts made(x, parts, recipe.per_head, recipe.scaled, recipe.type);
    elements = made.elements(), scales = made.scales;
  };
  const auto cached = [&](std::span<const double> x) {
    return Parts(x, parts, recipe.per_head, true, recipe.cache).numbers();
  };
  const bool caches = recipe.cache != Format::f32;
  take(q, out.q, out.scale_q);
  take(caches ? cached(k) : std::vector<double>(k.begin(), k.end()), out.k, out.scale_k);
  take(caches ? cached(v) : std::vector<double>(v.begin(), v.end()), out.v, out.scale_v);
  if (!bias.empty()) out.bias = Parts(bias, 1, false, false, recipe.type).elements();
  return out;
}

}  // namespace mmaudit
