// Levels of a machine as boxes, maps of many small cells, and histograms.
#include <map>

#include "mmaudit/report/figures.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

constexpr double kGapBetween = 8, kLineHigh = 16, kPad = 8;
constexpr std::size_t kShades = 8;
constexpr double kMapLeft = 44, kMapRight = 396, kMapTop = 26;

/// The numbers below which a share of the cells lies: a few odd ones do not take the shades of all others.
std::pair<double, double> range_of(const std::vector<std::vector<std::uint32_t>>& rows) {
  std::vector<std::uint32_t> numbers;
  for (const auto& row : rows)
    for (const std::uint32_t number : row)
      if (number > 0) numbers.push_back(number);
  if (numbers.empty()) return {0, 0};
  std::sort(numbers.begin(), numbers.end());
  return {numbers[numbers.size() / 50], numbers[numbers.size() - 1 - numbers.size() / 50]};
}

std::size_t shade_of(std::uint32_t number, double least, double most) {
  if (most <= least) return kShades / 2;
  const double share = std::clamp((number - least) / (most - least), 0.0, 1.0);
  return std::min(static_cast<std::size_t>(share * kShades), kShades - 1);
}

double opacity_of(std::size_t shade) {
  return 0.08 + 0.92 * static_cast<double>(shade) / static_cast<double>(kShades - 1);
}

}  // namespace

std::string cell_map(const CellMap& map) {
  std::size_t columns = 0;
  for (const auto& row : map.rows) columns = std::max(columns, row.size());
  const auto [least, most] = range_of(map.rows);
  if (columns == 0 || most == 0) return "";
  const svg::Grid cells{kMapLeft, kMapTop, (kMapRight - kMapLeft) / static_cast<double>(columns),
                        std::clamp(340 / static_cast<double>(map.rows.size()), 2.0, 18.0)};
  const double bottom = cells.y(map.rows.size());
  std::string out = svg::open_svg(
      svg::kPhone, bottom + (map.key ? 62 : 40), map.id, map.title,
      fmt::format("{} against {}; {:.0f} to {:.0f} {}.", map.y_title, map.x_title, least, most, map.unit));
  out += svg::text(4, 14, "soft", escaped_html(map.y_title));
  // One path per shade; neighbours below one another are one piece.
  std::string paths[kShades];
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < map.rows.size();) {
      const auto shade_at = [&, least = least, most = most](std::size_t row) {
        const bool there = row < map.rows.size() && c < map.rows[row].size() && map.rows[row][c] > 0;
        return there ? shade_of(map.rows[row][c], least, most) : kShades;
      };
      const std::size_t shade = shade_at(r);
      std::size_t end = r + 1;
      while (end < map.rows.size() && shade_at(end) == shade) ++end;
      if (shade < kShades) paths[shade] += fmt::format("M{} {}h1v{}h-1z", c, r, end - r);
      r = end;
    }
  out += fmt::format("<g transform=\"translate({:.0f} {:.0f}) scale({:.4f} {:.4f})\">", kMapLeft, kMapTop,
                     cells.wide, cells.high);
  for (std::size_t shade = 0; shade < kShades; ++shade)
    if (!paths[shade].empty())
      out += fmt::format("<path class=\"cell\" fill-opacity=\"{:.2f}\" d=\"{}\"/>", opacity_of(shade),
                         paths[shade]);
  out += "</g>";
  for (const auto& [row, label] : map.row_labels)
    out += svg::text(kMapLeft - 6, cells.y(row, 0.5) + 4, "soft end", escaped_html(label));
  for (const auto& [column, label] : map.column_labels)
    out += svg::text(cells.x(column, 0.5), bottom + 15, "soft middle", escaped_html(label));
  out += svg::text((kMapLeft + kMapRight) / 2, bottom + 32, "soft middle", escaped_html(map.x_title));
  if (map.key) {
    const std::string from = fmt::format("{:.0f}", least), to = fmt::format("{:.0f} {}", most, map.unit);
    out += svg::text(kMapLeft + 96, bottom + 54, "end", from);
    for (std::size_t shade = 0; shade < kShades; ++shade)
      out += svg::rect("cell", kMapLeft + 102 + 14 * static_cast<double>(shade), bottom + 44, 14, 12, 0,
                       fmt::format(" fill-opacity=\"{:.2f}\"", opacity_of(shade)));
    out += svg::text(kMapLeft + 108 + 14 * kShades, bottom + 54, "", escaped_html(to));
  }
  return out + "</svg>";
}

