#pragma once
// What many reports say alike: columns of numbers, counts of what went wrong, test cases.
#include <functional>
#include <string>
#include <utility>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {

/// A column of whole numbers. `of`: a function of the item, or a member.
template <class Item, class Of>
Field<Item> number(std::string_view header, Of of, bool only_wide = false) {
  return {{header, true, only_wide},
          [of](const Item& item) { return Cell(std::to_string(std::invoke(of, item))); }};
}

/// A count of what went wrong.
inline Cell bad_count(std::uint64_t count) {
  return {std::to_string(count), count == 0 ? Tone::plain : Tone::bad};
}

/// A test case that failed where there is a `message`, which says why.
inline TestCase judged(std::string_view group, std::string name, std::string message, std::string text = {}) {
  const auto outcome = message.empty() ? TestCase::Outcome::passed : TestCase::Outcome::failure;
  return {std::string(group), std::move(name), outcome, std::move(message), std::move(text)};
}

}  // namespace mmaudit::report
