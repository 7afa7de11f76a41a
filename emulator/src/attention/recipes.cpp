// Recipes of attention: how numbers become a kernel's operands.
#include <algorithm>
#include <array>
#include <cmath>

#include "attention/p_blocks.hpp"
#include "mmaudit/attention.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit {
namespace {

using Style = AttentionRecipe::Style;

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
    {"sage2", "sageattention", Format::s8, true, true, Format::f32, -1, -1, true,
     "SageAttention2 (arXiv 2411.10958; core.py, sm90, per_thread, smooth_k)", "literature", Style::threads},
    {"sage2-warp", "sageattention", Format::s8, true, true, Format::f32, -1, -1, true,
     "SageAttention2 (arXiv 2411.10958; core.py, sm90, per_warp, smooth_k)", "literature", Style::warps},
    {"nvfp4", "modelopt", Format::f32, false, false, Format::f32, -1, -1, false,
     "Model-Optimizer PR #1635: Q, K, P, V in NVFP4, blocks of 16 along the summed axis", "literature",
     Style::nvfp4},
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

using Floats = std::vector<float>;

Floats in_bf16(std::span<const double> x) {
  const FormatSpec bf16 = spec_of(Format::bf16);
  const FastCast cast(bf16, {CastRounding::nearest_even, false});
  const FastDecode decode(bf16);
  Floats out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    out[i] = static_cast<float>(decode(cast(static_cast<double>(static_cast<float>(x[i])))));
  return out;
}
std::vector<std::byte> bytes_of(const Floats& x) {
  const auto bytes = std::as_bytes(std::span(x));
  return {bytes.begin(), bytes.end()};
}
/// The largest magnitude of `count` numbers from `first` on.
float most_of(const float* first, std::size_t count, std::size_t stride) {
  float most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, std::abs(first[i * stride]));
  return most;
}

/// INT8 of rows that share a scale: in every `block` of rows those with an equal row % 8 / `lanes`; `lanes`
/// 0: all. Of threads quant_per_thread.py (halves away from zero), of warps QuantInt8Kernel of fused.cu.
std::vector<std::byte> whole_numbers(const Floats& x, std::size_t rows, std::size_t depth, std::size_t block,
                                     std::size_t lanes, Floats& scales) {
  constexpr float kMost = 127, kLeast = 1e-7F;
  std::vector<std::byte> out(x.size());
  scales.assign(x.size() / depth, 0);
  for (std::size_t row = 0; row < scales.size(); ++row) {  // its group's largest magnitude
    const std::size_t of_head = row % rows, head = row - of_head, from = of_head / block * block;
    float most = 0;
    for (std::size_t other = from; other < std::min(rows, from + block); ++other)
      if (lanes == 0 || other % 8 / lanes == of_head % 8 / lanes)
        most = std::max(most, most_of(&x[(head + other) * depth], depth, 1));
    if (lanes == 0) most = std::max(most, kLeast);
    scales[row] = lanes == 0 ? most / kMost : most / kMost + kLeast;
    for (std::size_t i = row * depth; i < (row + 1) * depth; ++i) {
      const float y = lanes == 0 ? x[i] * (kMost / most) : x[i] / scales[row];
      const float whole = lanes == 0 ? std::clamp(std::nearbyint(y), -kMost - 1, kMost)
                                     : std::trunc(y + (y >= 0 ? 0.5F : -0.5F));
      out[i] = static_cast<std::byte>(whole == whole ? static_cast<std::int8_t>(whole) : 0);
    }
  }
  return out;
}

/// K less its mean over the keys, which is rounded to bf16; of threads the difference is, too.
Floats smoothed(Floats k, std::size_t keys, std::size_t depth, bool round) {
  for (std::size_t head = 0; head < k.size(); head += keys * depth)
    for (std::size_t i = head; i < head + depth; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) sum += static_cast<double>(k[i + j * depth]);
      const float mean = in_bf16(std::array{sum / static_cast<double>(keys)})[0];
      for (std::size_t j = 0; j < keys; ++j) k[i + j * depth] -= mean;
    }
  return round ? in_bf16(std::vector<double>(k.begin(), k.end())) : k;
}

/// V in E4M3 with a scale per column: MeanScaleKernel of fused.cu. A column of zeros is NaN, as there.
std::vector<std::byte> in_columns(const Floats& v, std::size_t keys, std::size_t depth, Floats& scales) {
  constexpr float kMost = 448;
  const FastCast cast(spec_of(Format::e4m3), {CastRounding::nearest_even, true});
  std::vector<std::byte> out(v.size());
  for (std::size_t head = 0; head < v.size(); head += keys * depth)
    for (std::size_t i = head; i < head + depth; ++i) {
      const float most = most_of(&v[i], keys, depth);
      scales.push_back(most / kMost);
      for (std::size_t j = i; j < i + keys * depth; j += depth)
        out[j] = static_cast<std::byte>(cast(static_cast<double>(v[j] * (kMost / most))));
    }
  return out;
}

/// NVFP4's numbers in blocks of 16: of Q and K along a row, of V along the keys.
Floats in_nvfp4(Floats x, std::size_t rows, std::size_t depth, bool along_rows) {
  constexpr std::size_t kBlock = 16;
  const float amax = most_of(x.data(), x.size(), 1);
  const std::size_t length = along_rows ? depth : rows, stride = along_rows ? 1 : depth;
  for (std::size_t line = 0; line < x.size() / length; ++line) {
    const std::size_t start = along_rows ? line * depth : line / depth * rows * depth + line % depth;
    for (std::size_t i = 0; i < length; i += kBlock)
      attention_rows::scale_in_blocks(&x[start + i * stride], std::min(kBlock, length - i), stride, amax);
  }
  return x;
}

AttentionElements elements_in_style(const AttentionRecipe& recipe, const AttentionProblem& problem,
                                    const Floats& q, const Floats& k, const Floats& v) {
  const std::size_t depth = problem.depth, keys = problem.keys;
  AttentionElements out;
  if (recipe.style == Style::nvfp4) {
    const auto carried = [](const Floats& x) { return in_bf16(std::vector<double>(x.begin(), x.end())); };
    out.q = bytes_of(in_nvfp4(q, problem.queries, depth, true));
    out.k = bytes_of(carried(in_nvfp4(k, keys, depth, true)));
    out.v = bytes_of(carried(in_nvfp4(v, keys, depth, false)));
    return out;
  }
  const bool threads = recipe.style == Style::threads;
  constexpr std::size_t kRowsOfWarp = 16, kKeysOfBlock = 128;
  out.q = whole_numbers(q, problem.queries, depth, kRowsOfWarp, threads ? 1 : 0, out.row_q);
  out.k =
      whole_numbers(smoothed(k, keys, depth, threads), keys, depth, kKeysOfBlock, threads ? 2 : 0, out.key_k);
  out.v = in_columns(v, keys, depth, out.column_v);
  return out;
}

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
  if (recipe.style != Style::scales)
    return elements_in_style(recipe, problem, in_bf16(q), in_bf16(k), in_bf16(v));
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
