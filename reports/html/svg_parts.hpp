#pragma once
// Pieces of the page's inline SVG. Colours and line styles are classes, so that one drawing serves light,
// dark and print.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::report::svg {

/// A logarithmic axis over whole decades.
struct LogAxis {
  double from = 0, to = 1;  ///< coordinates of the two ends
  int low = -9, high = 0;   ///< decades

  [[nodiscard]] double at(double value) const {
    const double share = (std::log10(value) - low) / static_cast<double>(high - low);
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

/// The decades that hold these values, at least one.
inline LogAxis axis_around(double from, double to, double least, double most) {
  const int low = static_cast<int>(std::floor(std::log10(least)));
  return {from, to, low, std::max(static_cast<int>(std::ceil(std::log10(most))), low + 1)};
}

/// A logarithmic axis to the right, and a place for zero left of it.
struct ErrorAxis {
  LogAxis decades;
  double zero = 0;

  [[nodiscard]] double at(double value) const { return value == 0 ? zero : decades.at(value); }
  /// A line for zero and for every `step`-th decade, with labels below; with `both` above too.
  [[nodiscard]] std::string grid(double top, double bottom, int step = 1, bool both = false) const;
};

inline std::string line(double x1, double y1, double x2, double y2, std::string_view cls) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", cls, x1,
                     y1, x2, y2);
}

/// `content` is markup, already escaped.
inline std::string text(double x, double y, std::string_view cls, std::string_view content) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", cls, x, y, content);
}

/// Cells of one size.
struct Grid {
  double left = 0, top = 0, wide = 0, high = 0;

  /// Where a column begins, or so much of a column further.
  [[nodiscard]] double x(std::size_t column, double further = 0) const {
    return left + wide * (static_cast<double>(column) + further);
  }
  [[nodiscard]] double y(std::size_t row, double further = 0) const {
    return top + high * (static_cast<double>(row) + further);
  }
};

/// Numbers with so many digits after the point; `more`: further attributes.
inline std::string rect(std::string_view cls, double x, double y, double width, double height, int digits = 1,
                        std::string_view more = "") {
  return fmt::format(
      "<rect class=\"{0}\" x=\"{1:.{5}f}\" y=\"{2:.{5}f}\" width=\"{3:.{5}f}\" height=\"{4:.{5}f}\"{6}/>",
      cls, x, y, width, height, digits, more);
}

/// Markup that shows this text on hover.
inline std::string hinted(std::string_view hint, std::string_view markup) {
  return fmt::format("<g><title>{}</title>{}</g>", escaped_html(hint), markup);
}

/// Types differ in shape too, not only in colour.
inline std::string mark(Format dtype, bool hollow, double x, double y) {
  const std::string cls = fmt::format("mark {}{}", name_of(dtype), hollow ? " hollow" : "");
  switch (dtype) {
    case Format::bf16:
      return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\"/>", cls,
                         x - 3.5, y - 3.5);
    case Format::f16:
      return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l5 8.6h-10z\"/>", cls, x, y - 5.5);
    case Format::e4m3:
    case Format::e5m2:
      return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}l4.8 4.8l-4.8 4.8l-4.8 -4.8z\"/>", cls, x,
                         y - 4.8);
    default:
      return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.9\"/>", cls, x, y);
  }
}

/// The widest drawing that a phone shows whole.
inline constexpr double kPhone = 400;
/// What a drawing that scrolls sideways starts with.
inline constexpr std::string_view kScrolls = "<svg class=\"whole\"";

/// Text stays readable: drawings of at most 200, 300 and 400 fit their place within bounds that the style
/// sheet sets, wider ones are drawn as they are and scroll.
inline std::string open_svg(double width, double height, std::string_view id, std::string_view title,
                            std::string_view about) {
  const std::string start = width > kPhone ? fmt::format("{} width=\"{:.0f}\"", kScrolls, width)
                                           : fmt::format("<svg class=\"w{}\"", width > 300   ? 4
                                                                               : width > 200 ? 3
                                                                                             : 2);
  return start +
         fmt::format(
             " viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-labelledby=\"{}-title {}-desc\"><title "
             "id=\"{}-title\">{}"
             "</title><desc id=\"{}-desc\">{}</desc>",
             width, height, id, id, id, escaped_html(title), id, escaped_html(about));
}

/// The area of a plot.
inline constexpr double kLeft = 48, kRight = 380, kTop = 12, kBottom = 300;

/// Lines for the decades of an axis upwards over the area of a plot, with labels left of it.
std::string decades_up(const LogAxis& y);

/// About how wide the page's text is.
inline constexpr double kGlyph = 7.3;
inline double width_of(std::string_view text) { return kGlyph * static_cast<double>(text.size()); }

/// Where the entries of a legend stand: in two columns where the longest fits.
struct Legend {
  double left = 0, column = 0;
  std::size_t longest = 0;

  [[nodiscard]] std::size_t columns() const {
    return kGlyph * static_cast<double>(longest) + 48 <= column ? 2 : 1;
  }
  [[nodiscard]] double x(std::size_t i) const { return left + static_cast<double>(i % columns()) * column; }
  [[nodiscard]] double y(std::size_t i) const {
    const std::size_t row = i / columns();
    return 20 * static_cast<double>(row);
  }
  [[nodiscard]] double right() const {
    return left + 46 + kGlyph * static_cast<double>(longest) + (columns() == 2 ? column : 0);
  }
  [[nodiscard]] double height(std::size_t count) const { return count == 0 ? 0 : y(count - 1) + 20; }
};

/// The axis to the right of a plot, of numbers or of their logarithms.
struct PlotAxis {
  double first = 0, last = 1;
  bool octaves = false;

  [[nodiscard]] double at(double value) const {
    const auto place = [this](double x) { return octaves ? std::log2(x / first) : x - first; };
    return kLeft + 12 + place(value) / std::max(place(last), 1.0) * (kRight - kLeft - 24);
  }
};

struct PlotCurve {
  std::string name;  ///< of the legend
  Format colour = Format::none;
  bool hollow = false, dashed = false;
  std::vector<std::pair<double, double>> points = {};  ///< x, value above 0
  std::string remark = {};                             ///< put behind the description
};

struct Plot {
  std::string_view id, title, x_title;
  std::string about = {};
  std::string_view symbol = {};  ///< of x: the description names the ends of every curve; empty: it doesn't
  PlotAxis x = {};
  std::vector<std::pair<double, std::string>> ticks = {};  ///< x, label
  std::vector<PlotCurve> curves = {};
  /// Where curves coincide, the small marks of the first lie on the larger ones of the others.
  bool first_on_top = false;
};

/// What: curves over a logarithmic axis of values, a legend of two columns, then `extra` markup. Empty
/// without a point.
std::string drawn(const Plot& plot, std::string_view extra = "");

}  // namespace mmaudit::report::svg
