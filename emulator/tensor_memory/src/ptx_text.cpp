#include "ptx_text.hpp"

#include <algorithm>
#include <charconv>

#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::tmem {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string found(std::string_view what, std::string_view text, std::string_view allowed) {
  return std::string(what)
      .append(": found \"")
      .append(printable(text))
      .append("\", allowed ")
      .append(allowed);
}

std::optional<std::int64_t> number_of(std::string_view text) {
  bool negative = false;
  if (!text.empty() && text.front() == '-') {
    negative = true;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0' &&
      (text[1] == 'x' || text[1] == 'X' || text[1] == 'f' || text[1] == 'F')) {
    base = 16;  // 0f3F800000 is a binary32 by its bits
    text.remove_prefix(2);
  }
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

bool read_launch(std::string_view text, PtxProgram& program, std::string& reason) {
  const std::vector<std::string> words = words_of(text);
  const bool parameter = !words.empty() && words[0] == "param", block = !words.empty() && words[0] == "block";
  if (!parameter && !block) return false;
  const auto value = words.size() == (parameter ? 3U : 2U) ? number_of(words.back()) : std::nullopt;
  if (!value || (block && (*value < 0 || *value >= std::int64_t{1} << 31)))
    reason = found("//!", text, "param NAME VALUE, block NUMBER below 2^31");
  else if (parameter)
    program.parameters[words[1]] = static_cast<std::uint64_t>(*value);
  else
    program.block = static_cast<std::uint32_t>(*value);
  return true;
}

std::string read_fill(std::string_view text, Fill& fill) {
  constexpr std::string_view kForm =
      "shared (a|b|scales|words) PLACE FORMAT ROWSxCOLUMNS [mn] [cta 1] = (file F|random "
      "SEED|iota|zero|values "
      "LIST), or global PLACE FORMAT ROWSxCOLUMNS [= SOURCE], param NAME VALUE, block NUMBER";
  const auto equals = text.find('=');
  const std::vector<std::string> words = words_of(text.substr(0, equals));
  const bool global = !words.empty() && words[0] == "global";
  std::size_t at = 1;
  if (!global) {
    if (words.size() < 2 || words[0] != "shared" || equals == std::string_view::npos)
      return found("//!", text, kForm);
    constexpr std::string_view kRoles[] = {"a", "b", "scales", "words"};
    const auto* const role = std::find(std::begin(kRoles), std::end(kRoles), words[1]);
    if (role == std::end(kRoles)) return found("//! shared", words[1], "a, b, scales or words");
    fill.role = static_cast<Fill::Role>(role - std::begin(kRoles));
    at = 2;
  } else {
    fill.role = equals == std::string_view::npos ? Fill::Role::output : Fill::Role::input;
  }
  if (words.size() < at + 3) return found("//!", text, kForm);
  const auto place = number_of(words[at]);
  if (!place) return found("//! place", words[at], "a number");
  fill.place = static_cast<std::uint64_t>(*place);
  const bool descriptor = fill.role == Fill::Role::a || fill.role == Fill::Role::b;
  if (!descriptor && !global && fill.place >> 32 != 0)
    return found("//! place", words[at], "an address below 2^32");
  std::string format = words[at + 1];
  if (format == "e2m1x2") {
    fill.dense4 = true;
    format = "e2m1";
  }
  const auto known = read_format(format);
  if (!known) return found("//! format", words[at + 1], "a format, or e2m1x2: two to a byte");
  fill.format = *known;
  const std::string& size = words[at + 2];
  const auto cross = size.find('x');
  const auto rows = number_of(std::string_view(size).substr(0, cross));
  const auto columns =
      cross == std::string::npos ? std::nullopt : number_of(std::string_view(size).substr(cross + 1));
  if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > 65536 || *columns > 65536 ||
      static_cast<std::size_t>(*rows * *columns) > kMostElements)
    return found("//! size", size, "ROWSxCOLUMNS, at most 2^20 elements");
  fill.rows = static_cast<int>(*rows);
  fill.columns = static_cast<int>(*columns);
  if (fill.role == Fill::Role::scales && fill.columns > 4)
    return found("//! size", size, "at most 4 scales per row");
  for (std::size_t i = at + 3; i < words.size(); ++i) {
    if (words[i] == "mn")
      fill.transposed = true;
    else if (words[i] == "cta" && i + 1 < words.size() && (words[i + 1] == "0" || words[i + 1] == "1"))
      fill.cta = words[++i] == "1" ? 1 : 0;
    else
      return found("//!", words[i], "mn or cta 0 or cta 1");
  }
  if (fill.role == Fill::Role::output) return {};
  const std::string_view source = trimmed(text.substr(equals + 1));
  const std::size_t end = std::min(source.find(' '), source.size());
  fill.source = source.substr(0, end);
  fill.argument = trimmed(source.substr(end));
  constexpr std::string_view kSources[] = {"file", "random", "iota", "zero", "values"};
  if (std::find(std::begin(kSources), std::end(kSources), fill.source) == std::end(kSources))
    return found("//! source", fill.source, "file F, random SEED, iota, zero or values LIST");
  const bool made = fill.source == "iota" || fill.source == "zero";
  if (made != fill.argument.empty())
    return found("//! source", source,
                 made ? "nothing after " + fill.source : "something after " + fill.source);
  return {};
}

}  // namespace mmaudit::tmem
