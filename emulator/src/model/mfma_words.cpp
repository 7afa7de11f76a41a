#include <algorithm>
#include <charconv>
#include <utility>

#include "text/name_words.hpp"

namespace mmaudit {
namespace {

/// AMD's names of the formats of A and B, and ours.
constexpr std::pair<std::string_view, std::string_view> kAmdFormats[] = {
    {"f32", "f32"},   {"f16", "f16"},      {"bf16", "bf16"},   {"f64", "f64"},
    {"xf32", "tf32"}, {"fp8", "e4m3fnuz"}, {"bf8", "e5m2fnuz"}};

}  // namespace

std::optional<Words> mfma_words(std::string_view text) {
  const std::size_t at = text.find("mfma_");
  if (at == std::string_view::npos) return std::nullopt;
  Words words;
  words.rest.insert("mfma");
  std::vector<std::string> parts(1);
  for (const char c : text.substr(at + 5))
    if (c == '_')
      parts.emplace_back();
    else
      parts.back() += c;
  words.formats.push_back(parts.front());
  int sizes[3] = {}, read = 0;
  const auto take_format = [&](std::string_view name, bool apart) {
    if (name == "1k") words.rest.insert("1k");
    if (apart && name == "bf16") words.rest.insert("1k");
    for (const auto& [theirs, ours] : kAmdFormats)
      if (name == theirs) words.formats.emplace_back(ours);
    return name == "1k" || std::any_of(std::begin(kAmdFormats), std::end(kAmdFormats),
                                       [&](const auto& row) { return row.first == name; });
  };
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const char* text_at = parts[i].data();
    const char* const end = text_at + parts[i].size();
    if (i == 1) {
      for (; read < 3; ++read) {
        const auto [after, error] = std::from_chars(text_at, end, sizes[read]);
        if (error != std::errc() || (read < 2 && (after == end || *after != 'x'))) return std::nullopt;
        text_at = after + (read < 2 ? 1 : 0);
      }
      if (text_at != end && !take_format({text_at, static_cast<std::size_t>(end - text_at)}, false))
        return std::nullopt;
    } else if (parts[i] == std::to_string(64 / std::max(sizes[0], 1)) + "b") {
      continue;  // the number of blocks
    } else if (!take_format(parts[i], true)) {
      return std::nullopt;
    }
  }
  if (words.formats.size() == 2) words.formats.push_back(words.formats.back());
  if (words.formats.size() != 3) return std::nullopt;
  words.formats.push_back(words.formats.front());
  words.shape =
      "m" + std::to_string(sizes[0]) + "n" + std::to_string(sizes[1]) + "k" + std::to_string(sizes[2]);
  return words;
}

}  // namespace mmaudit
