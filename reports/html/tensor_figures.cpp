// Figures of an audit of tensors.
#include "audit_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gemm/audit_tables.hpp"
#include "printed.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

/// Parts of an error, told apart by colour and by shape.
struct ErrorPart {
  std::string_view name;
  double GemmErrors::*value;
  Format shape;
};
constexpr ErrorPart kParts[] = {{"quantization", &GemmErrors::quantization, Format::tf32},
                                {"accumulation", &GemmErrors::accumulation, Format::bf16},
                                {"output", &GemmErrors::output, Format::e4m3}};

std::vector<const GemmAuditRow*> drawn_rows(const GemmAudit& audit) {
  std::vector<const GemmAuditRow*> out;
  for (const GemmAuditRow& row : audit.rows_of)
    if (row.errors.compared != 0 && out.size() < kMostDrawn) out.push_back(&row);
  return out;
}

bool on_axis(double x) { return std::isfinite(x) && x > 0; }

svg::ErrorAxis axis_of(const GemmAudit& audit, const std::vector<const GemmAuditRow*>& rows) {
  double least = 1, most = 0;
  const auto count = [&](double x) {
    if (!on_axis(x)) return;
    least = std::min(least, x);
    most = std::max(most, x);
  };
  if (audit.limit) count(*audit.limit);
  for (const GemmAuditRow* row : rows) {
    count(row->errors.total);
    for (const ErrorPart& part : kParts) count(row->errors.*part.value);
  }
  if (most == 0) least = most = 1e-3;
  constexpr int kWidest = 12;
  svg::LogAxis x = svg::axis_around(48, 380, least, most);
  x.low = std::max(x.low, x.high - kWidest);
  return {x, 14};
}

std::string split_description(const GemmAudit& audit, const std::vector<const GemmAuditRow*>& rows) {
  const bool several = several_architectures(audit);
  std::string about = "Relative Frobenius norms on a logarithmic axis.";
  if (audit.limit) about += fmt::format(" The limit is {:.3g}.", *audit.limit);
  for (const GemmAuditRow* row : rows) {
    about += fmt::format(" {}: total {}", subject_text(*row, several), error_text(row->errors.total));
    for (const ErrorPart& part : kParts)
      about += fmt::format(", {} {}", part.name, error_text(row->errors.*part.value));
    about += ".";
  }
  return about;
}

/// Share of the finite elements that lost `bits`.
double share_that_lost(const CastCounts& counts, std::size_t bits) {
  return share_of(counts.bits_lost[bits], finite_elements(counts));
}

std::string lost_description(const GemmAuditRow& row) {
  std::string about;
  for (const auto& [operand, counts] : {std::pair{"A", &row.cast_a}, std::pair{"B", &row.cast_b}}) {
    about += fmt::format("{}Elements of {} by bits lost:", about.empty() ? "" : " ", operand);
    for (std::size_t bits = 0; bits < counts->bits_lost.size(); ++bits)
      if (counts->bits_lost[bits] != 0)
        about += fmt::format(" {} bits {:.3g}%", bits, 100 * share_that_lost(*counts, bits));
    about += ".";
  }
  return about;
}

std::string histogram(const GemmAuditRow& row, std::size_t index) {
  constexpr double kLeft = 34, kBottom = 112, kHigh = 84, kStep = 6.4;
  double most = 0;
  for (std::size_t bits = 0; bits < row.cast_a.bits_lost.size(); ++bits)
    most = std::max({most, share_that_lost(row.cast_a, bits), share_that_lost(row.cast_b, bits)});
  if (most == 0) return "";
  const std::string id = fmt::format("lost{}", index);
  std::string out = svg::open_svg(
      200, 148, id, fmt::format("Bits lost: {}, scale {}", row.dtype, row.scaling), lost_description(row));
  out += svg::text(kLeft, 16, "strong", escaped_html(fmt::format("{}, {}", row.dtype, row.scaling)));
  for (const auto& [share, label] :
       {std::pair{0.0, std::string("0")}, std::pair{most, fmt::format("{:.0f}%", 100 * most)}}) {
    const double at = kBottom - kHigh * share / most;
    out += svg::line(kLeft, at, kLeft + kStep * 25, at, share == 0 ? "axis" : "grid") +
           svg::text(kLeft - 5, at + 4, "soft end", label);
  }
  for (std::size_t bits = 0; bits < row.cast_a.bits_lost.size(); ++bits) {
    const double left = kLeft + kStep * static_cast<double>(bits);
    for (const auto& [share, cls, shift] : {std::tuple{share_that_lost(row.cast_a, bits), "bar a", 0.3},
                                            std::tuple{share_that_lost(row.cast_b, bits), "bar b", 3.2}}) {
      // What is there is visible, however little.
      const double height = share == 0 ? 0 : std::max(1.0, kHigh * share / most);
      if (height != 0)
        out += svg::hinted(fmt::format("{}: {} bits lost by {:.3g}%",
                                       std::string_view(cls) == "bar a" ? "A" : "B", bits, 100 * share),
                           svg::rect(cls, left + shift, kBottom - height, 2.9, height));
    }
    if (bits % 8 == 0)
      out += svg::text(left + kStep / 2, kBottom + 15, "soft middle", fmt::format("{}", bits));
  }
  return out + svg::text(kLeft + kStep * 12.5, kBottom + 31, "soft middle", "bits lost of 24") + "</svg>";
}

