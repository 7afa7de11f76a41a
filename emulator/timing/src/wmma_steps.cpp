#include "mmaudit/timing/wmma_steps.hpp"

#include <algorithm>

namespace mmaudit::timing {
namespace {

bool is_wide(Format sum) { return sum == Format::f32; }

/// Half cycles between two sets, from the second on; the first set's end; what the last one adds.
struct SetClocks {
  Format a, d;
  int m;
  double first, second, later, drain;
};
// Raihan et al., table I. Intervals of f16 and s8 are the unit's (Sun V: 8 and 4 cycles); everything else is
// fitted to these 37 cells. What precedes the first result differs by tile, and the paper does not say why.
constexpr SetClocks kTuring[] = {
    {Format::f16, Format::f32, 16, 42, 14, 21.5, 0}, {Format::f16, Format::f32, 32, 48, 14, 21.5, 0},
    {Format::f16, Format::f32, 8, 42, 14, 21.5, 0},  {Format::f16, Format::f16, 16, 44, 8, 8, 6},
    {Format::f16, Format::f16, 32, 44, 8, 8, 6},     {Format::f16, Format::f16, 8, 42, 8, 8, 6},
    {Format::s8, Format::s32, 16, 40, 4, 4, 7},      {Format::s8, Format::s32, 32, 52, 4, 4, 7},
    {Format::s8, Format::s32, 8, 38, 4, 4, 7},
};
constexpr double kSingleOfFourBits = 230;
constexpr int kTuringSets = 4;

}  // namespace

Program volta_program(const Machine& machine, Format sum) {
  using enum Parameter;
  Program program;
  program.name = is_wide(sum) ? "wmma.m16n16k16.f32.f16.f16.f32" : "wmma.m16n16k16.f16.f16.f16.f16";
  const std::vector<volta::Hmma> all = volta::schedule(sum);
  const int interval = machine.cycles(is_wide(sum) ? step_interval_f32 : step_interval_f16);
  for (const volta::Hmma& one : all) {
    TimedOp op;
    op.unit = Unit::tensor;
    op.interval2 = static_cast<std::uint32_t>(2 * interval);
    op.latency =
        static_cast<std::uint32_t>(machine.cycles(is_wide(sum) ? step_latency_f32 : step_latency_f16));
    op.stall = static_cast<std::uint8_t>(std::min(interval, 15));  // the unit holds the rest up
    // The sums stay in the tensor cores' buffers from set to set; only what the last set writes is waited
    // for.
    const auto block = static_cast<std::int16_t>(64 + 2 * one.step);
    op.sources = {Registers{static_cast<std::int16_t>(8 * one.set), 2},
                  Registers{static_cast<std::int16_t>(8 * one.set + 4), 2},
                  {}};
    if (one.set == volta::kSets - 1) op.destination = {block, 2};
    program.add(op, "HMMA.884 set " + std::to_string(one.set + 1) + " step " + std::to_string(one.step));
  }
  program.work = 16.0 * 16 * 16;
  const int steps = static_cast<int>(program.ops.size());
  program.alone = std::to_string((steps - 1) * interval + static_cast<int>(program.ops.back().latency)) +
                  " cycles until the last result (fitted to Raihan et al. 2019, " +
                  (is_wide(sum) ? "figure 9a)" : "section III-C1)");
  return program;
}

std::vector<double> turing_set_clocks(const Instruction& wmma) {
  if (wmma.op != Op::wmma) return {};
  if (wmma.a == Format::s4 && wmma.m == 8) return {kSingleOfFourBits};
  for (const SetClocks& sets : kTuring) {
    if (sets.a != wmma.a || sets.d != wmma.d || sets.m != wmma.m || wmma.k != 16) continue;
    std::vector<double> clocks{sets.first};
    for (int set = 1; set < kTuringSets; ++set)
      clocks.push_back(clocks.back() + (set == 1 ? sets.second : sets.later));
    clocks.back() += sets.drain;
    return clocks;
  }
  return {};
}

}  // namespace mmaudit::timing
