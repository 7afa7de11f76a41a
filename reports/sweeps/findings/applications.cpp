// Alignments and histograms.
#include <fmt/format.h>

#include <cmath>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

/// Billion cells per second of the whole GPU, the fastest query.
Source cells(std::string_view numbers_of) { return giga(most(numbers_of, tag::kOperationsPerSecond)); }

Source elements(std::string_view subject, std::string_view cluster, std::string_view bins) {
  return giga(most(subject, tag::kOperationsPerSecond, {{"cluster", cluster}, {"bins", bins}}));
}

/// The cluster that counts fastest, of 1, 2, 4 and 8 blocks; null unless all were measured.
const char* best_cluster(const SweepResult& result, std::string_view subject, std::string_view bins,
                         std::string& rates) {
  const char* best = nullptr;
  double highest = 0;
  for (const char* cluster : {"1", "2", "4", "8"}) {
    const auto rate = elements(subject, cluster, bins)(result);
    if (!rate) return nullptr;
    rates += fmt::format("{}{:.0f}", rates.empty() ? "" : ", ", *rate);
    if (*rate > highest) highest = *rate, best = cluster;
  }
  return best;
}

void best_clusters(const SweepResult& result, Finding& out) {
  std::string small_rates, large_rates;
  const char* small = best_cluster(result, "histogram.128", "2048", small_rates);
  const char* large = best_cluster(result, "histogram.512", "2048", large_rates);
  if (small == nullptr || large == nullptr) return;
  out.holds = std::string_view(small) == "4" && std::string_view(large) == "2";
  out.measured = fmt::format("{} and {}; with 1, 2, 4 and 8 blocks {} and {} billion elements per second",
                             small, large, small_rates, large_rates);
}

}  // namespace

std::vector<Statement> statements_applications() {
  using Result = const SweepResult&;
  return {
      {"Alignments of packed 16-bit integers are at least twice as fast with DPX as in plain C++", "Luo 8",
       judged(
           {cells("align.s16x2"), cells("align.s16x2+plain")},
           [](Values& found) {
             found.push_back(found[0] / found[1]);
             return found[2] >= 2;
           },
           "{:.0f} and {:.0f} GCUPS, {:.2f} times")},
      {"Alignments of 32-bit integers gain nothing from DPX, within 5%", "Luo 8",
       judged(
           {cells("align.s32"), cells("align.s32+plain")},
           [](Values& found) { return std::abs(found[0] - found[1]) <= 0.05 * found[1]; },
           "{:.0f} and {:.0f} GCUPS")},
      {"Alignments of packed 16-bit integers reach 80% of what the DPX unit can do", "mmaudit",
       judged(
           {scaled(100, most("align.s16x2", tag::kShareHeld, {}, "sm"))},
           [](Values& found) { return found[0] >= 80; }, "{:.1f}%")},
      {"Some kind of numbers aligns more than the 4987.4 GCUPS of an RTX 4090", "Luo 8",
       [](Result result, Finding& out) {
         std::string_view best;
         double highest = 0;
         for (const std::string_view one : {"align.s16x2", "align.s32", "align.half2", "align.float"})
           if (const auto rate = cells(one)(result); rate && *rate > highest) highest = *rate, best = one;
         if (best.empty()) return;
         out.holds = highest > 4987.4;
         out.measured = fmt::format("{:.0f} GCUPS, {}", highest, best);
       }},
      {"Blocks of 128 threads without a cluster count at least 5% slower into 2048 bins than into 1024",
       "Luo 7",
       judged(
           {elements("histogram.128", "1", "1024"), elements("histogram.128", "1", "2048")},
           [](Values& found) { return found[1] <= 0.95 * found[0]; },
           "{:.0f} and {:.0f} billion elements per second")},
      {"Into 2048 bins, blocks of 128 threads count fastest in clusters of 4, blocks of 512 in clusters of 2",
       "Luo 7", best_clusters},
  };
}

}  // namespace mmaudit::sweeps
