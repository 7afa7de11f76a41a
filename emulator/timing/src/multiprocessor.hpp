#pragma once
// The units of a multiprocessor, and what its warps wait for.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "launch.hpp"
#include "mmaudit/timing/simulate.hpp"
#include "state.hpp"

namespace mmaudit::timing {

class Multiprocessor {
 public:
  Multiprocessor(const Machine& machine, const Program& program, const Launch& launch)
      : ops_(program.ops.data()),
        text_(program.text.data()),
        size_(static_cast<int>(program.ops.size())),
        launch_(launch),
        scoreboard_(launch.dependences == Dependences::scoreboard),
        turnaround2_(2 * machine.cycles(Parameter::turnaround)),
        result2_(2 * machine[Parameter::result_interval]),
        matrix_write2_(2 * machine[Parameter::matrix_write]),
        queue_(std::min(machine.cycles(Parameter::tensor_queue), kMostQueued)),
        shared_latency_(machine.cycles(Parameter::shared_latency)),
        shared_subcore_(machine.cycles(Parameter::shared_subcore)),
        shared_sm_(machine.cycles(Parameter::shared_sm)),
        shared_queue_(std::max(1, machine.cycles(Parameter::shared_queue))),
        shared_read_(static_cast<Time>(machine.cycles(Parameter::shared_read))),
        branch_taken_(static_cast<Time>(machine.cycles(Parameter::branch_taken))),
        branch_least_(static_cast<Time>(machine.cycles(Parameter::branch_least))),
        branch_call_(static_cast<Time>(machine.cycles(Parameter::branch_call))),
        window_(static_cast<Time>(machine.cycles(Parameter::register_window))),
        integer_window_(static_cast<Time>(machine.cycles(machine[Parameter::integer_window] > 0
                                                             ? Parameter::integer_window
                                                             : Parameter::register_window))),
        matrix_reads_(machine[Parameter::matrix_reads]),
        memory_bytes_(machine[Parameter::l1_bytes]),
        warps_(static_cast<std::size_t>(launch.warps)) {
    for (int i = 0; i < kSubcores; ++i) {
      Subcore& subcore = subcores_[static_cast<std::size_t>(i)];
      subcore.number = i;
      subcore.count = (launch.warps - i + kSubcores - 1) / kSubcores;
      subcore.look.fill(0);
      std::iota(subcore.order.begin(), subcore.order.end(), std::uint8_t{0});
      subcore.accesses.resize(static_cast<std::size_t>(shared_queue_));
    }
    if (scoreboard_) written_.resize(warps_.size() * kRegistersOfWarp);
    alive_ = launch.warps;
  }

 protected:
  Warp& warp_at(int warp) { return warps_[static_cast<std::size_t>(warp)]; }

  /// After the rank of one of its warps has changed.
  void put_in_order(Subcore& subcore) {
    const auto rank = [&](std::uint8_t place) { return warp_at(place * kSubcores + subcore.number).rank; };
    std::sort(subcore.order.begin(), subcore.order.begin() + subcore.count,
              [&](std::uint8_t x, std::uint8_t y) { return rank(x) < rank(y); });
  }

  void hold(int warp, int barrier, Time until) {
    if (barrier < 0) return;
    Warp& holder = warp_at(warp);
    ++holder.pending[barrier];
    holder.held = static_cast<std::uint8_t>(holder.held | 1U << barrier);
    if (until != kNever) push(until, warp, barrier);
  }
  void push(Time at, int warp, int barrier) {
    releases_.push_back({at, static_cast<std::int16_t>(warp), static_cast<std::int8_t>(barrier)});
    std::push_heap(releases_.begin(), releases_.end(), kLater);
  }
  void release() {
    const Release one = releases_.front();
    std::pop_heap(releases_.begin(), releases_.end(), kLater);
    releases_.pop_back();
    Warp& warp = warp_at(one.warp);
    if (--warp.pending[one.barrier] == 0)
      warp.held = static_cast<std::uint8_t>(warp.held & ~(1U << one.barrier));
    look_at(one.warp, one.at);
  }

  Time& look_of(int warp) {
    return subcores_[static_cast<std::size_t>(warp % kSubcores)]
        .look[static_cast<std::size_t>(warp / kSubcores)];
  }
  /// What held up the warp may be over at that time.
  void look_at(int warp, Time at) {
    look_of(warp) = std::min(look_of(warp), at);
    Subcore& subcore = subcores_[static_cast<std::size_t>(warp % kSubcores)];
    subcore.wake = std::min(subcore.wake, at);
  }

  Time next_wavefront() const {
    Time next = kNever;
    for (const Head& head : heads_) next = std::min(next, head.next_wavefront);
    return std::max(next, shared_free_);
  }

