#include "ptx_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "mmaudit/names.hpp"

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

namespace {

/// A constant expression of integers by descent: PTX ISA 9.0, 4.6, without ?: and comparisons.
class Constant {
 public:
  explicit Constant(std::string_view text) : rest_(text) {}

  std::optional<std::int64_t> value() {
    const std::uint64_t value = binary(0);
    return wrong_ || !trimmed(rest_).empty() ? std::nullopt : std::optional(static_cast<std::int64_t>(value));
  }

 private:
  /// Operators by precedence, the weakest first.
  static constexpr std::array<std::array<std::string_view, 3>, 6> kLevels = {
      {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}};
  static constexpr int kDeepest = 100;

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool take(std::string_view token) {
    skip_blanks();
    if (token.empty() || !rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::uint64_t binary(std::size_t level) {
    if (level == kLevels.size()) return unary();
    std::uint64_t left = binary(level + 1);
    for (bool more = true; more && !wrong_;) {
      more = false;
      for (const std::string_view token : kLevels[level])
        if (!more && take(token)) {
          more = true;
          left = result(token, left, binary(level + 1));
        }
    }
    return left;
  }

  std::uint64_t result(std::string_view token, std::uint64_t x, std::uint64_t y) {
    const auto sx = static_cast<std::int64_t>(x), sy = static_cast<std::int64_t>(y);
    if (token == "|") return x | y;
    if (token == "^") return x ^ y;
    if (token == "&") return x & y;
    if (token == "+") return x + y;
    if (token == "-") return x - y;
    if (token == "*") return x * y;
    if (token == "<<" || token == ">>") {
      wrong_ = wrong_ || y > 63;
      return wrong_ ? 0 : token == "<<" ? x << y : static_cast<std::uint64_t>(sx >> y);
    }
    wrong_ = wrong_ || y == 0 || (sy == -1 && x == std::uint64_t{1} << 63);
    return wrong_ ? 0 : static_cast<std::uint64_t>(token == "/" ? sx / sy : sx % sy);
  }

  std::uint64_t unary() {
    if (wrong_ || ++depth_ > kDeepest) {
      wrong_ = true;
      return 0;
    }
    if (take("-")) return ~unary() + 1;
    if (take("~")) return ~unary();
    if (!take("(")) return literal();
    const std::uint64_t value = binary(0);
    wrong_ = wrong_ || !take(")");
    return value;
  }

  std::uint64_t literal() {
    skip_blanks();
    int base = 10;
    const char second = rest_.size() > 2 && rest_[0] == '0' ? rest_[1] : ' ';
    if (std::string_view("xXfFbB").find(second) != std::string_view::npos) {
      base = second == 'b' || second == 'B' ? 2 : 16;  // 0f3F800000 is a binary32 by its bits
      rest_.remove_prefix(2);
    } else if (rest_.size() > 1 && rest_[0] == '0' && rest_[1] >= '0' && rest_[1] <= '9') {
      base = 8;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    wrong_ = wrong_ || error != std::errc();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (!rest_.empty() && (rest_[0] == 'U' || rest_[0] == 'u')) rest_.remove_prefix(1);
    return value;
  }

  std::string_view rest_;
  bool wrong_ = false;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> number_of(std::string_view text) { return Constant(text).value(); }

bool read_launch(std::string_view text, PtxProgram& program, std::string& reason) {
  const std::vector<std::string> words = words_of(text);
  const bool parameter = !words.empty() && words[0] == "param", block = !words.empty() && words[0] == "block";
  if (!parameter && !block) return false;
  const auto value = words.size() == (parameter ? 3U : 2U) ? number_of(words.back()) : std::nullopt;
  if (!value || (block && (*value < 0 || *value >= std::int64_t{1} << 31)))
    reason = refusal("//!: found {}, allowed: param NAME VALUE, block NUMBER below 2^31", in_quotes(text));
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
      return refusal("//!: found {}, allowed: {}", in_quotes(text), kForm);
    constexpr std::string_view kRoles[] = {"a", "b", "scales", "words"};
    const auto* const role = std::find(std::begin(kRoles), std::end(kRoles), words[1]);
    if (role == std::end(kRoles))
      return refusal("//! shared: found {}, allowed: {}", in_quotes(words[1]), names_of(kRoles));
    fill.role = static_cast<Fill::Role>(role - std::begin(kRoles));
    at = 2;
  } else {
    fill.role = equals == std::string_view::npos ? Fill::Role::output : Fill::Role::input;
  }
  if (words.size() < at + 3) return refusal("//!: found {}, allowed: {}", in_quotes(text), kForm);
  const auto place = number_of(words[at]);
  if (!place) return refusal("//! place: found {}, allowed: a number", in_quotes(words[at]));
  fill.place = static_cast<std::uint64_t>(*place);
  const bool descriptor = fill.role == Fill::Role::a || fill.role == Fill::Role::b;
  if (!descriptor && !global && fill.place >> 32 != 0)
    return refusal("//! place: found {}, allowed: an address below 2^32", in_quotes(words[at]));
  std::string format = words[at + 1];
  if (format == "e2m1x2") {
    fill.dense4 = true;
    format = "e2m1";
  }
  const auto known = read_format(format);
  if (!known)
    return refusal("//! format: found {}, allowed: a format, or e2m1x2: two to a byte",
                   in_quotes(words[at + 1]));
  fill.format = *known;
  const std::string& size = words[at + 2];
  const auto cross = size.find('x');
  const auto rows = number_of(std::string_view(size).substr(0, cross));
  const auto columns =
      cross == std::string::npos ? std::nullopt : number_of(std::string_view(size).substr(cross + 1));
  if (!rows || !columns || *rows < 1 || *columns < 1 || *rows > 65536 || *columns > 65536 ||
      static_cast<std::size_t>(*rows * *columns) > kMostElements)
    return refusal("//! size: found {}, allowed: ROWSxCOLUMNS, at most 2^20 elements", in_quotes(size));
  fill.rows = static_cast<int>(*rows);
  fill.columns = static_cast<int>(*columns);
  if (fill.role == Fill::Role::scales && fill.columns > 4)
    return refusal("//! size: found {}, allowed: at most 4 scales per row", in_quotes(size));
  for (std::size_t i = at + 3; i < words.size(); ++i) {
    if (words[i] == "mn")
      fill.transposed = true;
    else if (words[i] == "cta" && i + 1 < words.size() && (words[i + 1] == "0" || words[i + 1] == "1"))
      fill.cta = words[++i] == "1" ? 1 : 0;
    else
      return refusal("//!: found {}, allowed: mn or cta 0 or cta 1", in_quotes(words[i]));
  }
  if (fill.role == Fill::Role::output) return {};
  const std::string_view source = trimmed(text.substr(equals + 1));
  const std::size_t end = std::min(source.find(' '), source.size());
  fill.source = source.substr(0, end);
  fill.argument = trimmed(source.substr(end));
  constexpr std::string_view kSources[] = {"file", "random", "iota", "zero", "values"};
  if (std::find(std::begin(kSources), std::end(kSources), fill.source) == std::end(kSources))
    return refusal("//! source: found {}, allowed: file F, random SEED, iota, zero or values LIST",
                   in_quotes(fill.source));
  const bool made = fill.source == "iota" || fill.source == "zero";
  if (made != fill.argument.empty())
    return refusal("//! source: found {}, allowed: {}", in_quotes(source),
                   made ? "nothing after " + fill.source : "something after " + fill.source);
  return {};
}

}  // namespace mmaudit::tmem
