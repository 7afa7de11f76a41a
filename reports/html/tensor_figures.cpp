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
  svg::LogAxis x = svg::axis_around(48, 446, least, most);
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
  constexpr double kLeft = 34, kBottom = 112, kHigh = 84, kStep = 7.6;
  double most = 0;
  for (std::size_t bits = 0; bits < row.cast_a.bits_lost.size(); ++bits)
    most = std::max({most, share_that_lost(row.cast_a, bits), share_that_lost(row.cast_b, bits)});
  if (most == 0) return "";
  const std::string id = fmt::format("lost{}", index);
  std::string out = svg::open_svg(
      230, 148, id, fmt::format("Bits lost: {}, scale {}", row.dtype, row.scaling), lost_description(row));
  out += svg::text(kLeft, 16, "strong", escaped_html(fmt::format("{}, {}", row.dtype, row.scaling)));
  for (const auto& [share, label] :
       {std::pair{0.0, std::string("0")}, std::pair{most, fmt::format("{:.0f}%", 100 * most)}}) {
    const double at = kBottom - kHigh * share / most;
    out += svg::line(kLeft, at, kLeft + kStep * 25, at, share == 0 ? "axis" : "grid") +
           svg::text(kLeft - 5, at + 4, "soft end", label);
  }
  for (std::size_t bits = 0; bits < row.cast_a.bits_lost.size(); ++bits) {
    const double left = kLeft + kStep * static_cast<double>(bits);
    for (const auto& [share, cls, shift] : {std::tuple{share_that_lost(row.cast_a, bits), "bar a", 0.4},
                                            std::tuple{share_that_lost(row.cast_b, bits), "bar b", 3.9}}) {
      // What is there is visible, however little.
      const double height = share == 0 ? 0 : std::max(1.0, kHigh * share / most);
      if (height != 0)
        out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"3.3\" height=\"{:.1f}\"/>",
                           cls, left + shift, kBottom - height, height);
    }
    if (bits % 8 == 0)
      out += svg::text(left + kStep / 2, kBottom + 15, "soft middle", fmt::format("{}", bits));
  }
  return out + svg::text(kLeft + kStep * 12.5, kBottom + 31, "soft middle", "bits lost of 24") + "</svg>";
}

}  // namespace

std::string split_figure(const GemmAudit& audit) {
  const std::vector<const GemmAuditRow*> rows = drawn_rows(audit);
  if (rows.empty()) return "";
  constexpr double kTop = 50, kRow = 36;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  const svg::ErrorAxis x = axis_of(audit, rows);
  std::string out =
      svg::open_svg(460, bottom + 44, "split", "Splits of the error", split_description(audit, rows));

  double legend = 6;
  for (const ErrorPart& part : kParts) {
    out += svg::mark(part.shape, false, legend, 12) + svg::text(legend + 10, 16, "", part.name);
    legend += 112;
  }
  out += svg::line(legend, 4, legend, 20, "total") + svg::text(legend + 8, 16, "", "total");
  out += x.grid(kTop - 8, bottom);
  out += svg::text((x.decades.from + x.decades.to) / 2, bottom + 36, "soft middle",
                   "relative error of D (Frobenius norm)");
  const bool several = several_architectures(audit);
  double at = kTop;
  for (const GemmAuditRow* row : rows) {
    const GemmErrors& errors = row->errors;
    out += svg::text(0, at + 6, "", escaped_html(subject_text(*row, several)));
    if (row->verdict != GemmVerdict::not_asked)
      out +=
          svg::text(458, at + 6, fmt::format("end {}", row->verdict == GemmVerdict::pass ? "pass" : "fail"),
                    name_of(row->verdict));
    const double y = at + 19;
    out += svg::line(0, y, 458, y, "grid");
    for (const ErrorPart& part : kParts)
      if (const double value = errors.*part.value; std::isfinite(value))
        out += svg::mark(part.shape, false, x.at(value), y);
    if (std::isfinite(errors.total))
      out += svg::line(x.at(errors.total), y - 8, x.at(errors.total), y + 8, "total");
    at += kRow;
  }
  if (audit.limit && on_axis(*audit.limit)) {
    const double limit = x.at(*audit.limit);
    out += svg::line(limit, kTop - 8, limit, bottom, "limit") +
           svg::text(limit, kTop - 13, limit > 400 ? "end" : "middle",
                     fmt::format("limit {:.3g}", *audit.limit));
  }
  return out + "</svg>";
}

std::vector<std::string> bits_lost_figures(const GemmAudit& audit) {
  std::vector<const GemmAuditRow*> rows = conversions(audit);
  if (rows.size() > kMostDrawn) rows.resize(kMostDrawn);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::string figure = histogram(*rows[i], i); !figure.empty()) out.push_back(std::move(figure));
  if (!out.empty())
    out.insert(
        out.begin(),
        "<p class=\"soft small\"><svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect "
        "class=\"bar a\" width=\"10\" height=\"10\"/></svg> A <svg class=\"key\" viewBox=\"0 0 10 10\" "
        "aria-hidden=\"true\"><rect class=\"bar b\" width=\"10\" height=\"10\"/></svg> B</p>");
  return out;
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
