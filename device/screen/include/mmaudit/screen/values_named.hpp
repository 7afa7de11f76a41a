#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::screen {

/// What: of an enumeration's first `count` values those whose name_of() is among `names`, in their order; all
/// of them where `names` is empty. Errors: InputError with the option, what was found, what is allowed and
/// the nearest name, where a name is unknown or stands twice.
template <typename Value>
std::vector<Value> values_named(std::string_view option, int count, const std::vector<std::string>& names) {
  std::vector<Value> found;
  std::vector<std::string> allowed;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Value>(i);
    allowed.emplace_back(name_of(value));
    if (names.empty() || std::find(names.begin(), names.end(), allowed.back()) != names.end())
      found.push_back(value);
  }
  if (found.size() >= names.size()) return found;
  std::string given, nearest;
  for (const std::string& name : names) {
    given.append(given.empty() ? "" : ",").append(name);
    if (nearest.empty() && std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      nearest = did_you_mean(name, allowed);
  }
  refuse("{}: found {}, allowed: some of {}, each once{}", option, given, allowed, nearest);
}

}  // namespace mmaudit::screen
