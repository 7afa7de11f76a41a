// Warps, chains, shapes and operands of matrix instructions.
#include <fmt/format.h>

#include <cmath>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

// The instructions on which the papers found what they found, and their siblings with the smaller k.
constexpr std::string_view kMma = "mma.m16n8k16.f32.f16.f16.f32", kSmallMma = "mma.m16n8k8.f32.f16.f16.f32";
constexpr std::string_view kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32",
                           kSmallSparse = "mma.sp.m16n8k16.f32.f16.f16.f32";
constexpr std::string_view kWgmma = "wgmma.m64nNk16.f32.f16.f16",
                           kWgmmaSparse = "wgmma.sp.m64nNk32.f32.f16.f16";

std::optional<double> mma_value(const SweepResult& result, int warps, int ilp, std::string_view summary) {
  return value_at(result, {.subject = kMma, .warps = warps, .ilp = ilp, .init = measured_init(result, kMma)},
                  summary);
}

/// Cycles of one warpgroup.
std::optional<double> wgmma_cycles(const SweepResult& result, std::string_view subject, int n,
                                   std::string_view a) {
  const std::string columns = std::to_string(n);
  const auto at = [&](std::string_view init) {
    return value_at(result,
                    {.subject = subject, .warps = 4, .init = init, .others = {{"n", columns}, {"a", a}}},
                    tag::kCycles);
  };
  const auto zero = at("zero");
  return zero ? zero : at("random");
}

void one_warp_owns_a_quarter(const SweepResult& result, Finding& out) {
  const auto one = best_rate(result, kMma, 1, 1), all = best_rate(result, kMma, 4, 32);
  if (!one || !all) return;
  out.holds = *one / *all >= 0.2 && *one / *all <= 0.255;
  out.measured = fmt::format("{:.1f} with one warp, {:.1f} FMA/clk/SM with more ({})", *one, *all, kMma);
}

void flat_to_four_warps(const SweepResult& result, Finding& out) {
  const auto one = mma_value(result, 1, 1, tag::kCycles), four = mma_value(result, 4, 1, tag::kCycles);
  if (!one || !four) return;
  out.holds = *four - *one <= 0.5;
  out.measured = fmt::format("{:.2f} and {:.2f} cycles ({})", *one, *four, kMma);
}

void more_warps_cost_little(const SweepResult& result, Finding& out) {
  const auto four = mma_value(result, 4, 1, tag::kCycles), eight = mma_value(result, 8, 1, tag::kCycles),
             twelve = mma_value(result, 12, 1, tag::kCycles);
  if (!four || !eight || !twelve) return;
  out.holds = *eight - *four <= 2 && *twelve - *eight <= 2;
  out.measured =
      fmt::format("{:.2f}, {:.2f}, {:.2f} cycles with 4, 8, 12 warps ({})", *four, *eight, *twelve, kMma);
}

void six_warp_dip(const SweepResult& result, Finding& out) {
  bool holds = true;
  std::string measured;
  for (int ilp = 3; ilp <= 6; ++ilp) {
    const auto rate4 = mma_value(result, 4, ilp, tag::kFma), rate6 = mma_value(result, 6, ilp, tag::kFma);
    const auto cycles6 = mma_value(result, 6, ilp, tag::kCycles),
               cycles8 = mma_value(result, 8, ilp, tag::kCycles);
    if (!rate4 || !rate6 || !cycles6 || !cycles8) return;
    holds = holds && *rate6 < *rate4 && std::abs(*cycles6 - *cycles8) <= 0.05 * *cycles8;
    measured += fmt::format("{}ILP {}: {:.0f}, {:.0f} FMA/clk/SM", ilp == 3 ? "" : "; ", ilp, *rate4, *rate6);
  }
  out.holds = holds;
  out.measured = fmt::format("{} with 4, 6 warps ({})", measured, kMma);
}

void eight_beat_four(const SweepResult& result, Finding& out) {
  const auto four = best_rate(result, kMma, 4, 4), eight = best_rate(result, kMma, 8, 8);
  if (!four || !eight) return;
  out.holds = *eight > 1.01 * *four;
  out.measured = fmt::format("{:.1f} and {:.1f} FMA/clk/SM with 4 and 8 warps ({})", *four, *eight, kMma);
}

