#pragma once
// What schedule, journal and result of a campaign write alike.
#include <fmt/format.h>

#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::campaign {

inline constexpr std::size_t kMostElements = 4096;  ///< of a list of an example
inline constexpr std::size_t kMostExamples = 16;    ///< kept of a work item, a journal, a result

inline std::string checksum_of(const Json& object) {
  return corpus::checksum_of(std::string_view(object.sorted().dump()));
}

/// Calls visit(key, value) for every field of a mismatch, for writers and readers alike.
template <typename Of, typename Visit>
void for_each_field(Of& one, const Visit& visit) {
  visit("family", one.dot.input_class);
  visit("tile", one.dot.tile);
  visit("row", one.dot.row);
  visit("column", one.dot.column);
  visit("modifiers", one.dot.modifiers);
  visit("a", one.dot.a);
  visit("b", one.dot.b);
  visit("c", one.dot.c);
  visit("metadata", one.dot.metadata);
  visit("hardware", one.expected);
  visit("model", one.found);
}

inline Json to_json(const Mismatch& one) {
  Json json;
  for_each_field(one, [&](const char* key, const auto& value) { json[key] = value; });
  return json;
}

/// Like get_to(), which takes -1 for 2^64 - 1, 1.5 for 1 and 256 for 0. Errors: InputError.
template <typename T>
void read_exactly(const Json& json, T& to, const std::string& where) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (!json.is_number_unsigned() || !std::in_range<T>(json.get<std::uint64_t>()))
      refuse("{}: found {}, allowed: an integer from 0 to {}", where, printable(json.ascii(), 40),
             std::numeric_limits<T>::max());
    to = static_cast<T>(json.get<std::uint64_t>());
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    if (!json.is_array() || json.size() > kMostElements)
      refuse("{}: found no list of up to {} integers, allowed: one", where, kMostElements);
    to.resize(json.size());
    for (std::size_t i = 0; i < to.size(); ++i) read_exactly(json[i], to[i], where);
  } else {
    json.get_to(to);
  }
}

/// A mismatch of `instruction`. Errors: InputError, JsonError where a field is missing.
inline Mismatch mismatch_from(Json json, const Instruction& instruction, const std::string& where) {
  if (!json.contains("modifiers")) json["modifiers"] = 0;  // old results lack it
  Mismatch one;
  for_each_field(one, [&](const char* key, auto& value) {
    read_exactly(json.at(key), value, fmt::format("{}: examples: {}", where, key));
  });
  std::string why = why_bad_dot(instruction, one.dot);
  const int bits = spec_of(instruction.d).storage_bits;
  if (why.empty() && bits < 64 && ((one.expected | one.found) >> bits) != 0)
    why = fmt::format("hardware, model: found more than {} bits, allowed: {}", bits, bits);
  if (!why.empty()) throw InputError(fmt::format("{}: examples: {}", where, why));
  return one;
}

}  // namespace mmaudit::campaign
