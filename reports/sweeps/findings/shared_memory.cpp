// Loads of shared memory and its banks.
#include <fmt/format.h>

#include <cmath>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

std::optional<double> cycles(const SweepResult& result, std::string_view subject,
                             std::string_view ways = "") {
  return value_at(result, {.subject = subject, .others = {{"ways", ways}}}, tag::kCycles);
}

void ldmatrix_fills_the_banks(const SweepResult& result, Finding& out) {
  const auto best = best_rate(result, "ldmatrix.x4", 1, 32);
  if (!best) return;
  out.holds = *best >= 0.99 * 128 && *best <= 1.005 * 128;
  out.measured = fmt::format("{:.1f} B/clk/SM (ldmatrix.x4)", *best);
}

void ldmatrix_is_a_conflicted_load(const SweepResult& result, Finding& out) {
  const auto x2 = cycles(result, "ldmatrix.x2"), x4 = cycles(result, "ldmatrix.x4"),
             two = cycles(result, "ld.shared.u32", "2"), four = cycles(result, "ld.shared.u32", "4");
  if (!x2 || !x4 || !two || !four) return;
  out.holds = std::abs(*x2 - *two) <= 1 && std::abs(*x4 - *four) <= 1;
  out.measured = fmt::format("{:.2f}, {:.2f} and {:.2f}, {:.2f} cycles", *x2, *two, *x4, *four);
}

void conflict_costs_two_cycles(const SweepResult& result, Finding& out) {
  const auto one = cycles(result, "ld.shared.u32", "1"), eight = cycles(result, "ld.shared.u32", "8");
  if (!one || !eight) return;
  const double slope = (*eight - *one) / 7;
  out.holds = std::abs(slope - 2) <= 0.1;
  out.measured = fmt::format("{:.3f} cycles per way: {:.2f} at 1, {:.2f} at 8", slope, *one, *eight);
}

}  // namespace

std::vector<Statement> statements_shared_memory() {
  return {
      {"ldmatrix reaches 99% of 128 B/clk/SM, and no more than that", "Sun IX", ldmatrix_fills_the_banks},
      {"ldmatrix.x2 and .x4 take as long as ld.shared with 2- and 4-way conflicts, within a cycle", "Sun VII",
       ldmatrix_is_a_conflicted_load},
      {"Each way of a bank conflict costs 2.0 cycles, within 0.1", "Sun X", conflict_costs_two_cycles},
  };
}

}  // namespace mmaudit::sweeps
