#include "mmaudit/corpus/network_layers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::corpus {
namespace {

/// Layers of some model_types. Sizes are sums of products of numbers and of sizes of the config.
/// Source: modeling_*.py of transformers 5.24.0; fused ones: vLLM's QKVParallelLinear and
/// MergedColumnParallelLinear.
struct Row {
  std::string_view types, name, n, k;
  std::string_view bias = "no";  ///< "yes", "no" or a truth value of the config that is false without it
  bool fused = false, transposed = true;
};
constexpr std::string_view kGated = "llama mistral qwen2 qwen3 gemma2 gemma3_text deepseek_v3",
                           kSplitQkv = "llama mistral mixtral qwen3 qwen3_moe gemma2 gemma3_text gpt_oss",
                           kCausal =
                               "llama mistral mixtral qwen2 qwen3 qwen3_moe gemma2 gemma3_text phi3 "
                               "gpt2 deepseek_v3 gpt_oss";
constexpr Row kRows[] = {
    {kSplitQkv, "q_proj", "heads*head_dim", "hidden", "attention_bias"},
    {kSplitQkv, "k_proj", "kv_heads*head_dim", "hidden", "attention_bias"},
    {kSplitQkv, "qkv_proj", "heads*head_dim+2*kv_heads*head_dim", "hidden", "attention_bias", true},
    {kSplitQkv, "o_proj", "hidden", "heads*head_dim", "attention_bias"},
    {"qwen2", "q_proj", "heads*head_dim", "hidden", "yes"},
    {"qwen2", "k_proj", "kv_heads*head_dim", "hidden", "yes"},
    {"qwen2", "qkv_proj", "heads*head_dim+2*kv_heads*head_dim", "hidden", "yes", true},
    {"qwen2 phi3", "o_proj", "hidden", "heads*head_dim"},
    {"phi3", "qkv_proj", "heads*head_dim+2*kv_heads*head_dim", "hidden"},
    {"phi3", "gate_up_proj", "2*inner", "hidden"},
    {kGated, "gate_proj", "inner", "hidden", "mlp_bias"},
    {kGated, "gate_up_proj", "2*inner", "hidden", "mlp_bias", true},
    {kGated, "down_proj", "hidden", "inner", "mlp_bias"},
    {"phi3", "down_proj", "hidden", "inner"},
    {"mixtral qwen3_moe", "router", "experts", "hidden"},
    {"gpt_oss", "router", "experts", "hidden", "yes"},
    {"mixtral", "experts.w1", "inner", "hidden"},
    {"mixtral", "experts.w13", "2*inner", "hidden", "no", true},
    {"mixtral", "experts.w2", "hidden", "inner"},
    {"gpt_oss", "experts.gate_up_proj", "2*inner", "hidden", "yes", false, false},
    {"gpt_oss", "experts.down_proj", "hidden", "inner", "yes", false, false},
    {"qwen3_moe deepseek_v3", "experts.gate_proj", "moe_intermediate_size", "hidden"},
    {"qwen3_moe deepseek_v3", "experts.gate_up_proj", "2*moe_intermediate_size", "hidden", "no", true},
    {"qwen3_moe deepseek_v3", "experts.down_proj", "hidden", "moe_intermediate_size"},
    {"deepseek_v3", "q_a_proj", "q_lora_rank", "hidden"},
    {"deepseek_v3", "q_b_proj", "heads*qk_nope_head_dim+heads*qk_rope_head_dim", "q_lora_rank"},
    {"deepseek_v3", "kv_a_proj_with_mqa", "kv_lora_rank+qk_rope_head_dim", "hidden"},
    {"deepseek_v3", "fused_qkv_a_proj", "q_lora_rank+kv_lora_rank+qk_rope_head_dim", "hidden", "no", true},
    {"deepseek_v3", "kv_b_proj", "heads*qk_nope_head_dim+heads*v_head_dim", "kv_lora_rank"},
    {"deepseek_v3", "o_proj", "hidden", "heads*v_head_dim"},
    {"phi", "q_proj", "hidden", "hidden", "yes"},
    {"phi", "qkv_proj", "3*hidden", "hidden", "yes", true},
    {"phi", "dense", "hidden", "hidden", "yes"},
    {"phi", "fc1", "inner", "hidden", "yes"},
    {"phi", "fc2", "hidden", "inner", "yes"},
    {"phi", "lm_head", "vocab", "hidden", "yes"},
    {"gpt2", "attn.c_attn", "3*hidden", "hidden", "yes", false, false},
    {"gpt2", "attn.c_proj", "hidden", "hidden", "yes", false, false},
    {"gpt2", "mlp.c_fc", "inner", "hidden", "yes", false, false},
    {"gpt2", "mlp.c_proj", "hidden", "inner", "yes", false, false},
    {"bert", "query", "hidden", "hidden", "yes"},
    {"vit", "query", "hidden", "hidden", "qkv_bias"},
    {"bert", "qkv", "3*hidden", "hidden", "yes", true},
    {"vit", "qkv", "3*hidden", "hidden", "qkv_bias", true},
    {"bert vit", "attention.output", "hidden", "hidden", "yes"},
    {"bert vit", "intermediate", "inner", "hidden", "yes"},
    {"bert vit", "output", "hidden", "inner", "yes"},
    {kCausal, "lm_head", "vocab", "hidden"},
};

/// Sizes under the names that the rows use, each by the first of the config's names that is there.
constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
    {"hidden", "hidden_size n_embd"},
    {"heads", "num_attention_heads n_head"},
    {"kv_heads", "num_key_value_heads num_attention_heads n_head"},
    {"inner", "intermediate_size n_inner"},
    {"vocab", "vocab_size"},
    {"experts", "num_local_experts num_experts n_routed_experts"}};

