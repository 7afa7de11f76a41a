#pragma once
// Each name of a list selects something, or is refused.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "choice.hpp"

namespace mmaudit::checks {

[[noreturn]] void refuse_part(std::string_view option, const std::string& part, std::string_view allowed);
/// InputError for the first of `parts` that selects none of `items`, which a verdict on the others would not
/// show. `of`: what an item's name or instruction is; `allowed`: what a part may be.
template <typename Items, typename Of = std::identity>
void require_each(std::string_view option, const std::vector<std::string>& parts, const Items& items,
                  std::string_view allowed, const Of& of = {}) {
  for (const std::string& part : parts)
    if (std::none_of(items.begin(), items.end(),
                     [&](const auto& one) { return selected(std::invoke(of, one), {part}); }))
      refuse_part(option, part, allowed);
}

}  // namespace mmaudit::checks