void compare_depths(const SweepResult& result, std::string_view small_name, std::string_view large_name,
                    std::string_view depths, Finding& out) {
  const auto small = best_rate(result, small_name, 1, 32), large = best_rate(result, large_name, 1, 32);
  if (!small || !large) return;
  out.holds = *small < 0.9 * *large;
  out.measured = fmt::format("{:.1f} and {:.1f} FMA/clk/SM with k = {}, a ratio of {:.2f}", *small, *large,
                             depths, *small / *large);
}

void small_k_costs(const SweepResult& result, Finding& out) {
  compare_depths(result, kSmallMma, kMma, "8 and 16", out);
}

void small_sparse_costs(const SweepResult& result, Finding& out) {
  compare_depths(result, kSmallSparse, kSparse, "16 and 32", out);
}

void sparse_shared_a_costs(const SweepResult& result, Finding& out) {
  const auto shared = wgmma_cycles(result, kWgmmaSparse, 256, "shared"),
             registers = wgmma_cycles(result, kWgmmaSparse, 256, "registers");
  if (!shared || !registers) return;
  out.holds = *shared - *registers >= 4;
  out.measured = fmt::format("{:.1f} cycles from shared memory, {:.1f} from registers", *shared, *registers);
}

void shared_a_costs_below_64(const SweepResult& result, Finding& out) {
  bool below = false, above = false, holds = true;
  for (const int n : {8, 16, 32, 64, 128, 256}) {
    const auto shared = wgmma_cycles(result, kWgmma, n, "shared"),
               registers = wgmma_cycles(result, kWgmma, n, "registers");
    if (!shared || !registers) continue;
    (n < 64 ? below : above) = true;
    holds = holds && (*shared > *registers + 1) == (n < 64);
    out.measured +=
        fmt::format("{}N = {}: {:.1f}, {:.1f}", out.measured.empty() ? "" : "; ", n, *shared, *registers);
  }
  if (below && above) out.holds = holds;
  if (!out.measured.empty())
    out.measured += fmt::format(" cycles from shared memory, registers ({})", kWgmma);
}

void data_costs_speed(const SweepResult& result, Finding& out) {
  const auto rate = [&](std::string_view init) {
    std::optional<double> best;
    for (const Point& point : result.points)
      if (point.subject == kWgmma && point.axis("scope") == "gpu" && point.axis("init") == init &&
          point.number("n") == 256)
        if (const auto found = point.get(tag::kFlops); found && (!best || *found > *best)) best = found;
    return best;
  };
  const auto zero = rate("zero"), random = rate("random");
  if (!zero || !random) return;
  out.holds = *random < 0.99 * *zero;
  out.measured = fmt::format("{:.1f} and {:.1f} TFLOPS with zeros and random numbers ({})", 1e-12 * *zero,
                             1e-12 * *random, kWgmma);
}

}  // namespace

std::vector<Statement> statements_matrix_instructions() {
  return {
      {"One warp reaches 20 to 25.5% of what the multiprocessor does: it owns one sub-core of four", "Sun V",
       one_warp_owns_a_quarter},
      {"One chain in each of four warps takes no longer than one warp alone, within half a cycle", "Sun V",
       flat_to_four_warps},
      {"At one chain per warp, 8 and 12 warps take at most 2 cycles longer than 4 each time", "Sun V",
       more_warps_cost_little},
      {"6 warps take as long as 8 and do less than 4, from 3 chains per warp on", "Sun V", six_warp_dip},
      {"8 warps reach more than 4 can with any number of chains", "Sun V", eight_beat_four},
      {"The smaller k does less than 90% of the larger one at best", "Luo VIII", small_k_costs},
      {"mma.sp with the smaller k does less than 90% of the larger one at best", "Sun VI",
       small_sparse_costs},
      {"wgmma.sp, N = 256, takes at least 4 cycles longer with A in shared memory", "Luo X",
       sparse_shared_a_costs},
      {"wgmma with A in shared memory is slower below N = 64, and only there", "Luo XI",
       shared_a_costs_below_64},
      {"Random operands run slower than zeros on the whole GPU (wgmma, N = 256)", "Luo IX, XIII",
       data_costs_speed},
  };
}

}  // namespace mmaudit::sweeps