std::string level_picture(const LevelPicture& picture) {
  std::string boxes, about;
  double top = 2;
  for (const auto& row : picture.rows) {
    if (row.empty()) continue;
    std::size_t lines = 0;
    for (const LevelPicture::Box& box : row)
      lines = std::max(lines, 1 + box.measured.size() + box.published.size());
    const double high = 2 * kPad + kLineHigh * static_cast<double>(lines) - 4;
    const double wide = (svg::kPhone - 4 - kGapBetween * static_cast<double>(row.size() - 1)) /
                        static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double left = 2 + (wide + kGapBetween) * static_cast<double>(i);
      boxes += svg::rect("frame", left, top, wide, high);
      double y = top + kPad + 10;
      boxes += svg::text(left + kPad, y, "strong", escaped_html(row[i].name));
      about += row[i].name + ": ";
      for (const std::string& line : row[i].measured) {
        boxes += svg::text(left + kPad, y += kLineHigh, "", escaped_html(line));
        about += line + ", ";
      }
      for (const std::string& line : row[i].published) {
        boxes += svg::text(left + kPad, y += kLineHigh, "soft", escaped_html(line));
        about += line + ", ";
      }
      about.replace(about.size() - 2, 2, ". ");
    }
    top += high + kGapBetween;
  }
  if (boxes.empty()) return "";
  return svg::open_svg(svg::kPhone, top - kGapBetween + 2, picture.id, picture.title, about) + boxes +
         "</svg>";
}

std::string histogram(const Histogram& plot) {
  std::map<std::uint32_t, std::vector<std::size_t>> bins;
  std::uint32_t least = plot.most, last = 0;
  for (std::size_t group = 0; group < plot.groups.size(); ++group)
    for (const std::uint32_t number : plot.groups[group].numbers) {
      if (number > plot.most) continue;
      const std::uint32_t bin = number / plot.bin;
      auto& counts = bins[bin];
      counts.resize(plot.groups.size());
      ++counts[group];
      least = std::min(least, bin);
      last = std::max(last, bin);
    }
  if (bins.empty()) return "";
  std::size_t most = 1;
  for (const auto& [bin, counts] : bins) {
    std::size_t sum = 0;
    for (const std::size_t count : counts) sum += count;
    most = std::max(most, sum);
  }
  constexpr double kLeft = 40, kRight = 392, kTop = 24, kBottom = 190;
  const double wide = (kRight - kLeft) / static_cast<double>(last - least + 1);
  const auto up = [&](std::size_t count) {
    return (kBottom - kTop) * static_cast<double>(count) / static_cast<double>(most);
  };
  std::string bars, legend;
  for (const auto& [bin, counts] : bins) {
    double y = kBottom;
    for (std::size_t group = 0; group < counts.size(); ++group) {
      if (counts[group] == 0) continue;
      y -= up(counts[group]);
      bars += svg::rect(fmt::format("bar {}", name_of(plot.groups[group].colour)),
                        kLeft + wide * static_cast<double>(bin - least), y, std::max(wide - 0.5, 0.5),
                        up(counts[group]));
    }
  }
  const std::uint32_t span = (last - least + 1) * plot.bin;
  const std::uint32_t tick = span > 1000 ? 200 : span > 400 ? 100 : 50;
  std::string axis = svg::line(kLeft, kBottom, kRight, kBottom, "grid");
  for (std::uint32_t at = (least * plot.bin + tick - 1) / tick * tick; at <= (last + 1) * plot.bin;
       at += tick)
    axis += svg::text(kLeft + wide * (static_cast<double>(at) / plot.bin - least), kBottom + 16,
                      "soft middle", std::to_string(at));
  axis += svg::text(kLeft - 6, kTop + 4, "soft end", std::to_string(most));
  for (std::size_t group = 0; group < plot.groups.size(); ++group) {
    const double x = group % 2 == 0 ? kLeft : 220, y = kBottom + 58 + 20.0 * static_cast<int>(group / 2);
    legend += svg::rect(fmt::format("bar {}", name_of(plot.groups[group].colour)), x, y - 9, 10, 10, 0) +
              svg::text(x + 16, y, "", escaped_html(plot.groups[group].name));
  }
  return svg::open_svg(svg::kPhone, kBottom + 50 + 20.0 * static_cast<int>((plot.groups.size() + 1) / 2),
                       plot.id, plot.title, fmt::format("Most in a bin of {}: {}.", plot.bin, most)) +
         svg::text(kLeft, 12, "", escaped_html(plot.title)) + bars + axis +
         svg::text((kLeft + kRight) / 2, kBottom + 34, "soft middle", escaped_html(plot.x_title)) + legend +
         "</svg>";
}

}  // namespace mmaudit::report
