#pragma once
// Tables and paragraphs as plain text for a terminal, and as Markdown.
#include <string>
#include <string_view>

#include "tables.hpp"

namespace mmaudit::report {

/// `text` in the tone's colour, with escape sequences only where `colour`.
std::string painted(std::string text, Tone tone, bool colour);
/// Words of `text` on lines of at most 110 columns, the later ones indented like the first.
std::string wrapped(std::string_view text, std::string_view first_indent);
/// Header and rows, columns padded to their widest cell, without those that are wide_only.
std::string console_table(const Table& table, bool colour);

/// Text that stays text in Markdown: nothing in it starts a cell, a tag, a link or emphasis.
std::string markdown_escaped(std::string_view text);
std::string markdown_table(const Table& table);

}  // namespace mmaudit::report
