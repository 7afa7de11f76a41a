// Loads of shared memory and its banks.
#include <cmath>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

Source cycles(std::string_view subject, std::string_view ways = "") {
  return value({.subject = subject, .others = {{"ways", ways}}}, tag::kCycles);
}

}  // namespace

std::vector<Statement> statements_shared_memory() {
  return {
      {"ldmatrix reaches 99% of 128 B/clk/SM, and no more than that", "Sun IX",
       judged(
           {best_rate("ldmatrix.x4", 1, 32)},
           [](Values& found) { return found[0] >= 0.99 * 128 && found[0] <= 1.005 * 128; },
           "{:.1f} B/clk/SM (ldmatrix.x4)")},
      {"One warp reads at most half of 128 B/clk/SM by ldmatrix, and comes within 5% of it", "Sun IX",
       judged(
           {best_rate("ldmatrix.x4", 1, 1)},
           [](Values& found) { return found[0] >= 0.95 * 64 && found[0] <= 1.005 * 64; },
           "{:.1f} B/clk/SM (ldmatrix.x4)")},
      {"Six warps read no less by ldmatrix than four: mma's dip is not there", "Sun 7",
       judged(
           {best_rate("ldmatrix.x4", 4, 4), best_rate("ldmatrix.x4", 6, 6)},
           [](Values& found) { return found[1] >= 0.995 * found[0]; },
           "{:.1f} and {:.1f} B/clk/SM with 4 and 6 warps (ldmatrix.x4)")},
      {"wmma.load of A takes at least 10 cycles longer than a chain of ldmatrix.x4, which it is made of",
       "mmaudit",
       judged(
           {cycles("wmma.load.a.m16n16k16.f16"), cycles("ldmatrix.x4")},
           [](Values& found) { return found[0] >= found[1] + 10; }, "{:.2f} and {:.2f} cycles")},
      {"ldmatrix.x2 and .x4 take as long as ld.shared with 2- and 4-way conflicts, within a cycle", "Sun VII",
       judged(
           {cycles("ldmatrix.x2"), cycles("ld.shared.u32", "2"), cycles("ldmatrix.x4"),
            cycles("ld.shared.u32", "4")},
           [](Values& found) {
             return std::abs(found[0] - found[1]) <= 1 && std::abs(found[2] - found[3]) <= 1;
           },
           "{:.2f}, {:.2f} and {:.2f}, {:.2f} cycles")},
      {"Each way of a bank conflict costs 2.0 cycles, within 0.1", "Sun X",
       judged(
           {cycles("ld.shared.u32", "1"), cycles("ld.shared.u32", "8")},
           [](Values& found) {
             found.push_back((found[1] - found[0]) / 7);
             return std::abs(found[2] - 2) <= 0.1;
           },
           "{2:.3f} cycles per way: {0:.2f} at 1, {1:.2f} at 8")},
  };
}

}  // namespace mmaudit::sweeps
