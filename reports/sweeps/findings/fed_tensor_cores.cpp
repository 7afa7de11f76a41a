// Bytes that arrive in shared memory while wgmma runs.
#include <fmt/format.h>

#include <algorithm>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kFed = "wgmma.m64n256k16.f32.f16.f16+feed",
                           kLoads = "wgmma.m64n256k16.f32.f16.f16+feed+loads";
/// Of the rate without a feed.
constexpr double kKept = 0.95;
constexpr double kMore = 1.02;
/// Of four wgmma at the peak of the tensor cores.
constexpr double kGroupCycles = 512;

struct Feed {
  double bytes = 0, kept = 0;  ///< per clock per multiprocessor; share of the rate without a feed
  double asked = 0;            ///< the bytes that the full rate would take
};

/// The whole GPU with four stages: each feed of this level, the least first, and what wgmma keeps beside it
/// of its rate with neither a feed nor loads.
std::vector<Feed> feeds(const SweepResult& result, std::string_view level, std::string_view a,
                        std::string_view subject = kFed) {
  std::vector<Feed> found;
  const auto alone = most(kFed, tag::kFma, {{"a", a}, {"fed", "0"}})(result);
  if (!alone) return found;
  for (const Point& point : result.points) {
    if (point.subject != subject || point.axis("scope") != "gpu" || point.axis("level") != level) continue;
    if (point.axis("a") != a || point.axis("stages") != "4") continue;
    const auto fma = point.get(tag::kFma), bytes = point.get(tag::kBytes);
    if (fma && bytes) found.push_back({*bytes, *fma / *alone, point.number("fed") / kGroupCycles});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Feed& x, const Feed& y) { return x.asked < y.asked; });
  return found;
}

/// The most bytes of which wgmma keeps its rate; 0: of none.
double beside_full_rate(const std::vector<Feed>& feeds) {
  double best = 0;
  for (const Feed& feed : feeds)
    if (feed.kept >= kKept) best = std::max(best, feed.bytes);
  return best;
}

void keeps_its_rate(const std::vector<Feed>& found, double least, Finding& out) {
  if (found.empty()) return;
  const bool holds = beside_full_rate(found) >= least;
  if (!holds &&
      std::none_of(found.begin(), found.end(), [&](const Feed& feed) { return feed.asked >= least; })) {
    out.needs = fmt::format("a feed of {:.0f} bytes per clock and multiprocessor or more", least);
    return;
  }
  out.holds = holds;
  for (const Feed& feed : found)
    out.measured += fmt::format("{}{:.1f} B/clk/SM: {:.1f}%", out.measured.empty() ? "" : "; ", feed.bytes,
                                100 * feed.kept);
}

/// How much more, per clock per multiprocessor, the next larger feed than the largest beside the full rate
/// asks for; nullopt: none was tried.
std::optional<double> resolution(const std::vector<Feed>& feeds) {
  double largest = 0;
  for (const Feed& feed : feeds)
    if (feed.kept >= kKept) largest = std::max(largest, feed.asked);
  std::optional<double> step;
  for (const Feed& feed : feeds)
    if (feed.asked > largest && (!step || feed.asked - largest < *step)) step = feed.asked - largest;
  return step;
}

Source without_feed(std::string_view subject) {
  return most(subject, tag::kFma, {{"a", "registers"}, {"fed", "0"}});
}

void registers_leave_more(const SweepResult& result, Finding& out) {
  const std::vector<Feed> shared = feeds(result, "l2", "shared"),
                          registers = feeds(result, "l2", "registers");
  if (shared.empty() || registers.empty()) return;
  if (!std::equal(shared.begin(), shared.end(), registers.begin(), registers.end(),
                  [](const Feed& x, const Feed& y) { return x.asked == y.asked; })) {
    out.needs = "the same feeds with A in shared memory and in registers";
    return;
  }
  const double beside_shared = beside_full_rate(shared), beside_registers = beside_full_rate(registers);
  out.holds = beside_registers > kMore * beside_shared;
  out.measured =
      fmt::format("{:.1f} B/clk/SM beside 95% of the rate with A in shared memory, {:.1f} in registers",
                  beside_shared, beside_registers);
  const auto step = numbers({resolution(shared), resolution(registers)});
  out.measured += step.empty() ? "; no larger feed was tried"
                               : fmt::format(
                                     "; the next larger feeds ask for {:.1f} and {:.1f} more, so a smaller "
                                     "difference is not seen",
                                     step[0], step[1]);
}

}  // namespace

std::vector<Statement> statements_fed_tensor_cores() {
  using Result = const SweepResult&;
  return {
      {"wgmma keeps 95% of its rate while 30 bytes per clock and multiprocessor arrive from the second-level "
       "cache",
       "mmaudit",
       [](Result result, Finding& out) { keeps_its_rate(feeds(result, "l2", "shared"), 30, out); }},
      {"wgmma keeps 95% of its rate while 15 bytes per clock and multiprocessor arrive from memory",
       "mmaudit",
       [](Result result, Finding& out) { keeps_its_rate(feeds(result, "memory", "shared"), 15, out); }},
      {"Beside wgmma with A in registers more bytes arrive than with A in shared memory", "mmaudit",
       registers_leave_more},
      {"Loading A by ldmatrix in the warps that multiply costs wgmma less than 2% of its rate", "mmaudit",
       judged(
           {without_feed(kFed), without_feed(kLoads)},
           [](Values& found) {
             found.push_back(100 * found[1] / found[0]);
             return found[1] >= 0.98 * found[0];
           },
           "{:.1f} and {:.1f} FMA/clk/SM, {:.1f}%")},
      {"wgmma keeps 95% of its rate while its warps load A by ldmatrix and 30 bytes per clock and "
       "multiprocessor arrive from the second-level cache",
       "mmaudit",
       [](Result result, Finding& out) {
         keeps_its_rate(feeds(result, "l2", "registers", kLoads), 30, out);
       }},
  };
}

}  // namespace mmaudit::sweeps