std::vector<std::string_view> words_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? 0 : end + 1);
  }
  return out;
}

bool has_word(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = words_of(words, ' ');
  return std::find(all.begin(), all.end(), word) != all.end();
}

class Config {
 public:
  Config(const Json& config, const std::string& where) : config_(config), where_(where) {}

  [[nodiscard]] std::uint64_t value_of(std::string_view sum) const {
    std::uint64_t total = 0;
    for (const std::string_view product : words_of(sum, '+')) {
      std::uint64_t term = 1;
      for (const std::string_view factor : words_of(product, '*'))
        if (const std::uint64_t by = size(factor); by == 0 || __builtin_mul_overflow(term, by, &term))
          refuse("{}: {}: found {}, allowed: a size that fits 64 bits", where_, std::string(factor), by);
      if (term > kMost || (total += term) > kMost)
        refuse("{}: {}: found more, allowed: up to {}", where_, std::string(sum), kMost);
    }
    return total;
  }
  [[nodiscard]] bool truth_of(std::string_view word) const {
    if (word == "yes" || word == "no") return word == "yes";
    const Json* const found = config_.find(word);
    if (found == nullptr || found->is_null()) return false;
    if (!found->is_boolean())
      refuse("{}: {}: found {}, allowed: true, false", where_, std::string(word), found->dump());
    return found->get<bool>();
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> given(std::string_view field) const {
    const Json* const found = config_.find(field);
    if (found == nullptr || found->is_null()) return std::nullopt;
    return JsonNode(*found, where_ + ": " + std::string(field)).count(kMost);
  }
  [[nodiscard]] std::uint64_t size(std::string_view name) const {
    if (const auto number = whole_number<std::uint64_t>(name)) return *number;
    std::string_view fields = name;
    for (const auto& [ours, theirs] : kSizes)
      if (ours == name) fields = theirs;
    for (const std::string_view field : words_of(fields, ' '))
      if (const auto found = given(field)) return *found;
    if (name == "head_dim") return size("hidden") / std::max(size("heads"), std::uint64_t{1});
    if (name == "inner") return 4 * size("hidden");  // GPT-2's n_inner of null
    refuse("{}: {}: found nothing, allowed: a number", where_, std::string(fields));
  }

  static constexpr std::uint64_t kMost = (std::uint64_t{1} << 31) - 1;  // cuBLAS counts in int
  const Json& config_;
  const std::string& where_;
};

}  // namespace

std::vector<std::string> network_types() {
  std::vector<std::string> out;
  for (const Row& row : kRows)
    for (const std::string_view type : words_of(row.types, ' '))
      if (std::find(out.begin(), out.end(), type) == out.end()) out.emplace_back(type);
  return out;
}

std::vector<NetworkLayer> network_layers(const Json& given, const std::string& where) {
  const Json* const text = given.is_object() ? given.find("text_config") : nullptr;
  const Json& config = text == nullptr || !text->is_object() ? given : *text;
  const std::string type = JsonNode(config, where).at("model_type").text();
  const Config sizes(config, where);
  std::vector<NetworkLayer> out;
  for (const Row& row : kRows)
    if (has_word(row.types, type))
      out.push_back({std::string(row.name), sizes.value_of(row.n), sizes.value_of(row.k), row.transposed,
                     sizes.truth_of(row.bias), row.fused});
  if (out.empty())
    refuse("{}: model_type: found {}, allowed: {}", where, type,
           fmt::format("{}", fmt::join(network_types(), ", ")));
  return out;
}

std::vector<KnownNetwork> read_known_networks(std::string_view text, const std::string& file) {
  std::vector<KnownNetwork> out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string where = fmt::format("{}: line {}", file, line);
    const Json json = parse_bounded(text.substr(0, end), where, "a network's config per line");
    text.remove_prefix(std::min(end + 1, text.size()));
    const JsonNode node(json, where);
    out.push_back(
        {node.at("model").text(), node.at("source").text(), network_layers(node.at("config").json(), where)});
  }
  return out;
}

}  // namespace mmaudit::corpus
