#include "mmaudit/report/fragment_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

/// Elements a cell covers: a register's neighbours along the row, or down the column.
struct CellSize {
  int rows = 1, cols = 1;
};

const std::vector<Holder>& holders_at(const FragmentPicture& picture, int row, int col) {
  return picture.holders[static_cast<std::size_t>(row) * static_cast<std::size_t>(picture.cols) +
                         static_cast<std::size_t>(col)];
}

/// True when every element of every rows x cols cell lies in the same registers of the same lanes.
bool cells_hold(const FragmentPicture& picture, CellSize size) {
  if (picture.rows % size.rows != 0 || picture.cols % size.cols != 0) return false;
  const auto registers = [&](int row, int col) {
    std::vector<Holder> at = holders_at(picture, row, col);
    for (Holder& holder : at) holder.value /= picture.per_register;
    return at;
  };
  for (int row = 0; row < picture.rows; ++row)
    for (int col = 0; col < picture.cols; ++col)
      if (registers(row, col) != registers(row - row % size.rows, col - col % size.cols)) return false;
  return true;
}

CellSize cell_size(const FragmentPicture& picture) {
  for (int each = picture.per_register; each > 1; each /= 2)
    for (const CellSize size : {CellSize{1, each}, CellSize{each, 1}})
      if (cells_hold(picture, size)) return size;
  return {};
}

std::string label(const FragmentPicture& picture, int row, int col) {
  std::string text;
  for (const Holder& holder : holders_at(picture, row, col))
    text +=
        fmt::format("{}T{} r{}", text.empty() ? "" : ",", holder.lane, holder.value / picture.per_register);
  return text.empty() ? "-" : text;
}

std::string range(int first, int count) {
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

/// Lanes of a quad share a hue's neighbourhood; warps go round again.
std::string colour(int lane) {
  return fmt::format("hsl({} 60% {}%)", (lane % 32) / 4 * 45, 74 + lane % 4 * 5);
}

constexpr double kRowHeight = 20, kSide = 58, kTop = 44, kGap = 18;
/// Cells down and across, before what repeats is shown once.
constexpr int kMostRows = 32, kMostColumns = 16;

/// A picture that goes on with the same again: `period` rows or columns, lanes and registers so much further.
struct Repeat {
  int period = 0, lanes = 0, registers = 0;
};

std::optional<Repeat> repeat_of(const FragmentPicture& picture, bool down) {
  const int extent = down ? picture.rows : picture.cols;
  for (int period = 8; period <= extent / 2; period *= 2) {
    const auto& first = holders_at(picture, 0, 0);
    const auto& next = holders_at(picture, down ? period : 0, down ? 0 : period);
    if (extent % period != 0 || first.empty() || next.size() != first.size()) continue;
    const int lanes = next[0].lane - first[0].lane, values = next[0].value - first[0].value;
    bool same = values % picture.per_register == 0;
    for (int row = 0; same && row < picture.rows - (down ? period : 0); ++row)
      for (int col = 0; same && col < picture.cols - (down ? 0 : period); ++col) {
        std::vector<Holder> moved = holders_at(picture, row, col);
        for (Holder& one : moved) one.lane += lanes, one.value += values;
        same = moved == holders_at(picture, row + (down ? period : 0), col + (down ? 0 : period));
      }
    if (same) return Repeat{period, lanes, values / picture.per_register};
  }
  return std::nullopt;
}

std::string repeat_text(const Repeat& repeat, int shown, int extent, const char* what) {
  std::string text =
      fmt::format("{}s {} to {}: every {} {}s the same again", what, shown, extent - 1, repeat.period, what);
  if (repeat.lanes != 0) text += fmt::format(", lanes + {}", repeat.lanes);
  if (repeat.registers != 0) text += fmt::format(", registers + {}", repeat.registers);
  return text;
}

/// One operand of the drawing: how much of it is shown, and what is said of the rest.
struct Part {
  const FragmentPicture* picture = nullptr;
  CellSize size = {};
  int rows = 0, cols = 0;  ///< elements shown
  double column = 0;       ///< width of an element's column
  std::vector<std::string> notes = {};

  [[nodiscard]] double width() const {
    return kSide + std::max(column * cols, 7.5 * static_cast<double>(picture->title.size()) - kSide) + kGap;
  }
  [[nodiscard]] double height() const {
    return kTop + kRowHeight * rows + 16 * static_cast<double>(notes.size()) + kGap;
  }
};

Part part_of(const FragmentPicture& picture) {
  Part part{.picture = &picture};
  if (picture.holders.empty()) {  // in shared memory
    part.rows = 2;
    part.cols = picture.cols;
    part.notes = {"in shared memory, held by no lane"};
    return part;
  }
  part.size = cell_size(picture);
  part.rows = picture.rows;
  part.cols = picture.cols;
  for (const bool down : {true, false}) {
    int& shown = down ? part.rows : part.cols;
    if (shown / (down ? part.size.rows : part.size.cols) <= (down ? kMostRows : kMostColumns)) continue;
    const auto repeat = repeat_of(picture, down);
    if (!repeat) continue;
    const int extent = shown;
    shown = repeat->period;
    part.notes.push_back(repeat_text(*repeat, shown, extent, down ? "row" : "column"));
  }
  std::size_t longest = 7;
  for (int row = 0; row < part.rows; row += part.size.rows)
    for (int col = 0; col < part.cols; col += part.size.cols)
      longest = std::max(longest, label(picture, row, col).size());
  part.column = (6.8 * static_cast<double>(longest) + 8) / part.size.cols;
  return part;
}

std::string drawn_at(const Part& part, double left, double top) {
  const FragmentPicture& picture = *part.picture;
  std::string out = svg::text(left, top + 14, "title", escaped_html(picture.title));
  left += kSide;
  top += kTop;
  if (picture.holders.empty())
    out += svg::rect("memory", left, top, part.column * part.cols, kRowHeight * part.rows) + "\n";
  for (int col = 0; !picture.holders.empty() && col < part.cols; col += part.size.cols)
    out += svg::text(left + part.column * col + 4, top - 6, "", range(col, part.size.cols));
  for (int row = 0; !picture.holders.empty() && row < part.rows; row += part.size.rows) {
    const double y = top + kRowHeight * row, height = kRowHeight * part.size.rows;
    out += svg::text(left - 6, y + height / 2 + 4, "side", range(row, part.size.rows));
    for (int col = 0; col < part.cols; col += part.size.cols) {
      const double x = left + part.column * col, width = part.column * part.size.cols;
      const auto& holders = holders_at(picture, row, col);
      const std::string held = label(picture, row, col),
                        fill = holders.empty() ? "#ffffff" : colour(holders.front().lane);
      out += svg::hinted(fmt::format("{}[{}, {}]: {}", picture.operand, range(row, part.size.rows),
                                     range(col, part.size.cols), held),
                         svg::rect("", x, y, width, height, 1, fmt::format(" fill=\"{}\"", fill)) +
                             svg::text(x + 4, y + height / 2 + 4, "", held));
    }
  }
  double y = top + kRowHeight * part.rows + 16;
  for (const std::string& note : part.notes) {
    out += svg::text(left, y, "", note);
    y += 16;
  }
  return out;
}

}  // namespace

