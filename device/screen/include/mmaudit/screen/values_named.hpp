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
  const auto joined = [](const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
  };
  std::string nearest;
  for (const std::string& name : names)
    if (nearest.empty() && std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      nearest = did_you_mean(name, allowed);
  throw InputError(std::string(option) + ": found " + joined(names, ",") + ", allowed: some of " +
                   joined(allowed, ", ") + ", each once" + nearest);
}

}  // namespace mmaudit::screen
