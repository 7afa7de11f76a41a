// The order in which layers stand in a network, by their names.
#include <algorithm>
#include <charconv>
#include <optional>

#include "find_layers.hpp"

namespace mmaudit::corpus {
namespace {

/// Parts of names that say where in a network they stand, by what transformers' modules call them.
constexpr std::pair<std::string_view, int> kPlaces[] = {
    {"embed", 0},      {"wte", 0},      {"wpe", 1},    {"encoder", 10},   {"decoder", 11},  {"attn", 20},
    {"attention", 20}, {"q_proj", 21},  {"query", 21}, {"q_a_proj", 21},  {"k_proj", 22},   {"kv_a", 22},
    {"key", 22},       {"v_proj", 23},  {"value", 23}, {"o_proj", 24},    {"out_proj", 24}, {"router", 30},
    {"gate_proj", 41}, {"gate_up", 41}, {"w1", 41},    {"up_proj", 42},   {"w3", 42},       {"down_proj", 43},
    {"w2", 43},        {"lm_head", 99}, {"score", 99}, {"classifier", 99}};

int place_of(std::string_view part) {
  constexpr int kUsual = 40;
  for (const auto& [name, place] : kPlaces)
    if (part.find(name) != std::string_view::npos) return place;
  return part == "gate" ? 30 : kUsual;
}

std::string_view part_at(std::string_view name, std::size_t at) {
  return name.substr(at, std::min(name.find('.', at), name.size()) - at);
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

// Names of transformers 5.24.0 (modeling_*.py) and of gguf 0.19.0 (gguf/constants.py, TENSOR_NAMES).
bool is_product(std::string_view name) {
  const std::string_view last =
      name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  return last != "wte" && last != "wpe" && last != "shared" &&
         !has_any(last, {"embed", "embd", "token_type", "attention_bias", "attn_rel_b", "conv1d", "pos_emb"});
}

bool are_experts(std::string_view name) {
  return name.find("scale") == std::string_view::npos &&
         has_any(name, {"expert", "_exps", "moe.", "input_linear", "output_linear"});
}

bool goes_before(std::string_view x, std::string_view y) {
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const std::string_view a = part_at(x, i), b = part_at(y, j);
    if (a != b) {
      const auto number = [](std::string_view text) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
      };
      if (const int c = place_of(a), d = place_of(b); c != d) return c < d;
      const auto p = number(a), q = number(b);
      if (p.has_value() != q.has_value()) return p.has_value();  // else 10a < 9 < 10 < 10a
      if (p && *p != *q) return *p < *q;
      return a < b;
    }
    i += a.size() + 1, j += b.size() + 1;
  }
  return x.size() < y.size();
}

}  // namespace mmaudit::corpus
