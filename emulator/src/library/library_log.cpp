#include "mmaudit/library_log.hpp"

#include <algorithm>
#include <charconv>

namespace mmaudit {
namespace log {

std::optional<std::string_view> value_in(std::string_view text, std::string_view name) {
  const std::string key = std::string(name) + "=";
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != ' ' && text[at - 1] != '[') continue;
    const std::string_view rest = text.substr(at + key.size());
    if (rest.starts_with('['))
      return rest.substr(1, rest.find(']') == std::string_view::npos ? 0 : rest.find(']') - 1);
    return rest.substr(0, rest.find_first_of(" ]"));
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(std::string_view text, std::string_view name) {
  const auto word = value_in(text, name);
  std::int64_t value = 0;
  if (!word || std::from_chars(word->data(), word->data() + word->size(), value).ec != std::errc{})
    return std::nullopt;
  return value;
}

}  // namespace log

std::vector<std::pair<std::string, std::int64_t>> algorithm_of_log(std::string_view line) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  const auto algo = log::value_in(line, "algo");
  if (!algo) return out;
  constexpr std::pair<const char*, const char*> kNumbers[] = {
      {"id", "algoId"}, {"split_k", "numSplitsK"}, {"custom", "customOption"}, {"swizzle", "ctaSwizzle"}};
  for (const auto& [ours, theirs] : kNumbers)
    if (const auto value = log::number_in(*algo, theirs)) out.emplace_back(ours, *value);
  constexpr std::pair<std::string_view, std::int64_t> kSchemes[] = {{"REDUCTION_SCHEME_INPLACE", 1},
                                                                    {"REDUCTION_SCHEME_COMPUTE_TYPE", 2},
                                                                    {"REDUCTION_SCHEME_OUTPUT_TYPE", 4}};
  for (const auto& [name, value] : kSchemes)
    if (log::value_in(*algo, "reductionScheme") == name) out.emplace_back("reduction", value);
  if (std::none_of(out.begin(), out.end(), [](const auto& each) { return each.first == "custom"; }) &&
      !out.empty())
    out.emplace_back("custom", 0);
  return out;
}

}  // namespace mmaudit
