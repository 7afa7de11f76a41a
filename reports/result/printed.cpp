#include "printed.hpp"

#include <fmt/format.h>

namespace mmaudit::report {

std::string in_form_of(double value, std::string_view printed) {
  const std::size_t exponent = printed.find_first_of("eE");
  const std::string_view mantissa = printed.substr(0, exponent);
  const std::size_t point = mantissa.find('.');
  const int digits = point == std::string_view::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
  if (exponent == std::string_view::npos) return fmt::format("{:.{}f}", value, digits);
  return printed[exponent] == 'E' ? fmt::format("{:.{}E}", value, digits)
                                  : fmt::format("{:.{}e}", value, digits);
}

bool has_printed_digits(double value, std::string_view printed) {
  if (printed.find_first_of("123456789") == std::string_view::npos) return value == 0.0;
  return in_form_of(value, printed) == printed;
}

std::string error_text(double value) { return value == 0.0 ? "0" : fmt::format("{:.2e}", value); }

std::string signed_text(double value) { return value == 0.0 ? "0" : fmt::format("{:+.1e}", value); }

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent_text(double share) { return share == 0 ? "0" : fmt::format("{:.3g}%", 100 * share); }

std::string grouped(unsigned long long value) {
  const std::string digits = fmt::format("{}", value);
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at != 0 && (digits.size() - at) % 3 == 0) text.push_back(',');
    text.push_back(digits[at]);
  }
  return text;
}

}  // namespace mmaudit::report
