#include "mmaudit/timing/wmma_steps.hpp"

#include <algorithm>

#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

/// Registers of the first pairs. The paper's own listing names R8 the pair of R8 and R7.
constexpr int kFirstSum = 7, kFirstA = 23, kFirstB = 31;

bool is_wide(Format sum) { return sum == Format::f32; }

/// "HMMA.884.F32.F32.STEP0 R8, R24.reuse, R32.reuse, R8": a pair goes by its higher register; A and B are
/// kept for the next step of the set. Source: section III-C.
std::string text_of(const volta::Hmma& one, Format sum, Registers d, Registers a, Registers b,
                    bool last_of_set) {
  const auto pair = [](Registers registers, bool kept) {
    return "R" + std::to_string(registers.first + registers.count - 1) + (kept ? ".reuse" : "");
  };
  const std::string name = is_wide(sum) ? "HMMA.884.F32.F32.STEP" : "HMMA.884.F16.F16.STEP";
  return name + std::to_string(one.step) + " " + pair(d, false) + ", " + pair(a, !last_of_set) + ", " +
         pair(b, !last_of_set) + ", " + pair(d, false) + "  set " + std::to_string(one.set + 1) + " step " +
         std::to_string(one.step);
}

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
    const auto first = static_cast<std::int16_t>(kFirstSum + 2 * one.step);
    const Registers a{static_cast<std::int16_t>(kFirstA + 2 * one.set), 2},
        b{static_cast<std::int16_t>(kFirstB + 2 * one.set), 2}, d{first, 2};
    op.sources = {a, b, {}};
    const bool last_of_set = &one == &all.back() || (&one)[1].set != one.set;
    if (one.set == volta::kSets - 1) op.destination = d;
    program.add(op, text_of(one, sum, d, a, b, last_of_set));
  }
  program.work = 16.0 * 16 * 16;
  Launch once;
  once.trips = 1;
  once.recorded = static_cast<int>(program.ops.size());
  once.dependences = Dependences::scoreboard;
  program.alone = std::to_string(simulate(machine, program, once).events.back().result) +
                  " cycles until the last result (fitted to Raihan et al. 2019, " +
                  (is_wide(sum) ? "figure 9a)" : "section III-C1)");
  return program;
}

}  // namespace mmaudit::timing