Section section_of(const FragmentPicture& picture) {
  const Part part = part_of(picture);
  Section section{.title = picture.title, .lines = part.notes};
  if (picture.holders.empty()) return section;
  Table table{.columns = {Column("row", true)}};
  for (int col = 0; col < part.cols; col += part.size.cols)
    table.columns.emplace_back(range(col, part.size.cols));
  for (int row = 0; row < part.rows; row += part.size.rows) {
    auto& cells = table.rows.emplace_back(std::vector<Cell>{range(row, part.size.rows)});
    for (int col = 0; col < part.cols; col += part.size.cols) cells.emplace_back(label(picture, row, col));
  }
  section.tables.push_back(std::move(table));
  return section;
}

std::string fragment_figure(const std::vector<FragmentPicture>& pictures) {
  std::vector<Part> left, above, rest;  // A; B; what has the rows of A and the columns of B
  std::string titles;
  for (const FragmentPicture& one : pictures) {
    (one.operand == 'A' ? left : one.operand == 'B' ? above : rest).push_back(part_of(one));
    titles += (titles.empty() ? "" : "; ") + one.title;
  }
  double column = 24;
  for (const auto* parts : {&above, &rest})
    for (const Part& part : *parts) column = std::max(column, part.column);
  for (auto* parts : {&above, &rest})
    for (Part& part : *parts) part.column = column;
  if (!rest.empty())
    for (Part& part : above)
      if (part.picture->holders.empty()) part.cols = rest.front().cols;
  double width = 0, x = 8, y = 8;
  for (const Part& part : left) x = std::max(x, 8 + part.width());
  std::string body;
  for (const Part& part : above) {
    body += drawn_at(part, x, y);
    width = std::max(width, x + part.width());
    y += part.height();
  }
  double bottom = y;
  for (const Part& part : left) {
    body += drawn_at(part, 8, y);
    width = std::max(width, x);
    bottom = std::max(bottom, y + part.height());
  }
  for (const Part& part : rest) {
    body += drawn_at(part, x, y);
    width = std::max(width, x + part.width());
    y += part.height();
    bottom = std::max(bottom, y);
  }
  return svg::open_svg(width, bottom, "fragments", "Register fragments", titles) +
         "<g class=\"fragments\">\n" + body + "</g></svg>";
}

}  // namespace mmaudit::report
