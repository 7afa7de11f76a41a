#include "dot_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::report {
namespace {

Line addend_line(const Explanation& trace, const ExplainedStep& step, const ExplainedAddend& x, bool first) {
  const DotSpec& spec = trace.spec;
  Line line;
  if (x.k < 0)
    line.label =
        fmt::format("{} {}", first && !trace.final_add ? "c" : "sum", value_text(x.a, step.addend_format));
  else if (spec.grouped)
    line.label = fmt::format("k {}-{} {}", x.k, x.k + x.count - 1, value_of(x.products));
  else
    line.label = fmt::format("k {}  {} x {}", x.k, value_text(x.a, spec.a), value_text(x.b, spec.b));
  if (x.kind != Kind::finite) return line;
  line.bits = x.exact;
  line.hint = "exact " + value_of(x.exact);
  if (step.special) return line;
  line.hint += fmt::format(", kept {}, lost {}", value_of(x.kept), value_of(x.lost));
  if (cuts_anything(spec.datapath)) line.cut = step.maximum - spec.datapath.fraction_bits;
  return line;
}

Panel panel_of(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  const FormatSpec& output = trace.spec.step.output;
  const Datapath& datapath = trace.spec.datapath;
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
    panel.lines.push_back(sum_line(step.sum, output));
  }
  panel.lines.push_back(rounded_line(trace, step.result));
  if (trace.each_add) panel.lines.push_back(number_line("running sum", step.total, output, "result"));
  return panel;
}

}  // namespace

std::uint64_t magnitude_of(Dyadic x) {
  return x.significand < 0 ? 0 - static_cast<std::uint64_t>(x.significand)
                           : static_cast<std::uint64_t>(x.significand);
}
int lead_of(Dyadic x) { return x.exponent + 63 - std::countl_zero(magnitude_of(x)); }
int last_place(Dyadic x, const FormatSpec& format) {
  return std::max(lead_of(x), format.min_exponent()) - format.fraction_bits;
}
int last_of(Dyadic x) { return x.exponent + std::countr_zero(magnitude_of(x)); }

Dyadic dyadic_of(double x) {
  int exponent = 0;
  const double significand = std::frexp(x, &exponent);
  return {static_cast<std::int64_t>(std::ldexp(significand, 53)), exponent - 53};
}

std::string value_of(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

std::string value_of(Dyadic x) {
  return value_of(std::ldexp(static_cast<double>(x.significand), x.exponent));
}

Line number_line(std::string_view name, std::uint64_t bits, const FormatSpec& format,
                 std::string_view style) {
  const double value = decode_value(bits, format);
  Line line{.label = fmt::format("{} {}", name, value_text(bits, format)), .style = style};
  line.hint = "0x" + hex_text(bits, format.storage_bits);
  if (std::isfinite(value)) line.bits = dyadic_of(value);
  return line;
}

Line sum_line(Dyadic sum, const FormatSpec& output) {
  Line line{.label = "sum " + value_of(sum), .bits = sum, .style = "sum"};
  if (sum.significand != 0) line.cut = last_place(sum, output);
  return line;
}

Line rounded_line(const Explanation& trace, std::uint64_t bits) {
  const std::string rounding = rounding_text(trace.spec.datapath);
  const FormatSpec& output = trace.spec.step.output;
  return number_line(
      fmt::format("{}, {}:", mmaudit::name_of(output.id), rounding.substr(0, rounding.find(','))), bits,
      output, "result");
}

std::vector<Panel> panels_of(const DotPicture& picture) {
  const Explanation& trace = picture.trace;
  const FormatSpec& output = trace.spec.step.output;
  std::vector<Panel> out(1);
  out[0].lines.push_back({.label = picture.title, .style = "title"});
  for (std::size_t i = 0; i < trace.steps.size(); ++i) out.push_back(panel_of(trace, trace.steps[i], i));
  for (std::size_t i = 0; i < trace.stages.size(); ++i) out.push_back(stage_panel(trace, i));
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
    rest.lines.push_back(number_line("c, added last", trace.addend, trace.spec.step.addend, ""));
  rest.lines.push_back(number_line("D", trace.result, output, "result"));
  out.push_back(std::move(rest));
  return out;
}

}  // namespace mmaudit::report