  Time& written_at(int warp, int reg) {
    return written_[static_cast<std::size_t>(warp) * kRegistersOfWarp + static_cast<std::size_t>(reg)];
  }
  void written(int warp, const Registers& registers, Time at) {
    for (int r = registers.first; r < registers.first + registers.count; ++r) written_at(warp, r) = at;
    if (at != kNever) look_at(warp, at);
  }
  Time registers_ready(int warp, const TimedOp& op) {
    Time at = 0;
    const auto wait_for = [&](const Registers& registers) {
      for (int r = registers.first; r < registers.first + registers.count; ++r)
        at = std::max(at, written_at(warp, r));
    };
    if (launch_.checks_raw)
      for (const Registers& source : op.sources) wait_for(source);
    if (launch_.checks_waw) wait_for(op.destination);
    return at;
  }

  /// A bank gives one register per cycle, and an instruction has a window of cycles for all that it reads;
  /// what is late holds up all warps. An mma keeps its banks longer and is not held up itself. Source:
  /// docs/results/timing.md, random loops.
  void read_registers(Subcore& subcore, const TimedOp& op, Time now) const {
    const bool matrix = op.unit == Unit::tensor;
    const Time window = op.unit == Unit::alu ? integer_window_ : window_;
    for (std::size_t bank = 0; bank < kBanks; ++bank) {
      if (op.reads[bank] == 0) continue;
      Time& free = subcore.bank_free[bank];
      Time& kept = subcore.bank_kept[bank];
      if (matrix) {
        free = std::max(free, now) + op.reads[bank];
        kept = std::max(kept, free + static_cast<Time>(op.reads[bank] * matrix_reads_));
        continue;
      }
      const Time end = std::max({free, kept, now}) + op.reads[bank];
      free = end;
      if (end > now + window) subcore.blocked = std::max(subcore.blocked, end - window + 1);
    }
  }

  /// What ldmatrix loads is written while the tensor unit does nothing, the longer the more registers of D it
  /// writes. Source: docs/results/h100-loaded, mma.
  void matrices_arrive(Subcore& subcore, const TimedOp& op, Time now) {
    matrix_written2_ += matrix_write2_ * op.destination.count * subcore.accumulator.count;
    const auto whole2 = static_cast<Time>(matrix_written2_);
    matrix_written2_ -= static_cast<double>(whole2);
    Time& free2 = subcore.free2[static_cast<std::size_t>(Unit::tensor)];
    free2 = std::max(free2, 2 * now) + whole2;
  }

  /// An mma keeps the unit of additions and conversions from its issue on, per register of its D. Source: the
  /// FP8 grids of docs/results/h200-sweep.
  void takes_of_fma(Subcore& subcore, const TimedOp& op, Time now) const {
    Time& free2 = subcore.free2[static_cast<std::size_t>(Unit::fma)];
    free2 = std::max(free2, 2 * now) + static_cast<Time>(result2_ * op.destination.count);
  }

  /// Shares of `all` cycles on `used` sub-cores; waits are per warp and trip.
  void add_shares(Timing& timing, double all, double used, double trips) const {
    for (const Subcore& subcore : subcores_) {
      for (std::size_t unit = 0; unit < kUnits; ++unit)
        timing.busy[unit] += static_cast<double>(subcore.busy2[unit]) / 2 / all / used;
      timing.issue_busy += static_cast<double>(subcore.issued) / all / used;
    }
    timing.shared_busy = static_cast<double>(shared_busy_) / all;
    for (std::size_t wait = 0; wait < kWaits; ++wait)
      timing.waits[wait] = static_cast<double>(waits_[wait]) / launch_.warps / trips;
    timing.instructions = instructions_;
  }

  const TimedOp* ops_;
  const std::string* text_;
  int size_;
  Launch launch_;
  bool scoreboard_;
  int turnaround2_;
  double result2_, matrix_write2_, matrix_written2_ = 0;
  int queue_, shared_latency_, shared_subcore_, shared_sm_, shared_queue_;
  Time shared_read_, branch_taken_, branch_least_, branch_call_, window_, integer_window_;
  double matrix_reads_, memory_bytes_, memory_free_ = 0;
  std::vector<Warp> warps_;
  std::array<Subcore, kSubcores> subcores_;
  std::array<Head, kSubcores> heads_;  ///< of the queues of the sub-cores
  std::vector<Release> releases_;      ///< a heap, earliest first
  std::vector<Time> written_;          ///< by warp and register: when its value is there
  std::vector<Event> events_;
  std::array<std::uint64_t, kWaits> waits_{};
  Time shared_free_ = 0, shared_busy_ = 0;
  std::uint64_t instructions_ = 0;
  int accesses_ = 0, alive_ = 0;
};

}  // namespace mmaudit::timing
