#pragma once
// JSON text, built from left to right.
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace mmaudit::json {

/// A value at a time; whoever calls it keeps objects and arrays in order. Numbers read back as they were, a
/// binary64 always with a point or an exponent; what is not finite becomes null.
class Writer {
 public:
  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }

  Writer& key(std::string_view name) {
    quote(name);
    text_ += ':';
    first_ = true;
    return *this;
  }
  Writer& value(std::string_view text) {
    quote(text);
    return *this;
  }
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(bool x) { return put(x ? "true" : "false"); }
  template <std::integral T>
  Writer& value(T x) {
    return put(std::to_string(x));
  }
  Writer& value(double x) {
    if (!std::isfinite(x)) return put("null");
    char buffer[40];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, x);
    std::string digits(buffer, error == std::errc() ? end : buffer);
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    return put(digits);
  }
  /// A whole value that is JSON already.
  Writer& json(std::string_view text) { return put(text); }
  template <typename T>
  Writer& field(std::string_view name, const T& x) {
    key(name);
    return value(x);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void comma() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  Writer& put(std::string_view raw) {
    comma();
    text_ += raw;
    return *this;
  }
  Writer& open(char bracket) {
    comma();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  Writer& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  void quote(std::string_view raw) {
    comma();
    text_ += '"';
    for (const char c : raw) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20) {
        text_ += "\\u00";
        text_ += "0123456789abcdef"[byte >> 4];
        text_ += "0123456789abcdef"[byte & 15U];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace mmaudit::json
