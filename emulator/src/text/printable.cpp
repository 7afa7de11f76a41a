#include "mmaudit/printable.hpp"

#include <algorithm>

namespace mmaudit {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20U || byte == 0x7FU;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

bool is_shown(char c) { return !is_control(c) && static_cast<unsigned char>(c) < 0x80U; }

void append_hex(std::string& line, char32_t value, unsigned digits) {
  while (digits-- > 0) line += "0123456789abcdef"[value >> 4 * digits & 15U];
}

/// Copies what may be shown and calls escape(character, its bytes) for the rest.
template <typename Escape>
std::string with_escapes(std::string_view text, const Escape& escape) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const std::size_t plain =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_shown) - text.begin());
    line += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Utf8Character next = first_of_utf8(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(next.bytes, 1));
    text.remove_prefix(bytes.size());
    if (next.bytes == 0 || is_hidden(next.code))
      escape(line, next, bytes);
    else
      line += bytes;
  }
  return line;
}

}  // namespace

Utf8Character first_of_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF8   ? 4
                            : lead >= 0xE0 && lead < 0xF0 ? 3
                            : lead >= 0xC2 && lead < 0xE0 ? 2
                                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues_utf8(text[i])) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? Utf8Character{} : Utf8Character{code, bytes};
}

bool is_hidden(char32_t code) {
  constexpr struct {
    char32_t first, last;
  } kRanges[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},  {0x200B, 0x200F},
                 {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFFE, 0xFFFF}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code >= range.first && code <= range.last; });
}

std::string printable(std::string_view text, std::size_t limit) {
  std::size_t end = std::min(limit, text.size());
  while (end < text.size() && end > 0 && continues_utf8(text[end])) --end;
  std::string line = with_escapes(text.substr(0, end),
                                  [](std::string& out, const Utf8Character& /*one*/, std::string_view bytes) {
                                    for (const char c : bytes) {
                                      out += "\\x";
                                      append_hex(out, static_cast<unsigned char>(c), 2);
                                    }
                                  });
  if (end < text.size()) line += "...";
  return line;
}

std::string made_visible(std::string_view text) {
  return with_escapes(text, [](std::string& out, const Utf8Character& one, std::string_view bytes) {
    if (bytes == "\n" || bytes == "\t" || bytes == "\r") {
      out += bytes;
      return;
    }
    out += "\\u";
    append_hex(out, one.bytes == 0 ? 0xFFFD : one.code, 4);
  });
}

std::string in_shell_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

}  // namespace mmaudit
