#pragma once
// What the pages have in common. Arguments are text, never markup; results are markup.
#include <string>
#include <string_view>

#include "tables.hpp"

namespace mmaudit::report {

/// Rows of a table that a page shows; more make it slow to open, and the other writers have them all.
inline constexpr std::size_t kMostRows = 2000;

/// The class of style that a tone has.
std::string_view class_of(Tone tone);
/// In a region that scrolls sideways and is reachable with the keyboard.
std::string html_table(const Table& table);
/// Title, remark and table; empty without rows.
std::string section(const Table& table, std::string_view remark, std::string_view classes = "card");
/// One figure of the first screen, as list item.
std::string tile(std::string_view value, std::string_view label);

/// Everything up to <body>, with the policy that admits the style sheet and the script and nothing else.
std::string page_start(std::string_view title);
/// From </main> on.
std::string page_end();

}  // namespace mmaudit::report
