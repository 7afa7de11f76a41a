#include "explain_integers.hpp"

#include <fmt/format.h>

#include "mmaudit/convert.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::cli {
namespace {

std::string factor_text(std::uint64_t bits, const FormatSpec& format, std::int64_t value) {
  return fmt::format("0x{} = {}", hex_text(bits, format.storage_bits), value);
}

}  // namespace

std::string products_text(const Explanation& trace, bool all) {
  const FormatSpec& c = trace.plan.step.addend;
  std::string text = fmt::format("  c 0x{} = {}\n  {:>3}  {:<16} {:<16} {:>8} {:>12}\n",
                                 hex_text(trace.addend, c.storage_bits), value_text(trace.addend, c), "k",
                                 "a", "b", "product", "sum");
  std::size_t zeros = 0;
  for (const ExplainedProduct& x : trace.products) {
    if (x.product == 0 && !all && !x.clamped) {
      ++zeros;
      continue;
    }
    text += fmt::format("  {:>3}  {:<16} {:<16} {:>8} {:>12}{}\n", x.k, factor_text(x.a, trace.plan.a, x.x),
                        factor_text(x.b, trace.plan.b, x.y), x.product, x.sum, x.clamped ? "  clamped" : "");
  }
  if (zeros != 0) text += fmt::format("       ({} zero products)\n", zeros);
  return text;
}

std::string integer_verdict(const Explanation& trace, double exact, const std::string& decimal) {
  const char* fate =
      trace.plan.integers.clamp == IntegerClamp::never ? ", which wraps" : ", which is clamped";
  const bool kept = exact == decode_value(trace.result, trace.plan.step.output);
  return fmt::format("exact {}{}\n", decimal, kept ? "" : fate);
}

}  // namespace mmaudit::cli
