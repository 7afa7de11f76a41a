#include "mmaudit/sweeps/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mmaudit::sweeps {
namespace {

constexpr double kConverged = 0.97;
// The instruction on which the papers found what they found about warps, and its larger sibling's.
constexpr std::string_view kMma = "mma.m16n8k16.f32.f16.f16.f32", kSmallMma = "mma.m16n8k8.f32.f16.f16.f32";
constexpr std::string_view kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32",
                           kSmallSparse = "mma.sp.m16n8k16.f32.f16.f16.f32";
constexpr std::string_view kWgmma = "wgmma.m64nNk16.f32.f16.f16",
                           kWgmmaSparse = "wgmma.sp.m64nNk32.f32.f16.f16";
constexpr int kWgmmaN[] = {8, 16, 32, 64, 128, 256};

std::string_view init_of(const SweepResult& result, std::string_view subject) {
  return find_point(result, {.subject = subject, .init = "random"}) != nullptr ? "random" : "zero";
}

std::optional<double> best_rate(const SweepResult& result, std::string_view subject, int least_warps,
                                int most_warps) {
  std::optional<double> best;
  for (const State& state : result.states) {
    if (state.subject != subject || state.axis("scope") != "sm") continue;
    if (state.number("warps") < least_warps || state.number("warps") > most_warps) continue;
    const std::optional<double> rate = state.get(tag::kFma) ? state.get(tag::kFma) : state.get(tag::kBytes);
    if (rate && (!best || *rate > *best)) best = rate;
  }
  return best;
}

Finding one_warp_owns_a_quarter(const SweepResult& result) {
  Finding out{"One warp reaches 20 to 25.5% of what the multiprocessor does: it owns one sub-core of four",
              {},
              {},
              "Sun V"};
  const auto one = best_rate(result, kMma, 1, 1), all = best_rate(result, kMma, 4, 32);
  if (!one || !all) return out;
  out.holds = *one / *all >= 0.2 && *one / *all <= 0.255;
  out.measured = fmt::format("{:.1f} with one warp, {:.1f} FMA/clk/SM with more ({})", *one, *all, kMma);
  return out;
}

Finding flat_to_four_warps(const SweepResult& result) {
  Finding out{"One chain in each of four warps takes no longer than one warp alone, within half a cycle",
              {},
              {},
              "Sun V"};
  const auto init = init_of(result, kMma);
  const auto one = value_at(result, {.subject = kMma, .warps = 1, .init = init}, tag::kCycles);
  const auto four = value_at(result, {.subject = kMma, .warps = 4, .init = init}, tag::kCycles);
  if (!one || !four) return out;
  out.holds = *four - *one <= 0.5;
  out.measured = fmt::format("{:.2f} and {:.2f} cycles ({})", *one, *four, kMma);
  return out;
}

Finding more_warps_cost_little(const SweepResult& result) {
  Finding out{
      "At one chain a warp, 8 and 12 warps take at most 2 cycles longer than 4 each time", {}, {}, "Sun V"};
  const auto init = init_of(result, kMma);
  const auto four = value_at(result, {.subject = kMma, .warps = 4, .init = init}, tag::kCycles);
  const auto eight = value_at(result, {.subject = kMma, .warps = 8, .init = init}, tag::kCycles);
  const auto twelve = value_at(result, {.subject = kMma, .warps = 12, .init = init}, tag::kCycles);
  if (!four || !eight || !twelve) return out;
  out.holds = *eight - *four <= 2 && *twelve - *eight <= 2;
  out.measured =
      fmt::format("{:.2f}, {:.2f}, {:.2f} cycles with 4, 8, 12 warps ({})", *four, *eight, *twelve, kMma);
  return out;
}

Finding six_warp_dip(const SweepResult& result) {
  Finding out{"6 warps take as long as 8 and do less than 4, from 3 chains a warp on", {}, {}, "Sun V"};
  const auto init = init_of(result, kMma);
  bool holds = true;
  for (int ilp = 3; ilp <= 6; ++ilp) {
    const Point four{.subject = kMma, .warps = 4, .ilp = ilp, .init = init},
        six{.subject = kMma, .warps = 6, .ilp = ilp, .init = init},
        eight{.subject = kMma, .warps = 8, .ilp = ilp, .init = init};
    const auto rate4 = value_at(result, four, tag::kFma), rate6 = value_at(result, six, tag::kFma);
    const auto cycles6 = value_at(result, six, tag::kCycles), cycles8 = value_at(result, eight, tag::kCycles);
    if (!rate4 || !rate6 || !cycles6 || !cycles8) return {out.statement, {}, {}, out.source};
    holds = holds && *rate6 < *rate4 && std::abs(*cycles6 - *cycles8) <= 0.05 * *cycles8;
    out.measured +=
        fmt::format("{}ILP {}: {:.0f}, {:.0f} FMA/clk/SM", ilp == 3 ? "" : "; ", ilp, *rate4, *rate6);
  }
  out.holds = holds;
  out.measured += fmt::format(" with 4, 6 warps ({})", kMma);
  return out;
}

Finding eight_beat_four(const SweepResult& result) {
  Finding out{"8 warps reach more than 4 can with any number of chains", {}, {}, "Sun V"};
  const auto four = best_rate(result, kMma, 4, 4), eight = best_rate(result, kMma, 8, 8);
  if (!four || !eight) return out;
  out.holds = *eight > 1.01 * *four;
  out.measured = fmt::format("{:.1f} and {:.1f} FMA/clk/SM with 4 and 8 warps ({})", *four, *eight, kMma);
  return out;
}

Finding small_k_costs(const SweepResult& result) {
  Finding out{"The smaller k does less than 90% of the larger one at best", {}, {}, "Luo VIII"};
  const auto small = best_rate(result, kSmallMma, 1, 32), large = best_rate(result, kMma, 1, 32);
  if (!small || !large) return out;
  out.holds = *small < 0.9 * *large;
  out.measured = fmt::format("{:.1f} and {:.1f} FMA/clk/SM with k = 8 and 16, a ratio of {:.2f}", *small,
                             *large, *small / *large);
  return out;
}

Finding small_sparse_costs(const SweepResult& result) {
  Finding out{"mma.sp with the smaller k does less than 90% of the larger one at best", {}, {}, "Sun VI"};
  const auto small = best_rate(result, kSmallSparse, 1, 32), large = best_rate(result, kSparse, 1, 32);
  if (!small || !large) return out;
  out.holds = *small < 0.9 * *large;
  out.measured = fmt::format("{:.1f} and {:.1f} FMA/clk/SM with k = 16 and 32, a ratio of {:.2f}", *small,
                             *large, *small / *large);
  return out;
}

Finding sparse_shared_a_costs(const SweepResult& result) {
  Finding out{"wgmma.sp, N = 256, takes at least 4 cycles longer with A in shared memory", {}, {}, "Luo X"};
  const auto init =
      find_point(result, {.subject = kWgmmaSparse, .warps = 4, .init = "zero", .n = 256, .a = "shared"})
          ? "zero"
          : "random";
  const auto at = [&](std::string_view a) {
    return value_at(result, {.subject = kWgmmaSparse, .warps = 4, .init = init, .n = 256, .a = a},
                    tag::kCycles);
  };
  const auto shared = at("shared"), registers = at("registers");
  if (!shared || !registers) return out;
  out.holds = *shared - *registers >= 4;
  out.measured = fmt::format("{:.1f} cycles from shared memory, {:.1f} from registers", *shared, *registers);
  return out;
}

Finding shared_a_costs_below_64(const SweepResult& result) {
  Finding out{"wgmma with A in shared memory is slower below N = 64, and only there", {}, {}, "Luo XI"};
  const auto init =
      find_point(result, {.subject = kWgmma, .warps = 4, .init = "zero", .n = 64, .a = "shared"}) != nullptr
          ? "zero"
          : "random";
  bool below = false, above = false, holds = true;
  for (const int n : kWgmmaN) {
    const auto shared =
        value_at(result, {.subject = kWgmma, .warps = 4, .init = init, .n = n, .a = "shared"}, tag::kCycles);
    const auto registers = value_at(
        result, {.subject = kWgmma, .warps = 4, .init = init, .n = n, .a = "registers"}, tag::kCycles);
    if (!shared || !registers) continue;
    (n < 64 ? below : above) = true;
    holds = holds && (*shared > *registers + 1) == (n < 64);
    out.measured +=
        fmt::format("{}N = {}: {:.1f}, {:.1f}", out.measured.empty() ? "" : "; ", n, *shared, *registers);
  }
  if (below && above) out.holds = holds;
  if (!out.measured.empty())
    out.measured += fmt::format(" cycles from shared memory, registers ({})", kWgmma);
  return out;
}

Finding data_costs_speed(const SweepResult& result) {
  Finding out{
      "Random operands run slower than zeros on the whole GPU (wgmma, N = 256)", {}, {}, "Luo IX, XIII"};
  const auto rate = [&](std::string_view init) {
    std::optional<double> best;
    for (const State& state : result.states)
      if (state.subject == kWgmma && state.axis("scope") == "gpu" && state.axis("init") == init &&
          state.number("n") == 256)
        if (const auto found = state.get(tag::kFlops); found && (!best || *found > *best)) best = found;
    return best;
  };
  const auto zero = rate("zero"), random = rate("random");
  if (!zero || !random) return out;
  out.holds = *random < 0.99 * *zero;
  out.measured = fmt::format("{:.1f} and {:.1f} TFLOPS with zeros and random numbers ({})", 1e-12 * *zero,
                             1e-12 * *random, kWgmma);
  return out;
}

Finding ldmatrix_fills_the_banks(const SweepResult& result) {
  Finding out{"ldmatrix reaches 99% of 128 B/clk/SM, and no more than that", {}, {}, "Sun IX"};
  const auto best = best_rate(result, "ldmatrix.x4", 1, 32);
  if (!best) return out;
  out.holds = *best >= 0.99 * 128 && *best <= 1.005 * 128;
  out.measured = fmt::format("{:.1f} B/clk/SM (ldmatrix.x4)", *best);
  return out;
}

Finding ldmatrix_is_a_conflicted_load(const SweepResult& result) {
  Finding out{"ldmatrix.x2 and .x4 take as long as ld.shared with 2- and 4-way conflicts, within a cycle",
              {},
              {},
              "Sun VII"};
  const auto x2 = value_at(result, {.subject = "ldmatrix.x2"}, tag::kCycles),
             x4 = value_at(result, {.subject = "ldmatrix.x4"}, tag::kCycles),
             two = value_at(result, {.subject = "ld.shared.u32", .ways = 2}, tag::kCycles),
             four = value_at(result, {.subject = "ld.shared.u32", .ways = 4}, tag::kCycles);
  if (!x2 || !x4 || !two || !four) return out;
  out.holds = std::abs(*x2 - *two) <= 1 && std::abs(*x4 - *four) <= 1;
  out.measured = fmt::format("{:.2f}, {:.2f} and {:.2f}, {:.2f} cycles", *x2, *two, *x4, *four);
  return out;
}

Finding conflict_costs_two_cycles(const SweepResult& result) {
  Finding out{"Each way of a bank conflict costs 2.0 cycles, within 0.1", {}, {}, "Sun X"};
  const auto one = value_at(result, {.subject = "ld.shared.u32", .ways = 1}, tag::kCycles),
             eight = value_at(result, {.subject = "ld.shared.u32", .ways = 8}, tag::kCycles);
  if (!one || !eight) return out;
  const double slope = (*eight - *one) / 7;
  out.holds = std::abs(slope - 2) <= 0.1;
  out.measured = fmt::format("{:.3f} cycles a way: {:.2f} at 1, {:.2f} at 8", slope, *one, *eight);
  return out;
}

}  // namespace

