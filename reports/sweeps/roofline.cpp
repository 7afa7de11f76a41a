#include "sweeps/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

/// Bytes per second that the whole GPU reads from there at most.
std::optional<double> reads(const SweepResult& result, std::string_view level) {
  std::optional<double> best;
  for (const std::string_view subject : {"stream.ld.v4.u32", "cp.async.bulk+inflight"})
    if (const auto found = most(result, subject, tag::kBytesPerSecond, {{"level", level}}))
      best = std::max(best.value_or(0), *found);
  return best;
}

struct Peak {
  Format type;
  double flops;
};

/// Of each type of A, the fastest first.
std::vector<Peak> peaks(const SweepResult& result) {
  std::map<Format, double> best;
  for (const Point& point : result.points) {
    const Benchmark* benchmark = find_benchmark(point.subject);
    const auto flops = point.get(tag::kFlops);
    if (benchmark == nullptr || !benchmark->instruction || !flops || point.axis("scope") != "gpu") continue;
    if (is_sparse(benchmark->instruction->op)) continue;
    double& most = best[benchmark->instruction->a];
    most = std::max(most, *flops);
  }
  std::vector<Peak> found;
  found.reserve(best.size());
  for (const auto& [type, flops] : best) found.push_back({type, flops});
  std::stable_sort(found.begin(), found.end(),
                   [](const Peak& x, const Peak& y) { return x.flops > y.flops; });
  return found;
}

std::string per_byte(double flops, std::optional<double> bytes) {
  return bytes ? fmt::format("{:.0f}", flops / *bytes) : "-";
}

}  // namespace

report::Table roofline_table(const SweepResult& result) {
  const auto memory = reads(result, "memory"), second = reads(result, "l2");
  report::Table table = report::table_of<Peak>(
      "FLOP per byte at which the best rate meets memory",
      memory || second ? peaks(result) : std::vector<Peak>{},
      {{"type of A", [](const Peak& peak) { return std::string(name_of(peak.type)); }},
       {{"TFLOPS", true}, [](const Peak& peak) { return fmt::format("{:.1f}", 1e-12 * peak.flops); }},
       {{"FLOP/B of memory", true}, [=](const Peak& peak) { return per_byte(peak.flops, memory); }},
       {{"FLOP/B of L2", true}, [=](const Peak& peak) { return per_byte(peak.flops, second); }}});
  table.remark = "Best rates of dense instructions and of reads, all measured on the whole GPU.";
  return table;
}

}  // namespace mmaudit::sweeps
