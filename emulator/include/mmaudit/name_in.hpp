#pragma once
// Tables of names: the names of an enumeration as one list, rows that have a name.
#include <cstddef>
#include <iterator>
#include <string_view>

namespace mmaudit {

/// `names` has one entry per enumerator, in the order of the enumerators, which count from 0.
template <class Enum, std::size_t Count>
constexpr std::string_view name_in(const std::string_view (&names)[Count], Enum one) {
  const auto at = static_cast<std::size_t>(one);
  return at < Count ? names[at] : "unknown";
}

/// The row of a table whose .name this is; null where there is none.
template <class Table>
constexpr auto* find_named(Table& table, std::string_view name) {
  for (auto& row : table)
    if (row.name == name) return &row;
  return static_cast<decltype(&*std::begin(table))>(nullptr);
}

}  // namespace mmaudit
