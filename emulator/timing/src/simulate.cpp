#include "mmaudit/timing/simulate.hpp"

#include <algorithm>
#include <stdexcept>

#include "mmaudit/printable.hpp"
#include "simulator.hpp"

namespace mmaudit::timing {
namespace {

/// Every warp goes round one loop.
class LoopSimulator : public Simulator<LoopSimulator> {
 public:
  LoopSimulator(const Machine& machine, const Program& program, const Launch& launch)
      : Simulator(machine, program, launch),
        warps_of_block_(launch.warps / launch.blocks),
        barrier_latency_(static_cast<Time>(machine.cycles(Parameter::barrier_latency))),
        barrier_warp_(static_cast<Time>(machine.cycles(Parameter::barrier_warp))),
        arrived_(static_cast<std::size_t>(launch.blocks)) {}
  Timing run(const Program& program) { return result(program, run_all()); }

 private:
  friend Simulator;
  static constexpr bool kByRank = false;
  /// The one that issued last, as long as nothing but its own control word has held it up, else the one that
  /// has waited longest. Source: the grids of docs/results/h200-sweep.
  static Time key_of(const Subcore& subcore, int place, const Warp& warp, Time now) {
    return place == subcore.last && warp.ready == now ? 0 : warp.ready + 1;
  }
  static Time drained(const Warp& warp, Time now, Wait& why) {
    if (warp.drained > now) why = Wait::drain;
    return warp.drained;
  }
  static constexpr bool skips(int) { return false; }
  static Time next_return() { return kNever; }
  static void take_returns(Time) {}
  static Time data_free(const Access&) { return 0; }
  static int wavefronts_of(int, const TimedOp& op) { return op.wavefronts; }
  static constexpr int access_at(int) { return -1; }
  static Time result_of(const Access&, const TimedOp&, Time, Time result) { return result; }

  /// At a barrier of the block. The rank of a warp, which loops do not use, is when it came.
  void arrive(int index, Warp& warp, Time now) {
    int& arrived = arrived_[static_cast<std::size_t>(index / warps_of_block_)];
    warp.released = kNever;
    barrier_free_ = std::max(barrier_free_, now) + barrier_warp_;
    if (++arrived < warps_of_block_) return;
    arrived = 0;
    const int first = index - index % warps_of_block_;
    for (int other = first; other < first + warps_of_block_; ++other) {
      warp_at(other).released = std::max(now + 1, barrier_free_ + barrier_latency_);
      look_at(other, now + 1);
    }
  }

  void follow(int index, Warp& warp, const TimedOp& op, Time now) {
    ++warp.at;
    switch (op.flow) {
      case Flow::next:
      case Flow::drain:
        break;
      case Flow::barrier:
        arrive(index, warp, now);
        break;
      case Flow::loop:
        end_trip(warp, op.target, now);
        return;
      case Flow::jump:
        warp.at = op.target;
        take_branch(warp, now);
        break;
      case Flow::call:
        if (warp.depth == kMostDepth)
          throw std::runtime_error("found calls nested deeper than 8 at \"" +
                                   printable(text_[static_cast<std::size_t>(warp.at - 1)]) +
                                   "\", allowed: 8");
        warp.stack[warp.depth++] = warp.at;
        warp.at = op.target;
        break;
      case Flow::back:
        if (warp.depth == 0)
          throw std::runtime_error("found a return without a call, allowed: one after a call");
        warp.at = warp.stack[--warp.depth];
        warp.ready += branch_call_;
        break;
    }
    if (warp.at >= size_) end_trip(warp, 0, now);
  }

  void end_trip(Warp& warp, int target, Time now) {
    if (++warp.trips == launch_.trips) {
      warp.done = true;
      warp.ended = std::max(now, warp.drained);
      --alive_;
      return;
    }
    warp.at = target;
    take_branch(warp, now);
  }
  void take_branch(Warp& warp, Time now) const {
    warp.ready = std::max(warp.ready + branch_taken_, now + branch_least_);
  }

  Timing result(const Program& program, Time now) {
    Timing timing;
    Time last = 0;
    for (const Warp& warp : warps_) last = std::max(last, warp.ended);
    const double trips = launch_.trips;
    timing.cycles_per_trip = static_cast<double>(last) / trips;
    timing.cycles_per_step = timing.cycles_per_trip / std::max(1, program.steps);
    timing.work_per_cycle = program.work * launch_.warps / timing.cycles_per_trip;
    timing.cycles = now;
    // Units still work when the last warp has issued its last instruction: shares are of the time until all
    // of them are done.
    Time done = std::max<Time>({now, last, shared_free_, 1});
    for (const Subcore& subcore : subcores_)
      for (const Time free2 : subcore.free2) done = std::max(done, (free2 + 1) / 2);
    add_shares(timing, static_cast<double>(done), std::min(launch_.warps, kSubcores), trips);
    timing.events = std::move(events_);
    return timing;
  }

  int warps_of_block_;
  Time barrier_latency_, barrier_warp_, barrier_free_ = 0;
  std::vector<int> arrived_;  ///< warps of each block that wait at its barrier
};

}  // namespace

Timing simulate(const Machine& machine, const Program& program, const Launch& launch) {
  check_launch(program, launch);
  return LoopSimulator(machine, program, launch).run(program);
}

}  // namespace mmaudit::timing
