#include "mmaudit/report/fragment_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/audit.hpp"

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

/// Lines without the blanks that pad their last column.
std::string trimmed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

}  // namespace

std::string picture_text(const FragmentPicture& picture) {
  const CellSize size = cell_size(picture);
  std::size_t width = 0;
  for (int row = 0; row < picture.rows; row += size.rows)
    for (int col = 0; col < picture.cols; col += size.cols)
      width = std::max(width, label(picture, row, col).size());
  for (int col = 0; col < picture.cols; col += size.cols)
    width = std::max(width, range(col, size.cols).size());
  const std::size_t side = std::max<std::size_t>(3, range(picture.rows - size.rows, size.rows).size());
  std::string text = picture.title + "\n" + std::string(side, ' ');
  for (int col = 0; col < picture.cols; col += size.cols)
    text += fmt::format("  {:<{}}", range(col, size.cols), width);
  text += "\n";
  for (int row = 0; row < picture.rows; row += size.rows) {
    text += fmt::format("{:>{}}", range(row, size.rows), side);
    for (int col = 0; col < picture.cols; col += size.cols)
      text += fmt::format("  {:<{}}", label(picture, row, col), width);
    text += "\n";
  }
  return trimmed(text);
}

std::string picture_svg(const std::vector<FragmentPicture>& pictures) {
  constexpr int kCellWidth = 64, kCellHeight = 20, kSide = 56, kTop = 44, kGap = 24, kMostWidth = 1280;
  int width = 0, top = 0;
  std::string body;
  for (const FragmentPicture& picture : pictures) {
    const CellSize size = cell_size(picture);
    const int rows = picture.rows / size.rows, cols = picture.cols / size.cols;
    std::size_t longest = 7;
    for (int row = 0; row < picture.rows; row += size.rows)
      for (int col = 0; col < picture.cols; col += size.cols)
        longest = std::max(longest, label(picture, row, col).size());
    const int cell = kCellWidth * static_cast<int>(longest + 2) / 9;
    const int across = std::min(cols, std::max(1, kMostWidth / cell));
    body += fmt::format("<text x=\"8\" y=\"{}\" class=\"title\">{}</text>\n", top + 18,
                        escaped_html(picture.title));
    // Columns that a page has no room for stand below the first ones.
    for (int first = 0; first < cols; first += across) {
      for (int col = first; col < std::min(cols, first + across); ++col)
        body += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kSide + (col - first) * cell + 4,
                            top + kTop - 6, range(col * size.cols, size.cols));
      for (int row = 0; row < rows; ++row) {
        const int y = top + kTop + row * kCellHeight;
        body += fmt::format("<text x=\"8\" y=\"{}\">{}</text>\n", y + 14, range(row * size.rows, size.rows));
        for (int col = first; col < std::min(cols, first + across); ++col) {
          const int x = kSide + (col - first) * cell;
          const auto& holders = holders_at(picture, row * size.rows, col * size.cols);
          body += fmt::format(
              "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/><text x=\"{}\" "
              "y=\"{}\">{}</text>\n",
              x, y, cell, kCellHeight, holders.empty() ? "#ffffff" : colour(holders.front().lane), x + 4,
              y + 14, label(picture, row * size.rows, col * size.cols));
        }
      }
      top += kTop + rows * kCellHeight + kGap;
    }
    width = std::max(width, kSide + across * cell + 8);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
             "role=\"img\">\n<title>Register fragments</title>\n"
             "<style>text{{font:11px monospace;fill:#111}}.title{{font:bold 13px sans-serif}}"
             "rect{{stroke:#555;stroke-width:.5}}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\" "
             "stroke=\"none\"/>\n",
             width, top) +
         body + "</svg>\n";
}

}  // namespace mmaudit::report
