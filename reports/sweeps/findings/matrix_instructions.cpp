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

Source mma_value(int warps, int ilp, std::string_view summary) {
  return [=](const SweepResult& result) {
    const std::string_view init = measured_init(result, kMma);
    return value({.subject = kMma, .warps = warps, .ilp = ilp, .init = init}, summary)(result);
  };
}

/// Cycles of one chain per warp.
Source mma_cycles(int warps) { return mma_value(warps, 1, tag::kCycles); }

/// Cycles of one warpgroup.
Source wgmma_cycles(std::string_view subject, int n, std::string_view a) {
  return [=, columns = std::to_string(n)](const SweepResult& result) {
    const auto at = [&](std::string_view init) {
      return value({.subject = subject, .warps = 4, .init = init, .others = {{"n", columns}, {"a", a}}},
                   tag::kCycles)(result);
    };
    const auto zero = at("zero");
    return zero ? zero : at("random");
  };
}

/// The best of the smaller k against the larger one.
std::function<void(const SweepResult&, Finding&)> depths(std::string_view small, std::string_view large,
                                                         std::string_view which) {
  return judged(
      {best_rate(small, 1, 32), best_rate(large, 1, 32)},
      [](Values& found) {
        found.push_back(found[0] / found[1]);
        return found[0] < 0.9 * found[1];
      },
      fmt::format("{{:.1f}} and {{:.1f}} FMA/clk/SM with k = {}, a ratio of {{:.2f}}", which));
}

void six_warp_dip(const SweepResult& result, Finding& out) {
  bool holds = true;
  std::string measured;
  for (int ilp = 3; ilp <= 6; ++ilp) {
    const auto found = numbers(result, {mma_value(4, ilp, tag::kFma), mma_value(6, ilp, tag::kFma),
                                        mma_value(6, ilp, tag::kCycles), mma_value(8, ilp, tag::kCycles)});
    if (found.empty()) return;
    holds = holds && found[1] < found[0] && std::abs(found[2] - found[3]) <= 0.05 * found[3];
    measured +=
        fmt::format("{}ILP {}: {:.0f}, {:.0f} FMA/clk/SM", ilp == 3 ? "" : "; ", ilp, found[0], found[1]);
  }
  out.holds = holds;
  out.measured = fmt::format("{} with 4, 6 warps ({})", measured, kMma);
}

void shared_a_costs_below_64(const SweepResult& result, Finding& out) {
  bool below = false, above = false, holds = true;
  for (const int n : {8, 16, 32, 64, 128, 256}) {
    const auto cycles =
        numbers(result, {wgmma_cycles(kWgmma, n, "shared"), wgmma_cycles(kWgmma, n, "registers")});
    if (cycles.empty()) continue;
    (n < 64 ? below : above) = true;
    holds = holds && (cycles[0] > cycles[1] + 1) == (n < 64);
    out.measured +=
        fmt::format("{}N = {}: {:.1f}, {:.1f}", out.measured.empty() ? "" : "; ", n, cycles[0], cycles[1]);
  }
  if (below && above) out.holds = holds;
  if (!out.measured.empty())
    out.measured += fmt::format(" cycles from shared memory, registers ({})", kWgmma);
}

/// The numbers of an instruction.
std::string with_name(std::string_view numbers, std::string_view instruction) {
  return fmt::format("{} ({})", numbers, instruction);
}

/// TFLOPS of wgmma at best, N = 256, on the whole GPU.
Source gpu_rate(std::string_view init) {
  return tera(most(tag::kFlops, [=](const Point& point) {
    return point.subject == kWgmma && point.axis("scope") == "gpu" && point.axis("init") == init &&
           point.number("n") == 256;
  }));
}

/// Work per joule, the most of any point.
Source flops_per_watt(std::string_view subject) {
  return most(tag::kFlopsPerWatt, [=](const Point& point) {
    return point.subject == subject && point.axis("scope") == "energy" && point.axis("init") == "random" &&
           point.axis("a") != "registers";
  });
}

