// DPX functions.
#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

Source latency(std::string_view subject) { return value({.subject = subject}, tag::kCycles); }

constexpr std::string_view kWaves = "viaddmax_s16x2+waves";

/// The largest and the least ratio of a function's rate to the rate of the same in plain C++.
void gains(const SweepResult& result, std::string_view type, Finding& out) {
  double least = 0, largest = 0;
  std::string missing;
  for (const char* form :
       {"vimax_", "vimin_", "vimax3_", "vimin3_", "viaddmax_", "viaddmin_", "vibmax_", "vibmin_"}) {
    const std::string name = form + std::string(type), plain = name + "+plain";
    if (find_benchmark(name) == nullptr) continue;
    const auto rates = numbers(result, {best_rate(name, 1, 32), best_rate(plain, 1, 32)});
    if (rates.empty()) {
      missing += (missing.empty() ? "" : ", ") + name;
      continue;
    }
    const double ratio = rates[0] / rates[1];
    least = largest == 0 ? ratio : std::min(least, ratio);
    largest = std::max(largest, ratio);
  }
  if (largest == 0) return;
  // One function that gains nothing refutes it; all of them prove it.
  if (least > 1.5 && !missing.empty()) {
    out.needs = fmt::format("{}, with DPX and in plain C++", missing);
    return;
  }
  out.holds = least > 1.5;
  out.measured = fmt::format("{:.2f} to {:.2f} times", least, largest);
}

/// Operations per second and block, of as many blocks as there are multiprocessors and fewer; empty where
/// the full GPU or all of the others are missing.
std::vector<double> rates_per_block(const SweepResult& result) {
  std::vector<double> rates;
  bool full = false;
  for (const Point& point : result.points) {
    const int blocks = point.number("blocks");
    const auto rate = point.get(tag::kOperationsPerSecond);
    if (point.subject != kWaves || !rate || blocks > result.provenance.multiprocessors) continue;
    full = full || blocks == result.provenance.multiprocessors;
    rates.push_back(*rate / blocks);
  }
  return full && rates.size() > 1 ? rates : std::vector<double>();
}

Source wave(std::string_view blocks) {
  return value({.subject = kWaves, .warps = 32, .others = {{"blocks", blocks}}}, tag::kOperationsPerSecond);
}

}  // namespace

std::vector<Statement> statements_dpx() {
  using Result = const SweepResult&;
  return {
      {"Functions of two signed 16-bit numbers are faster than plain C++", "Luo 8",
       [](Result result, Finding& out) { gains(result, "s16x2", out); }},
      {"Functions of two unsigned 16-bit numbers are faster than plain C++", "Luo 8",
       [](Result result, Finding& out) { gains(result, "u16x2", out); }},
      {"Functions of 32-bit numbers with 0 (relu) are faster than plain C++", "Luo 8",
       [](Result result, Finding& out) { gains(result, "s32_relu", out); }},
      {"The greatest of three numbers and 0 takes no longer than the greatest of three, within half a cycle",
       "Luo 8",
       judged(
           {latency("vimax3_s32"), latency("vimax3_s32_relu"), latency("vimax3_s16x2"),
            latency("vimax3_s16x2_relu")},
           [](Values& found) { return found[1] - found[0] <= 0.5 && found[3] - found[2] <= 0.5; },
           "{:.2f}, {:.2f} cycles (s32), {:.2f}, {:.2f} (s16x2)")},
      {"Up to one block per multiprocessor, the rate of DPX functions is proportional to the blocks, within "
       "5%",
       "Luo 8",
       [](Result result, Finding& out) {
         const std::vector<double> found = rates_per_block(result);
         if (found.empty()) return;
         const auto [least, most] = std::minmax_element(found.begin(), found.end());
         out.holds = *least >= 0.95 * *most;
         out.measured = fmt::format("{:.2f} to {:.2f} billion operations per second and block", 1e-9 * *least,
                                    1e-9 * *most);
       }},
      {"One block more than there are multiprocessors costs a wave: 132, 133 and 264 blocks", "Luo 8",
       [](Result result, Finding& out) {
         const auto found = numbers(result, {wave("132"), wave("133"), wave("264")});
         if (found.empty() || result.provenance.multiprocessors != 132) return;
         out.holds = found[1] < 0.6 * found[0] && found[2] > 0.95 * found[0];
         out.measured = fmt::format("{:.0f}, {:.0f} and {:.0f} billion operations per second",
                                    1e-9 * found[0], 1e-9 * found[1], 1e-9 * found[2]);
       }},
  };
}

}  // namespace mmaudit::sweeps
