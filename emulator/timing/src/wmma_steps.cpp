#include "mmaudit/timing/wmma_steps.hpp"

#include <algorithm>
#include <set>

#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

constexpr int kLanes = 32, kRegisterBits = 32, kTensorCoresOfWarp = 2, kMostLoadBits = 128, kSectorBytes = 32;
constexpr int kOperands = 3, kRegistersOfOperand = 2;  // section IV: 32 x 2 x 3 x 32 bits per HMMA

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

std::vector<int> volta_clocks(const Machine& machine, Format sum) {
  const Program program = volta_program(machine, sum);
  Launch launch;
  launch.trips = 1;
  launch.recorded = static_cast<int>(program.ops.size());
  launch.dependences = Dependences::scoreboard;
  std::vector<int> clocks;
  for (const Event& event : simulate(machine, program, launch).events)
    clocks.push_back(static_cast<int>(event.result));
  return clocks;
}

StepCost step_cost(const Machine& machine, Format sum) {
  using enum Parameter;
  const double cycles = machine[is_wide(sum) ? step_interval_f32 : step_interval_f16] * kTensorCoresOfWarp;
  const double multiply_adds = 16.0 * 16 * 16 / static_cast<double>(volta::schedule(sum).size());
  return {.operand_bits_per_cycle = kLanes * kRegistersOfOperand * kOperands * kRegisterBits / cycles,
          .multiply_adds_per_cycle = multiply_adds / cycles,
          .dot_products_per_cycle = multiply_adds / 4 / cycles};
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

FragmentLoads volta_loads(char operand, volta::Layout layout, int leading_dimension) {
  const FragmentMap map = operand == 'a' ? volta::fragment_a(layout) : volta::fragment_b(layout);
  const auto place = [&](int lane, int value) {
    const Coord at = map.at(lane, value);
    return layout == volta::Layout::row ? at.row * leading_dimension + at.col
                                        : at.col * leading_dimension + at.row;
  };
  constexpr int kBytes = 2;
  FragmentLoads loads;
  int run = 1;
  while (run < map.values && place(0, run) == place(0, run - 1) + 1) ++run;
  loads.bits = std::min(kMostLoadBits, run * 8 * kBytes);
  const int values = loads.bits / (8 * kBytes);
  loads.loads = map.values / values;
  if (loads.loads > 1) loads.stride = place(0, values) - place(0, 0);
  if (loads.stride == values) loads.stride = 0;
  for (int load = 0; load < loads.loads; ++load) {
    std::set<int> sectors;
    for (int lane = 0; lane < map.lanes; ++lane)
      for (int value = 0; value < values; ++value)
        sectors.insert(place(lane, load * values + value) * kBytes / kSectorBytes);
    loads.sectors += static_cast<int>(sectors.size());
  }
  return loads;
}

}  // namespace mmaudit::timing