/// An edge of the colours: a sixteenth and twice of what they stand for have a sign of division and of
/// multiplication.
std::string share_text(double share) {
  return share < 1 ? fmt::format("\u00f7{:g}", 1 / share) : fmt::format("\u00d7{:g}", share);
}

}  // namespace

std::string heat_key(const GemmAudit& audit) {
  constexpr double kLeft = 24, kStep = 44, kHigh = 16;
  constexpr int kSteps = static_cast<int>(std::size(kHeatEdges)) + 1, kMiddle = kSteps / 2;
  const bool marked = audit.reference && audit.limit && *audit.reference > 0;
  const double top = marked ? 48 : 26;
  const HeatScale scale = heat_scale(audit);
  const std::string what = audit.limit ? "limit" : audit.reference ? "BF16" : "least";
  std::string out =
      svg::open_svg(2 * kLeft + kSteps * kStep, top + kHigh + 36, "key", "Colours of the errors",
                    fmt::format("Eight colours in order of the error; they change at shares of {} {:.3g}.",
                                what, scale.unit));
  const auto at = [=](int edge) { return kLeft + kStep * edge; };
  for (int step = 0; step < kSteps; ++step)
    out += svg::rect(fmt::format("h{}", step), at(step), top, kStep, kHigh, 0);
  for (int edge = 1; edge < kSteps; ++edge)
    out += svg::text(at(edge), top + kHigh + 16, edge == kMiddle ? "strong middle" : "soft middle",
                     edge == kMiddle ? what : share_text(kHeatEdges[edge - 1]));
  for (const int edge : {1, kMiddle, kSteps - 1})
    out += svg::text(at(edge), top + kHigh + 32, edge == kMiddle ? "strong middle" : "soft middle",
                     error_text(scale.unit * kHeatEdges[edge - 1]));
  out += svg::line(at(kMiddle), top - 8, at(kMiddle), top + kHigh + 3, audit.limit ? "limit" : "total") +
         svg::text(at(kMiddle) - 14, top - 6, "end", audit.limit ? "\u2713 within" : "smaller") +
         svg::text(at(kMiddle) + 14, top - 6, "", audit.limit ? "\u2717 beyond" : "larger");
  if (marked) {
    // Between the edges by its logarithm; beyond them in the middle of the outer step.
    const double share = *audit.reference / scale.unit;
    const int next = HeatScale{1, true}.colour_of(share);
    const double part =
        next == 0 || next == kSteps - 1
            ? 0.5
            : std::log(share / kHeatEdges[next - 1]) / std::log(kHeatEdges[next] / kHeatEdges[next - 1]);
    const double x = at(next) + kStep * part;
    out += svg::line(x, top - 22, x, top + kHigh + 3, "total") +
           svg::text(x, top - 26, "middle", fmt::format("BF16 {:.2g}", *audit.reference));
  }
  return out + "</svg>";
}

std::string split_figure(const GemmAudit& audit) {
  const std::vector<const GemmAuditRow*> rows = drawn_rows(audit);
  if (rows.empty()) return "";
  constexpr double kTop = 78, kRow = 36;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  const svg::ErrorAxis x = axis_of(audit, rows);
  std::string out =
      svg::open_svg(svg::kPhone, bottom + 44, "split", "Splits of the error", split_description(audit, rows));

  double legend = 6;
  for (const ErrorPart& part : kParts) {
    out += svg::mark(part.shape, false, legend, 12) + svg::text(legend + 10, 16, "", part.name);
    legend += 112;
  }
  out += svg::line(legend, 4, legend, 20, "total") + svg::text(legend + 8, 16, "", "total");
  constexpr int kDecades = 9;  // more labels would touch
  out += x.grid(kTop - 8, bottom, x.decades.high - x.decades.low > kDecades ? 2 : 1, true);
  out += svg::text((x.decades.from + x.decades.to) / 2, bottom + 36, "soft middle",
                   "relative error of D (Frobenius norm)");
  const bool several = several_architectures(audit);
  double at = kTop;
  for (const GemmAuditRow* row : rows) {
    const GemmErrors& errors = row->errors;
    out += svg::text(0, at + 6, "", escaped_html(subject_text(*row, several)));
    if (row->verdict != GemmVerdict::not_asked)
      out +=
          svg::text(398, at + 6, fmt::format("end {}", row->verdict == GemmVerdict::pass ? "pass" : "fail"),
                    name_of(row->verdict));
    const double y = at + 19;
    out += svg::line(0, y, 398, y, "grid");
    for (const ErrorPart& part : kParts)
      if (const double value = errors.*part.value; std::isfinite(value))
        out += svg::hinted(fmt::format("{} {}", part.name, error_text(value)),
                           svg::mark(part.shape, false, x.at(value), y));
    if (std::isfinite(errors.total))
      out += svg::hinted("total " + error_text(errors.total),
                         svg::line(x.at(errors.total), y - 8, x.at(errors.total), y + 8, "total"));
    at += kRow;
  }
  if (audit.limit && on_axis(*audit.limit)) {
    const double limit = x.at(*audit.limit);
    out += svg::line(limit, kTop - 26, limit, bottom, "limit") +
           svg::text(limit, kTop - 30, limit > 340 ? "end" : "middle",
                     fmt::format("limit {:.3g}", *audit.limit));
  }
  return out + "</svg>";
}

