#include "mmaudit/report/dot_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "mmaudit/convert.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::report {
namespace {

constexpr double kBit = 11, kRow = 20, kGlyph = 6.7;
constexpr std::size_t kLongestLabel = 44;
constexpr int kMostPowers = 96;

std::uint64_t magnitude_of(Dyadic x) {
  return x.significand < 0 ? 0 - static_cast<std::uint64_t>(x.significand)
                           : static_cast<std::uint64_t>(x.significand);
}
int lead_of(Dyadic x) { return x.exponent + 63 - std::countl_zero(magnitude_of(x)); }
int last_of(Dyadic x) { return x.exponent + std::countr_zero(magnitude_of(x)); }

/// A finite number of at most 64 significant bits.
Dyadic dyadic_of(double x) {
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return {static_cast<std::int64_t>(std::ldexp(significand, 53)), exponent - 53};
}

/// A line of a picture: a number's bits, or words alone.
struct Line {
  std::string label, hint = {};
  std::optional<Dyadic> bits = {};
  std::optional<int> cut = {};  ///< bits below this power go
  std::string_view style = {};  ///< "sum", "result", "title"
};

struct Panel {
  std::vector<Line> lines;
};

std::string value_of(Dyadic x) {
  return fmt::format("{}", std::ldexp(static_cast<double>(x.significand), x.exponent));
}

/// The number that a format spells, as a line; the special ones have no bits.
Line number_line(std::string_view name, std::uint64_t bits, const FormatSpec& format,
                 std::string_view style) {
  const double value = decode_value(bits, format);
  Line line{.label = fmt::format("{} {}", name, value_text(bits, format)), .style = style};
  line.hint = "0x" + hex_text(bits, format.storage_bits);
  if (std::isfinite(value)) line.bits = dyadic_of(value);
  return line;
}

/// The last place that a number of this format has around x.
int last_place(Dyadic x, const FormatSpec& format) {
  return std::max(lead_of(x), format.min_exponent()) - format.fraction_bits;
}

Line addend_line(const Explanation& trace, const ExplainedStep& step, const ExplainedAddend& x, bool first) {
  const DotPlan& plan = trace.plan;
  Line line;
  if (x.k < 0)
    line.label =
        fmt::format("{} {}", first && !trace.final_add ? "c" : "sum", value_text(x.a, step.addend_format));
  else if (plan.grouped)
    line.label = fmt::format("k {}-{} {}", x.k, x.k + x.count - 1, value_of(x.products));
  else
    line.label = fmt::format("k {}  {} x {}", x.k, value_text(x.a, plan.a), value_text(x.b, plan.b));
  if (x.kind != Kind::finite) return line;
  line.bits = x.exact;
  line.hint = "exact " + value_of(x.exact);
  if (step.special) return line;
  line.hint += fmt::format(", kept {}, lost {}", value_of(x.kept), value_of(x.lost));
  if (cuts_anything(plan.datapath)) line.cut = step.maximum - plan.datapath.fraction_bits;
  return line;
}

Panel panel_of(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  const FormatSpec& output = trace.plan.step.output;
  const Datapath& datapath = trace.plan.datapath;
  Panel panel;
  std::string title = fmt::format("step {} of {}", index + 1, trace.steps.size());
  if (step.special)
    title += ": an input is NaN or infinite, no sum is formed";
  else if (cuts_anything(datapath))
    title += fmt::format(": the largest exponent is {}{}; bits below 2^{} are cut", step.maximum,
                         step.floor_decided ? " (the floor)" : "", step.maximum - datapath.fraction_bits);
  else
    title += ": nothing is cut before the one rounding";
  panel.lines.push_back({.label = title, .style = "title"});
  std::size_t zeros = 0;
  for (const ExplainedAddend& x : step.addends) {
    if (x.kind == Kind::finite && x.exact.significand == 0)
      ++zeros;
    else
      panel.lines.push_back(addend_line(trace, step, x, index == 0));
  }
  if (zeros != 0) panel.lines.push_back({.label = fmt::format("({} zero)", zeros)});
  if (!step.special) {
    Line sum{.label = "sum " + value_of(step.sum), .bits = step.sum, .style = "sum"};
    if (step.sum.significand != 0) sum.cut = last_place(step.sum, output);
    panel.lines.push_back(std::move(sum));
  }
  const std::string rounding = rounding_text(datapath);
  const std::string rounded =
      fmt::format("{}, {}:", mmaudit::name_of(output.id), rounding.substr(0, rounding.find(',')));
  panel.lines.push_back(number_line(rounded, step.result, output, "result"));
  if (trace.each_add) panel.lines.push_back(number_line("running sum", step.total, output, "result"));
  return panel;
}

std::vector<Panel> panels_of(const DotPicture& picture) {
  const Explanation& trace = picture.trace;
  const FormatSpec& output = trace.plan.step.output;
  std::vector<Panel> out(1);
  out[0].lines.push_back({.label = picture.title, .style = "title"});
  for (std::size_t i = 0; i < trace.steps.size(); ++i) out.push_back(panel_of(trace, trace.steps[i], i));
  Panel rest;
  for (const ExplainedProduct& x : trace.products)
    if (x.product != 0 || x.clamped)
      rest.lines.push_back({.label = fmt::format("k {}  {} x {}", x.k, x.x, x.y),
                            .hint = fmt::format("sum {}{}", x.sum, x.clamped ? ", clamped" : ""),
                            .bits = Dyadic{x.product, 0}});
  for (const ExplainedFma& x : trace.fmas)
    if (x.before != x.after)
      rest.lines.push_back(number_line(fmt::format("after k {}", x.k), x.after, output, ""));
  if (trace.final_add)
    rest.lines.push_back(number_line("c, added last", trace.addend, trace.plan.step.addend, ""));
  rest.lines.push_back(number_line("D", trace.result, output, "result"));
  out.push_back(std::move(rest));
  return out;
}

struct Axis {
  int high = 0, low = 0;
  double left = 0;

  [[nodiscard]] double at(int power) const {
    return left + kBit * (high - power);
  }  ///< left edge of its column
};

std::string power_text(int power) {
  return fmt::format("2<tspan dy=\"-4\" font-size=\"8\">{}</tspan>", power);
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

std::string dot_svg(const std::vector<DotPicture>& pictures) {
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
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" role=\"img\">\n<title>Bits of a dot product on one axis of powers of "
             "two</title>\n"
             "<style>svg{{background:#fff}}text{{font:11px "
             "monospace;fill:#1a1f26;white-space:pre}}.soft{{fill:#56606d}}"
             ".title text{{font:bold 12px "
             "sans-serif}}.gone{{fill:#a3161d}}.kept{{fill:#cfe2fb}}.cut{{fill:#fde3e3}}"
             ".sum .kept{{fill:#fdeed9}}.result .kept{{fill:#cdeedb}}.grid{{stroke:#e3e7ec}}"
             "@media(prefers-color-scheme:dark){{svg{{background:#11151a}}text{{fill:#e7ebf0}}.soft{{fill:#"
             "a3aebb}}"
             ".gone{{fill:#ff9a98}}.kept{{fill:#1d4676}}.cut{{fill:#451a1c}}.sum .kept{{fill:#55391a}}"
             ".result .kept{{fill:#14502f}}.grid{{stroke:#2b343e}}}}</style>\n",
             width, y + 8) +
         grid + "\n" + lines + "</svg>\n";
}

}  // namespace mmaudit::report
