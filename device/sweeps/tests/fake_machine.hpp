#pragma once
// A machine that is a formula: four sub-cores, a latency, a rate.
#include <cmath>
#include <functional>

#include "mmaudit/sweeps/sweep.hpp"

namespace mmaudit::sweeps::test {

constexpr char kMma[] = "mma.m16n8k16.f32.f16.f16.f32";

/// Cycles of a step; the default behaves as the papers describe tensor cores and shared memory.
inline double usual_cycles(const Cell& cell) {
  if (cell.subject.kind == Kind::wgmma) {
    const int n = cell.instruction.n, warpgroups = cell.warps / 4;
    const double shared_a = cell.a_from_registers ? 0 : 16 + n / 4.0;
    const double sparse = is_sparse(cell.instruction.op) && !cell.a_from_registers ? 16 : 0;
    return warpgroups * std::max({13.0, n / 2.0, shared_a}) + sparse;
  }
  // The busiest of the four sub-cores.
  const int deepest = (cell.warps + 3) / 4 * cell.ilp;
  if (cell.subject.kind == Kind::mma) {
    const bool small = cell.instruction.stored_k() == 8;
    const double latency = small ? 16 : 24, each = small ? 7 : 8;
    const double issue = cell.warps <= 4 && cell.ilp > 1 ? 1.15 : 1.0;  // one warp cannot fill its sub-core
    return std::max(latency, deepest * each * issue) + 0.1 * (cell.warps > 4 ? 1 : 0);
  }
  const int ways = cell.subject.kind == Kind::load_words ? cell.ways : cell.subject.words;
  return std::max(21.0 + 2 * ways, 1.0 * ways * cell.warps * cell.ilp);
}

class FakeMachine final : public Machine {
 public:
  DeviceFacts facts() override { return {"Fake", "1.0", "13.0", 90, 132, 2e9}; }
  Measurement measure(const Cell& cell, const RunRule& rule) override {
    ++measured;
    Measurement out;
    if (cell.subject.kind == Kind::store_matrix) {
      out.skipped = "no stores here";
      return out;
    }
    if (cell.warps > most_warps) {
      out.skipped = "too many warps";
      return out;
    }
    const double step = cycles(cell);
    out.steps = 1000;
    out.compared = 64;
    out.differing = differing(cell);
    if (cell.scope == Scope::energy) out.joules = 700, out.seconds = 1;
    const double hz = clock(cell);
    for (int i = 0; i < rule.least; ++i) {
      // A spread of 0.2% around the value.
      const double wobble = 1 + 0.002 * (i % 3 - 1);
      const double seconds = out.steps * step * wobble / hz;
      out.samples.push_back({step * wobble, seconds, seconds, hz});
    }
    return out;
  }

  int measured = 0, most_warps = 32;
  std::function<double(const Cell&)> cycles = usual_cycles;
  std::function<double(const Cell&)> clock = [](const Cell& cell) {
    return cell.init == Init::zero ? 2e9 : 1.8e9;
  };
  std::function<std::uint64_t(const Cell&)> differing = [](const Cell&) { return 0; };
};

inline SweepResult sweep_of(FakeMachine& machine, const std::vector<std::string>& parts = {},
                            bool quick = false, const std::vector<std::string>& axes = {}) {
  SweepResult result;
  result.device = machine.facts();
  const SweepOptions options{select_subjects(parts), resolve_axes(axes, quick), {}};
  result.axes = options.axes;
  run_sweep(machine, options, {}, result);
  return result;
}

}  // namespace mmaudit::sweeps::test
