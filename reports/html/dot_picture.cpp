#include "mmaudit/report/dot_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dot_lines.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

constexpr double kBit = 11, kRow = 20, kGlyph = 6.7;
constexpr std::size_t kLongestLabel = 44;
constexpr int kMostPowers = 96;

struct Axis {
  int high = 0, low = 0;
  double left = 0;

  [[nodiscard]] double at(int power) const {
    return left + kBit * (high - power);
  }  ///< left edge of its column
};

std::string power_text(int power) {
  return fmt::format("2<tspan dy=\"-4\" font-size=\"10\">{}</tspan>", power);
}

std::string bits_markup(const Line& line, const Axis& axis, double y) {
  const Dyadic x = *line.bits;
  std::string out = x.significand < 0
                        ? fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">\u2212</text>",
                                      axis.at(std::clamp(lead_of(x), axis.low, axis.high)) - 9, y + 14)
                        : "";
  const std::uint64_t magnitude = magnitude_of(x);
  const int last = std::max(last_of(x), axis.low);
  for (const bool kept : {true, false}) {
    const int from = kept || !line.cut ? lead_of(x) : std::min(lead_of(x), *line.cut - 1);
    const int to = kept && line.cut ? std::max(last, *line.cut) : last;
    if ((!kept && !line.cut) || from < to) continue;
    std::string places, digits;
    for (int power = from; power >= to; --power) {
      places += fmt::format("{:.1f} ", axis.at(power) + 2.2);
      digits += (magnitude >> (power - x.exponent) & 1) != 0 ? '1' : '0';
    }
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>"
        "<text class=\"{}\" x=\"{}\" y=\"{:.1f}\">{}</text>",
        kept ? "kept" : "cut", axis.at(from), y + 2, kBit * (from - to + 1), kept ? "" : "gone", places,
        y + 14, digits);
  }
  if (last_of(x) < axis.low)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">...</text>", axis.at(axis.low) + kBit + 2, y + 14);
  return out;
}

std::string line_markup(const Line& line, const Axis& axis, double y) {
  std::string label = line.label;
  if (line.style != "title" && label.size() > kLongestLabel)
    label = label.substr(0, kLongestLabel - 3) + "...";
  const std::string hint = line.label + (line.hint.empty() ? "" : ": " + line.hint);
  std::string out = fmt::format("<g class=\"{}\"><title>{}</title><text x=\"8\" y=\"{:.1f}\">{}</text>",
                                line.style, escaped_html(hint), y + 14, escaped_html(label));
  if (line.bits && line.bits->significand != 0) out += bits_markup(line, axis, y);
  return out + "</g>\n";
}

}  // namespace

std::string dot_figure(const std::vector<DotPicture>& pictures) {
  std::vector<Panel> panels;
  for (const DotPicture& picture : pictures) {
    std::vector<Panel> own = panels_of(picture);
    panels.insert(panels.end(), own.begin(), own.end());
  }
  Axis axis{-10000, 10000, 0};
  std::size_t longest = 12, widest = 0;
  for (const Panel& panel : panels)
    for (const Line& line : panel.lines) {
      (line.style == "title" ? widest : longest) =
          std::max(line.style == "title" ? widest : longest, line.label.size());
      if (!line.bits || line.bits->significand == 0) continue;
      axis.high = std::max(axis.high, lead_of(*line.bits));
      axis.low = std::min(axis.low, last_of(*line.bits));
    }
  if (axis.high < axis.low) axis.high = axis.low = 0;  // nothing but zeros
  axis.high += 1, axis.low -= 1;
  axis.low = std::max(axis.low, axis.high - kMostPowers + 1);
  axis.left = 28 + kGlyph * static_cast<double>(std::min(longest, kLongestLabel));
  std::string lines, grid;
  double y = 8;
  const auto label_axis = [&] {
    for (int power = axis.high; power >= axis.low; --power)
      if (power % 4 == 0)
        grid += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", axis.at(power),
                            y + 14, power_text(power));
    y += kRow;
  };
  label_axis();
  const double top = y;
  for (const Panel& panel : panels) {
    for (const Line& line : panel.lines) {
      lines += line_markup(line, axis, y);
      y += kRow;
    }
    y += 8;
  }
  for (int power = axis.high; power >= axis.low; --power)
    if (power % 4 == 0)
      grid += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>", axis.at(power), top, y);
  label_axis();
  const double width = std::max(axis.at(axis.low) + kBit + 36, 16 + 7.4 * static_cast<double>(widest));
  std::string titles;
  for (const DotPicture& picture : pictures) titles += (titles.empty() ? "" : "; ") + picture.title;
  return svg::open_svg(width, y + 8, "bits", "Bits of a dot product on one axis of powers of two", titles) +
         "<g class=\"bits\">\n" + grid + "\n" + lines + "</g></svg>";
}

}  // namespace mmaudit::report
