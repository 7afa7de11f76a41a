// How multiprocessors reach the second-level cache and one another.
#include <fmt/format.h>

#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"

namespace mmaudit::sweeps {
namespace {

/// Every map of an access must show it.
void two_sides(const SweepResult& result, std::string_view subject, Finding& out) {
  for (const PartitionMap& map : partition_maps(result, subject)) {
    out.holds = out.holds.value_or(true) && map.two_classes();
    out.measured += fmt::format(
        "{}{:.0f} and {:.0f} cycles, spread {:.0f}; sides of {} and {} multiprocessors; {:.1f}% of the cells "
        "agree with their side",
        out.measured.empty() ? "" : "; ", map.near, map.far, map.spread, map.first_side,
        map.cycles.size() - map.first_side, 100 * map.agreement);
  }
}

}  // namespace

std::vector<Statement> statements_multiprocessors() {
  using Result = const SweepResult&;
  return {
      {"Single loads that hit the second-level cache take one of two latencies, and the multiprocessors fall "
       "into two sides that see them the other way round",
       "Luo 4", [](Result result, Finding& out) { two_sides(result, kPartitionLoad, out); }},
      {"So do atomic operations in the second-level cache", "Luo 4",
       [](Result result, Finding& out) { two_sides(result, kPartitionAtom, out); }},
      {"A word sent to another multiprocessor through global memory takes at least four times as long as a "
       "load of its shared memory",
       "Luo 7",
       [](Result result, Finding& out) {
         const auto found = numbers(
             result,
             {value({.subject = kMessage, .others = {{"flag", "apart"}}}, tag::kCycles),
              value({.subject = "ld.shared::cluster.u32", .others = {{"cluster", "2"}, {"peer", "1"}}},
                    tag::kCycles)});
         if (found.empty()) return;
         out.holds = found[0] >= 4 * found[1];
         out.measured =
             fmt::format("{:.0f} and {:.0f} cycles, {:.2f} times", found[0], found[1], found[0] / found[1]);
         const auto sent =
             value({.subject = kClusterMessage, .others = {{"flag", "apart"}}}, tag::kCycles)(result);
         if (sent) out.measured += fmt::format("; sent through shared memory {:.0f} cycles", *sent);
       }},
  };
}

}  // namespace mmaudit::sweeps
