#include "explain_scaled.hpp"

#include <fmt/format.h>

#include <cmath>

#include "mmaudit/value_text.hpp"

namespace mmaudit::cli {
namespace {

std::string scale_pair_text(const Explanation& trace, int k) {
  const DotPlan& plan = trace.plan;
  const auto text = [&](const std::vector<std::uint64_t>& bytes) {
    return hex_value(bytes[static_cast<std::size_t>(k / plan.scale_block)], plan.scale);
  };
  return fmt::format("{:<16} {:<16}", text(trace.scale_a), text(trace.scale_b));
}

}  // namespace

std::string number(Dyadic x) {
  if (x.significand == 0) return "0";
  return fmt::format("{}", std::ldexp(static_cast<double>(x.significand), x.exponent));
}

std::string hex_value(std::uint64_t bits, const FormatSpec& format) {
  return fmt::format("0x{} = {}", hex_text(bits, format.storage_bits), value_text(bits, format));
}

std::string scales_text(const Explanation& trace) {
  const DotPlan& plan = trace.plan;
  if (!plan.block_scaled()) return {};
  std::string text;
  for (const bool of_a : {true, false}) {
    text += fmt::format("scales of {} ({}, every {} of k):", of_a ? 'A' : 'B',
                        mmaudit::name_of(plan.scale.id), plan.scale_block);
    for (const std::uint64_t bits : of_a ? trace.scale_a : trace.scale_b)
      text += fmt::format("  {}", hex_value(bits, plan.scale));
    text += "\n";
  }
  return text;
}

std::string groups_text(const Explanation& trace, const ExplainedStep& step, std::size_t index) {
  std::string text = fmt::format("  {:>6}  {:<16} {:<16} {:<16} {:>4}  {:<24} {:<24} {}\n", "k", "products",
                                 "scale of A", "scale of B", "e", "exact", "kept", "lost");
  for (const ExplainedAddend& x : step.addends) {
    const bool addend = x.k < 0;
    const std::string label = addend ? (index == 0 && !trace.final_add ? "c" : "sum")
                                     : fmt::format("{}-{}", x.k, x.k + x.count - 1);
    const std::string left = addend
                                 ? fmt::format("{:<49} ", hex_value(x.a, step.addend_format))
                                 : fmt::format("{:<16} {}", number(x.products), scale_pair_text(trace, x.k));
    const bool finite = x.kind == Kind::finite;
    text +=
        fmt::format("  {:>6}  {:<50} {:>4}  {:<24} {:<24} {}\n", label, left,
                    x.in_maximum && finite ? std::to_string(x.exponent) : "-", finite ? number(x.exact) : "-",
                    step.special ? "-" : number(x.kept), step.special ? "-" : number(x.lost));
  }
  return text;
}

}  // namespace mmaudit::cli