std::vector<std::string> bits_lost_figures(const GemmAudit& audit) {
  std::vector<const GemmAuditRow*> rows = conversions(audit);
  if (rows.size() > kMostDrawn) rows.resize(kMostDrawn);
  std::vector<std::string> out = {
      "<p class=\"soft small\"><svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect "
      "class=\"bar a\" width=\"10\" height=\"10\"/></svg> A <svg class=\"key\" viewBox=\"0 0 10 10\" "
      "aria-hidden=\"true\"><rect class=\"bar b\" width=\"10\" height=\"10\"/></svg> B</p>"};
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::string figure = histogram(*rows[i], i); !figure.empty()) out.push_back(std::move(figure));
  if (out.size() == 1) out.clear();  // a key without figures
  return out;
}

std::string error_map_figure(const GemmAudit& audit, const GemmAuditRow& row, std::size_t index) {
  constexpr svg::Grid kCells{.left = 58, .top = 44, .wide = 20, .high = 20};
  const ErrorMap& map = row.map;
  double least = 1e300, most = 0;
  for (const auto& error : map.errors) {
    least = std::min(least, error.value_or(least));
    most = std::max(most, error.value_or(0));
  }
  if (most == 0) return "";
  const HeatScale scale = heat_scale(audit);
  const double right = kCells.x(map.columns.size()), bottom = kCells.y(map.rows.size());
  const std::string name = subject_text(row, several_architectures(audit));
  std::string out = svg::open_svg(std::max(right + 8, 300.0), bottom + 26, fmt::format("map{}", index),
                                  "Error of D by rows and columns: " + name,
                                  fmt::format("{} x {} bands; errors from {} to {}.", map.rows.size(),
                                              map.columns.size(), error_text(least), error_text(most)));
  out += svg::text(kCells.left, 14, "strong", escaped_html(name)) +
         svg::text(kCells.left - 6, kCells.top - 6, "soft end", "row, col");
  for (std::size_t c = 0; c < map.columns.size(); c += 4)
    out += svg::text(kCells.x(c), kCells.top - 6, "soft", std::to_string(map.columns[c]));
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = kCells.y(r);
    if (r % 4 == 0) out += svg::text(kCells.left - 6, y + 16, "soft end", std::to_string(map.rows[r]));
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const auto& error = map.errors[r * map.columns.size() + c];
      if (!error) continue;
      out += svg::hinted(
          fmt::format("rows from {}, columns from {}: {}", map.rows[r], map.columns[c], error_text(*error)),
          svg::rect(fmt::format("h{}", scale.colour_of(*error)), kCells.x(c), y, kCells.wide - 1,
                    kCells.high - 1, 0));
    }
  }
  return out +
         svg::text(kCells.left, bottom + 16, "soft",
                   fmt::format("{} to {}", error_text(least), error_text(most))) +
         "</svg>";
}

std::string sum_figure(const WorstElement& worst) {
  if (worst.steps.empty()) return "";
  const std::uint64_t depth = worst.steps.back().k;
  svg::Plot plot{
      .id = "sum",
      .title = "Where the accumulator leaves the exact sum",
      .x_title = "products added, k",
      .about = "Distance of the accumulator from the exact sum of the converted products against k.",
      .x = {.last = static_cast<double>(depth)},
      .curves = {{"|accumulator - exact sum|", Format::bf16}}};
  for (const WorstStep& step : worst.steps) {
    const double error = std::fabs(step.sum - step.converted);
    if (!on_axis(error)) continue;
    plot.curves[0].points.emplace_back(step.k, error);
    plot.about += fmt::format(" {} at k = {}.", error_text(error), step.k);
  }
  for (std::uint64_t quarter = 0; quarter <= 4; ++quarter)
    plot.ticks.emplace_back(depth * quarter / 4, fmt::format("{}", depth * quarter / 4));
  return svg::drawn(plot);
}

}  // namespace mmaudit::report
