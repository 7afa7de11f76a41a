#include "mmaudit/provenance.hpp"

#include <algorithm>
#include <charconv>

namespace mmaudit {

std::string capability_text(int compute_capability) {
  if (compute_capability == 0) return {};
  return std::to_string(compute_capability / 10) + "." + std::to_string(compute_capability % 10);
}

std::string text_of(const Provenance& from, const ProvenanceKey& key) {
  if (const auto* text = std::get_if<std::string Provenance::*>(&key.field)) return from.**text;
  if (const auto* seed = std::get_if<std::uint64_t Provenance::*>(&key.field))
    return std::to_string(from.**seed);
  const auto* capability = std::get_if<int Provenance::*>(&key.field);
  return capability != nullptr ? capability_text(from.**capability) : "";
}

std::string_view set_text(Provenance& to, const ProvenanceKey& key, std::string_view text) {
  const auto number = [](std::string_view digits, auto& value) {
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  };
  std::string_view allowed = "text";
  if (const auto* field = std::get_if<std::string Provenance::*>(&key.field)) {
    to.** field = text;
  } else if (const auto* seed = std::get_if<std::uint64_t Provenance::*>(&key.field)) {
    allowed = "a number of 0 to 2^64 - 1";
    number(text, to.**seed);
  } else if (const auto* capability = std::get_if<int Provenance::*>(&key.field)) {
    allowed = "a number like 9.0";
    std::uint16_t major = 0, minor = 0;
    const std::size_t dot = std::min(text.find('.'), text.size());
    number(text.substr(0, dot), major);
    number(text.substr(std::min(dot + 1, text.size())), minor);
    to.** capability = 10 * major + minor;
  }
  // Whatever from_chars made of it: only the one spelling that text_of() gives passes.
  return text_of(to, key) == text ? std::string_view() : allowed;
}

}  // namespace mmaudit
