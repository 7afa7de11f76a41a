#include "mmaudit/value_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "mmaudit/convert.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit {
namespace {

bool read_double(std::string_view text, double& value, std::chars_format format) {
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format);
  const bool whole = error == std::errc() && end == text.data() + text.size();
#else  // libc++ reads no floating-point numbers; strtod() also takes spaces, signs and words, which are
       // refused
  const bool hex = format == std::chars_format::hex;
  const std::string copy = (hex ? "0x" : "") + std::string(text);
  const std::string_view allowed = hex ? "0123456789abcdefABCDEF.+-pP" : "0123456789.+-eE";
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  const bool whole = end == copy.c_str() + copy.size() && !text.empty() && text.front() != '+' &&
                     text.find_first_not_of(allowed) == std::string_view::npos;
#endif
  return whole && !text.empty() && text.front() != '-' && std::isfinite(value);
}

/// Unsigned forms: "1.5", "2^-12", "1.5*2^-3", "0x1.8p-4".
std::optional<double> read_number(std::string_view text) {
  double value = 0;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    if (!read_double(text.substr(2), value, std::chars_format::hex)) return std::nullopt;
    return value;
  }
  double factor = 1;
  if (const std::size_t star = text.find("*2^"); star != std::string_view::npos) {
    if (!read_double(text.substr(0, star), factor, std::chars_format::general)) return std::nullopt;
    text.remove_prefix(star + 1);
  }
  if (text.substr(0, 2) == "2^") {
    const auto exponent = whole_number<int>(text.substr(2));
    if (!exponent || *exponent < -2000 || *exponent > 2000) return std::nullopt;
    value = std::ldexp(factor, *exponent);
    // Beyond binary64's range it would become infinity, zero or a rounded subnormal.
    if (!std::isfinite(value) || std::ldexp(value, -*exponent) != factor) return std::nullopt;
    return value;
  }
  if (!read_double(text, value, std::chars_format::general)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> named_value(std::string_view text, const FormatSpec& format) {
  const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
  if (text == "nan" && format.specials != Specials::finite) return format.conversion_nan_bits();
  if (text == "inf" && format.specials == Specials::ieee) return format.infinity_bits();
  if (text == "max") return format.max_finite_bits();
  if (text == "min") return format.no_zero ? 0 : unit << format.fraction_bits;
  if (text == "tiny" && !format.no_zero) return unit;
  return std::nullopt;
}

/// Decimal integers, "max" and "min" (the least), with an optional minus sign in front of digits.
ParsedValue parse_integer(std::string_view text, const FormatSpec& format) {
  const bool has_sign = format.encoding == Encoding::signed_integer;
  const std::int64_t all = (std::int64_t{1} << format.value_bits()) - 1;
  const std::int64_t most = has_sign ? all / 2 : all, least = has_sign ? -most - 1 : 0;
  const auto value = text == "max"   ? std::optional(most)
                     : text == "min" ? std::optional(least)
                                     : whole_number<std::int64_t>(text);
  if (!value || *value < least || *value > most)
    return {0, refusal("found {}, allowed: {} to {}, 0x raw bits, max, min", in_quotes(text), least, most)};
  return {static_cast<std::uint64_t>(*value & all), {}};
}

bool is_raw(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         text.find_first_of("pP.") == std::string_view::npos;
}

}  // namespace

ParsedValue parse_value(std::string_view text, const FormatSpec& format) {
  const std::string_view whole = text;
  const auto refused = [&](const std::string& allowed) {
    return ParsedValue{0, refusal("found {}, allowed: {}", in_quotes(whole), allowed)};
  };
  if (is_raw(text)) {
    const auto bits = whole_number<std::uint64_t>(text.substr(2), 16);
    if (!bits) return refused("hexadecimal digits after 0x");
    if (format.storage_bits < 64 && (*bits >> format.storage_bits) != 0)
      return refused("at most " + std::to_string(format.storage_bits / 4) + " hexadecimal digits");
    return {*bits, {}};
  }
  if (format.integer()) return parse_integer(text, format);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative && format.signless)
    return refused("no minus sign: " + std::string(name_of(format.id)) + " has none");
  if (negative) text.remove_prefix(1);
  if (negative && is_raw(text)) return refused("raw bits without a minus sign");
  const std::uint64_t sign = negative ? format.sign_bit() : 0;
  if (const auto named = named_value(text, format)) return {sign | *named, {}};
  const auto value = read_number(text);
  if (!value)
    return refused(
        "a decimal number, 2^n, m*2^n, 0x raw bits, 0x1.8p-4, max, min, and where the format has them nan, "
        "inf, tiny");
  const std::uint64_t bits = sign | encode_nearest_even(*value, format);
  if (decode_value(bits & ~format.sign_bit(), format) != *value)
    return refused("a value that " + std::string(name_of(format.id)) +
                   " holds exactly (nearest: " + value_text(bits, format) + ")");
  return {bits, {}};
}

std::string value_text(std::uint64_t bits, const FormatSpec& format) {
  const double value = decode_value(bits, format);
  if (format.integer()) return std::to_string(static_cast<std::int64_t>(value));
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc() ? std::string(buffer.data(), end) : "?";
}

std::string hex_text(std::uint64_t bits, int storage_bits) {
  std::string text(static_cast<std::size_t>((storage_bits + 3) / 4), '0');
  for (std::size_t i = text.size(); i-- > 0; bits >>= 4) text[i] = "0123456789abcdef"[bits & 15U];
  return text;
}

std::string hex_value(std::uint64_t bits, const FormatSpec& format) {
  return "0x" + hex_text(bits, format.storage_bits) + " = " + value_text(bits, format);
}

std::vector<std::string> hex_texts(const std::vector<std::uint64_t>& bits, Format format) {
  std::vector<std::string> text;
  text.reserve(bits.size());
  for (const std::uint64_t x : bits) text.push_back(hex_text(x, spec_of(format).storage_bits));
  return text;
}

}  // namespace mmaudit