void mma_per_joule(const SweepResult& result, Finding& out) {
  struct Pair {
    std::string_view types, mma, wgmma;
  };
  constexpr Pair kPairs[] = {
      {"f16 to f32", kMma, kWgmma},
      {"f16 to f16", "mma.m16n8k16.f16.f16.f16.f16", "wgmma.m64nNk16.f16.f16.f16"},
      {"bf16", "mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64nNk16.f32.bf16.bf16"},
      {"tf32", "mma.m16n8k8.f32.tf32.tf32.f32", "wgmma.m64nNk8.f32.tf32.tf32"},
      {"s8", "mma.m16n8k32.s32.s8.s8.s32", "wgmma.m64nNk32.s32.s8.s8"},
  };
  bool holds = true;
  for (const Pair& pair : kPairs) {
    const auto found = numbers(result, {flops_per_watt(pair.mma), flops_per_watt(pair.wgmma)});
    if (found.empty()) continue;
    const double ratio = found[0] / found[1];
    holds = holds && ratio < 1;
    out.measured += fmt::format("{}{:.2f} ({})", out.measured.empty() ? "" : ", ", ratio, pair.types);
  }
  if (out.measured.empty()) return;
  out.holds = holds;
  out.measured += " of the TFLOPS/W of wgmma with A in shared memory";
}

}  // namespace

std::vector<Statement> statements_matrix_instructions() {
  return {
      {"One warp reaches 20 to 25.5% of what the multiprocessor does: it owns one sub-core of four", "Sun V",
       judged(
           {best_rate(kMma, 1, 1), best_rate(kMma, 4, 32)},
           [](Values& found) { return found[0] / found[1] >= 0.2 && found[0] / found[1] <= 0.255; },
           with_name("{:.1f} with one warp, {:.1f} FMA/clk/SM with more", kMma))},
      {"One chain in each of four warps takes no longer than one warp alone, within half a cycle", "Sun V",
       judged(
           {mma_cycles(1), mma_cycles(4)}, [](Values& found) { return found[1] - found[0] <= 0.5; },
           with_name("{:.2f} and {:.2f} cycles", kMma))},
      {"At one chain per warp, 8 and 12 warps take at most 2 cycles longer than 4 each time", "Sun V",
       judged(
           {mma_cycles(4), mma_cycles(8), mma_cycles(12)},
           [](Values& found) { return found[1] - found[0] <= 2 && found[2] - found[1] <= 2; },
           with_name("{:.2f}, {:.2f}, {:.2f} cycles with 4, 8, 12 warps", kMma))},
      {"6 warps take as long as 8 and do less than 4, from 3 chains per warp on", "Sun V", six_warp_dip},
      {"8 warps reach more than 4 can with any number of chains", "Sun V",
       judged(
           {best_rate(kMma, 4, 4), best_rate(kMma, 8, 8)},
           [](Values& found) { return found[1] > 1.01 * found[0]; },
           with_name("{:.1f} and {:.1f} FMA/clk/SM with 4 and 8 warps", kMma))},
      {"The smaller k does less than 90% of the larger one at best", "Luo VIII",
       depths(kSmallMma, kMma, "8 and 16")},
      {"mma.sp with the smaller k does less than 90% of the larger one at best", "Sun VI",
       depths(kSmallSparse, kSparse, "16 and 32")},
      {"wgmma.sp, N = 256, takes at least 4 cycles longer with A in shared memory", "Luo X",
       judged(
           {wgmma_cycles(kWgmmaSparse, 256, "shared"), wgmma_cycles(kWgmmaSparse, 256, "registers")},
           [](Values& found) { return found[0] - found[1] >= 4; },
           "{:.1f} cycles from shared memory, {:.1f} from registers")},
      {"wgmma with A in shared memory is slower below N = 64, and only there", "Luo XI",
       shared_a_costs_below_64},
      {"Random operands run slower than zeros on the whole GPU (wgmma, N = 256)", "Luo IX, XIII",
       judged(
           {gpu_rate("zero"), gpu_rate("random")}, [](Values& found) { return found[1] < 0.99 * found[0]; },
           with_name("{:.1f} and {:.1f} TFLOPS with zeros and random numbers", kWgmma))},
      {"mma does less work per joule than wgmma on random operands", "Luo XII, XIII", mma_per_joule},
  };
}

}  // namespace mmaudit::sweeps
