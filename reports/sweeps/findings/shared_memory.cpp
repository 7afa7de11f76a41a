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

}  // namespace

std::vector<Statement> statements_shared_memory() {
  using Result = const SweepResult&;
  return {
      {"ldmatrix reaches 99% of 128 B/clk/SM, and no more than that", "Sun IX",
       [](Result result, Finding& out) {
         const auto best = best_rate(result, "ldmatrix.x4", 1, 32);
         if (!best) return;
         out.holds = *best >= 0.99 * 128 && *best <= 1.005 * 128;
         out.measured = fmt::format("{:.1f} B/clk/SM (ldmatrix.x4)", *best);
       }},
      {"ldmatrix.x2 and .x4 take as long as ld.shared with 2- and 4-way conflicts, within a cycle", "Sun VII",
       [](Result result, Finding& out) {
         const auto found = numbers({cycles(result, "ldmatrix.x2"), cycles(result, "ld.shared.u32", "2"),
                                     cycles(result, "ldmatrix.x4"), cycles(result, "ld.shared.u32", "4")});
         if (found.empty()) return;
         out.holds = std::abs(found[0] - found[1]) <= 1 && std::abs(found[2] - found[3]) <= 1;
         out.measured =
             fmt::format("{:.2f}, {:.2f} and {:.2f}, {:.2f} cycles", found[0], found[1], found[2], found[3]);
       }},
      {"Each way of a bank conflict costs 2.0 cycles, within 0.1", "Sun X",
       [](Result result, Finding& out) {
         const auto found =
             numbers({cycles(result, "ld.shared.u32", "1"), cycles(result, "ld.shared.u32", "8")});
         if (found.empty()) return;
         const double slope = (found[1] - found[0]) / 7;
         out.holds = std::abs(slope - 2) <= 0.1;
         out.measured =
             fmt::format("{:.3f} cycles per way: {:.2f} at 1, {:.2f} at 8", slope, found[0], found[1]);
       }},
  };
}

}  // namespace mmaudit::sweeps