const State* find_point(const SweepResult& result, const Point& point) {
  const auto agrees = [](const State& state, std::string_view axis, std::string_view value) {
    return value.empty() || state.axis(axis).empty() || state.axis(axis) == value;
  };
  const auto agrees_number = [](const State& state, std::string_view axis, int value) {
    return value == 0 || state.axis(axis).empty() || state.number(axis) == value;
  };
  for (const State& state : result.states)
    if (state.subject == point.subject && state.skipped.empty() && agrees(state, "scope", point.scope) &&
        agrees(state, "init", point.init) && agrees(state, "a", point.a) &&
        agrees_number(state, "warps", point.warps) && agrees_number(state, "ilp", point.ilp) &&
        agrees_number(state, "n", point.n) && agrees_number(state, "ways", point.ways))
      return &state;
  return nullptr;
}

std::optional<double> value_at(const SweepResult& result, const Point& point, std::string_view summary) {
  const State* state = find_point(result, point);
  return state == nullptr ? std::nullopt : state->get(summary);
}

std::optional<Convergence> convergence_of(const SweepResult& result, std::string_view subject,
                                          std::string_view init, int warps, int ways) {
  std::vector<Convergence> row;
  for (int ilp = 1; ilp <= 6; ++ilp) {
    const State* state =
        find_point(result, {.subject = subject, .warps = warps, .ilp = ilp, .init = init, .ways = ways});
    if (state == nullptr) continue;
    row.push_back({warps, ilp, state->get(tag::kCycles).value_or(0),
                   state->get(tag::kFma).value_or(state->get(tag::kBytes).value_or(0))});
  }
  if (row.empty()) return std::nullopt;
  const double best =
      std::max_element(row.begin(), row.end(), [](const Convergence& x, const Convergence& y) {
        return x.rate < y.rate;
      })->rate;
  return *std::find_if(row.begin(), row.end(),
                       [&](const Convergence& one) { return one.rate >= kConverged * best; });
}

std::vector<Finding> findings_of(const SweepResult& result) {
  return {one_warp_owns_a_quarter(result),  flat_to_four_warps(result),
          more_warps_cost_little(result),   six_warp_dip(result),
          eight_beat_four(result),          small_k_costs(result),
          small_sparse_costs(result),       sparse_shared_a_costs(result),
          shared_a_costs_below_64(result),  data_costs_speed(result),
          ldmatrix_fills_the_banks(result), ldmatrix_is_a_conflicted_load(result),
          conflict_costs_two_cycles(result)};
}

}  // namespace mmaudit::sweeps
