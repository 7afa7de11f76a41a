#pragma once
// Tables of text, and one function per format that writes them.
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::report {

enum class Tone : std::uint8_t { plain, good, note, bad };
inline constexpr std::string_view kToneNames[] = {"plain", "good", "note", "bad"};

inline constexpr int kNoHeat = -1, kAbsentHeat = -2;  ///< no colour; a cell that does not exist

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
  int heat = kNoHeat;     ///< pages colour the cell: 0 to 7, of which 3 is the last below a limit
  std::string hint = {};  ///< pages show it on hover

  template <std::convertible_to<std::string_view> Text>
  Cell(const Text& content, Tone of = Tone::plain) : text(std::string_view(content)), tone(of) {}
  bool operator==(const Cell&) const = default;
};

struct Column {
  std::string header;
  bool number = false;     ///< aligned right, sorted by value
  bool wide_only = false;  ///< left out where columns are scarce (text)

  template <std::convertible_to<std::string_view> Text>
  Column(const Text& name, bool is_number = false, bool only_wide = false)
      : header(std::string_view(name)), number(is_number), wide_only(only_wide) {}
};

struct Table {
  std::string title = {};   ///< names the table; the functions below do not print it
  std::string remark = {};  ///< a paragraph above the table, printed by reports
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};  ///< the first cell of a row names it
  bool folded = false;                       ///< pages show it on demand
};

/// One column, and what it says of one item.
template <class Item>
struct Field {
  Column column;
  std::function<Cell(const Item&)> cell;
};

/// One row per item, one column per field.
template <class Item>
Table table_of(std::string_view title, const std::vector<Item>& items,
               const std::vector<Field<Item>>& fields) {
  Table table{.title = std::string(title), .remark = {}};
  for (const Field<Item>& field : fields) table.columns.push_back(field.column);
  for (const Item& item : items) {
    auto& row = table.rows.emplace_back();
    for (const Field<Item>& field : fields) row.push_back(field.cell(item));
  }
  return table;
}

/// Where the cells of a column stand.
struct Place {
  std::size_t gap = 2;    ///< blanks before it
  std::size_t width = 0;  ///< at least
  bool right = false;
};
/// Rows of cells under one another: a column is as wide as its longest cell; no line ends in blanks. Rows may
/// be short: the last cell of a row, unless it stands right, takes the room that it needs.
std::string aligned(std::vector<Place> places, const std::vector<std::vector<Cell>>& rows,
                    bool colour = false);
/// Columns as wide as their cells, without those that are wide_only; the last is broken where a line is full.
/// Escape sequences only with `colour`.
std::string to_text(const Table& table, bool colour = false);
std::string to_markdown(const Table& table);
/// RFC 4180: header first, lines end in CR LF, fields are quoted where they need it.
std::string to_csv(const Table& table);
/// A sortable table in a region that scrolls sideways and is reachable with the keyboard; the first rows only
/// where there are thousands.
std::string to_html(const Table& table);

/// Text that stays text in Markdown: nothing in it starts a cell, a tag, a link or emphasis.
std::string escaped_markdown(std::string_view text);
/// Safe as element content and inside double quotes, of HTML and XML; control characters that both forbid are
/// dropped.
std::string escaped_html(std::string_view text);

}  // namespace mmaudit::report
