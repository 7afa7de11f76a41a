#include "mmaudit/timing/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "kernel_memory.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/sass/decode.hpp"
#include "simulator.hpp"

namespace mmaudit::timing {
namespace {

using sass::Step;

/// What an op is to the walk, and how many groups of copies a wait leaves under way.
struct OpKind {
  Step step = Step::plain;
  int groups = 0;
  int barrier = -1;  ///< of a commit
};

/// Data that arrive, the cycles that they take of the pipe, and the barrier that a load releases then.
struct Return {
  Time at = 0;
  double passes = 0;
  int warp = 0, barrier = -1;
};
constexpr auto kReturnsLater = [](const Return& x, const Return& y) { return x.at > y.at; };

/// Copies of cp.async between two commits.
struct CopyGroup {
  int under_way = 0;
  Time last = 0;
  int barrier = -1;  ///< released when all are there; -1: not committed
};

/// Beside what every warp has.
struct WarpOfBlock {
  const Executed* step = nullptr;  ///< of its walk: what is executed next
  const Executed* end = nullptr;
  std::deque<CopyGroup> groups{1};
  Time ordered = 0;  ///< groups are there in order
};

/// Blocks that are in the same place after each other, by the same warps.
struct Place {
  std::uint64_t block = 0;
  int arrived = 0, ended = 0;
  double began = 0;
};

class KernelSimulator : public Simulator<KernelSimulator> {
 public:
  KernelSimulator(const Machine& machine, const Program& program, const WalkedBlock& block,
                  const GridLaunch& kernel, const std::vector<OpKind>& kinds, const Launch& launch)
      : Simulator(machine, program, launch),
        block_(block),
        kernel_(kernel),
        kinds_(kinds),
        memory_(machine, kernel),
        warps_of_block_(static_cast<int>(block.warps.size())),
        barrier_latency_(static_cast<Time>(machine.cycles(Parameter::barrier_latency) +
                                           machine.cycles(Parameter::barrier_warp) *
                                               static_cast<int>(block.warps.size()))),
        block_launch_(static_cast<Time>(machine.cycles(Parameter::block_launch))),
        lines_per_cycle_(std::max(0.25, machine[Parameter::line_passes])),
        partial_(machine[Parameter::partial_store]),
        generic_(machine[Parameter::generic_access]),
        load_passes_(machine[Parameter::load_passes]),
        copy_passes_(machine[Parameter::copy_passes]),
        own_(static_cast<std::size_t>(launch.warps)),
        places_(static_cast<std::size_t>(launch.warps / warps_of_block_)) {
    const auto apart = static_cast<Time>(machine.cycles(Parameter::block_apart));
    for (Place& place : places_) place.block = next_block_++;
    for (int warp = 0; warp < launch.warps; ++warp)
      begin(warp, static_cast<Time>(warp / warps_of_block_) * apart);
  }

  KernelTiming run() {
    const Time now = run_all();
    KernelTiming timing;
    timing.cycles = static_cast<double>(now);
    timing.detail.cycles = now;
    add_shares(timing.detail, static_cast<double>(std::max<Time>(1, now)), kSubcores, 1);
    timing.instructions = static_cast<double>(instructions_);
    timing.blocks = lives_;
    timing.l1_hits = memory_.asked > 0 ? memory_.hits / memory_.asked : 0;
    timing.l2_bytes = memory_.l2_bytes() / timing.cycles;
    timing.dram_bytes = memory_.dram_bytes() / timing.cycles;
    return timing;
  }

 private:
  friend Simulator;

  void begin(int index, Time at) {
    // Barriers that the block before left are released when their accesses are done.
    Warp& warp = warp_at(index);
    Warp fresh;
    std::copy(std::begin(warp.pending), std::end(warp.pending), std::begin(fresh.pending));
    fresh.held = warp.held;
    fresh.ready = at;
    fresh.rank = (place_of(index).block + 1) * kMostWarps - static_cast<Time>(index % warps_of_block_);
    warp = fresh;
    put_in_order(subcores_[static_cast<std::size_t>(index % kSubcores)]);
    const std::vector<Executed>& steps =
        block_.warps[static_cast<std::size_t>(index % warps_of_block_)].steps;
    own(index) = WarpOfBlock{};
    own(index).step = steps.data();
    own(index).end = steps.data() + steps.size();
    warp.at = steps.front().op;
  }
  WarpOfBlock& own(int index) { return own_[static_cast<std::size_t>(index)]; }
  Place& place_of(int index) { return places_[static_cast<std::size_t>(index / warps_of_block_)]; }
  [[nodiscard]] const OpKind& kind_of(int op) const { return kinds_[static_cast<std::size_t>(op)]; }

  // What Simulator asks for.
  static constexpr bool kByRank = true;
  /// The one that issued in the cycle before, else one of the block that began first; of its warps the last.
  /// Source: docs/results/h200-kernels/blocks.csv; of the warps of a block Huerta et al., arXiv 2503.20481.
  static Time key_of(const Subcore& subcore, int place, const Warp& warp, Time now) {
    return place == subcore.last && subcore.last_issue + 1 == now ? 0 : warp.rank;
  }
  /// Copies, all but so many groups: until a release.
  [[nodiscard]] Time drained(const Warp& warp, Time, Wait& why) const {
    if (warp.pending[0] <= kind_of(warp.at).groups) return 0;
    why = Wait::barrier;
    return kNever;
  }
  int access_at(int index) { return own(index).step->access; }
  /// An access that no lane does.
  bool skips(int index) {
    const Executed& one = *own(index).step;
    if (one.access >= 0) return false;
    const Step step = kind_of(one.op).step;
    return step == Step::shared || step == Step::load || step == Step::store || step == Step::copy;
  }
  int wavefronts_of(int index, const TimedOp& op) {
    const int record = access_at(index);
    if (record < 0) return op.wavefronts;
    const MemoryAccess& access = block_.accesses[static_cast<std::size_t>(record)];
    const Step step = kind_of(warp_at(index).at).step;
    if (step == Step::copy) ++own(index).groups.back().under_way;
    if (access.sectors.empty()) return access.wavefronts;
    if (step != Step::store) return address_passes(access);
    return static_cast<int>(std::ceil(std::max<double>(access.wavefronts, lines_of(access)) +
                                      (access.partial ? partial_ * access.lines : 0)));
  }
  /// kNever: the return of its data releases the barrier.
  Time result_of(const Access& access, const TimedOp& op, Time now, Time result) {
    if (access.record < 0) return result;
    const MemoryAccess& met = block_.accesses[static_cast<std::size_t>(access.record)];
    if (met.generic && met.wavefronts == 1) look_up();
    if (met.sectors.empty()) return result;
    const Step step = kind_of(access.op).step;
    if (step == Step::store) {
      memory_.store(met, place_of(access.warp).block, now);
      return now + 1;
    }
    const double behind = std::max(0.0, pipe_free_ - static_cast<double>(now));
    const Time there = memory_.load(met, place_of(access.warp).block, now, step == Step::copy, behind);
    // An access that waits for a line of L1 holds up those behind it.
    shared_free_ = std::max(shared_free_, static_cast<Time>(std::ceil(memory_.had_lines)));
    // What comes from L2 is written into L1 or shared memory; what a load asks for is then read, line by
    // line.
    double passes = memory_.misses / kSectorsOfLine * (step == Step::copy ? copy_passes_ : load_passes_);
    if (step == Step::load) passes = std::max(passes + met.wavefronts, lines_of(met));
    passes -= address_passes(met);
    if (passes > 0 && step == Step::copy) {
      copied_ += passes;
      const auto whole = static_cast<Time>(copied_);
      copied_ -= static_cast<double>(whole);
      shared_free_ += whole;
      shared_busy_ += whole;
    } else if (passes > 0) {
      returns_.push_back({there, passes, access.warp, op.write_barrier});
      std::push_heap(returns_.begin(), returns_.end(), kReturnsLater);
      return kNever;
    }
    if (step == Step::copy) copied(access.warp, there);
    return there;
  }

  static constexpr double kSectorsOfLine = FirstLevel::kSectorsOfLine;
  [[nodiscard]] double lines_of(const MemoryAccess& access) const { return access.lines / lines_per_cycle_; }
  /// Four lines are looked up at once.
  [[nodiscard]] static int address_passes(const MemoryAccess& access) { return (access.lines + 3) / 4; }

  [[nodiscard]] Time next_return() const { return returns_.empty() ? kNever : returns_.front().at; }
  /// Accesses to shared memory wait until data that have arrived are through the pipe; addresses of loads do
  /// not.
  [[nodiscard]] Time data_free(const Access& access) const {
    if (access.record >= 0 && !block_.accesses[static_cast<std::size_t>(access.record)].sectors.empty())
      return 0;
    return static_cast<Time>(pipe_free_ + static_cast<double>(shared_busy_ - pipe_busy_));
  }
  /// Data on their way back take the pipe when they arrive; a load is done when its data do.
  void take_returns(Time now) {
    double free = pipe_free_ + static_cast<double>(shared_busy_ - pipe_busy_);
    while (!returns_.empty() && returns_.front().at <= now) {
      const Return one = returns_.front();
      std::pop_heap(returns_.begin(), returns_.end(), kReturnsLater);
      returns_.pop_back();
      free = std::max(free, static_cast<double>(one.at));
      if (one.barrier >= 0) push(static_cast<Time>(std::ceil(free)), one.warp, one.barrier);
      free += one.passes;
      returned_ += one.passes;
    }
    const auto whole = static_cast<Time>(returned_);
    returned_ -= static_cast<double>(whole);
    shared_busy_ += whole;
    pipe_free_ = free;
    pipe_busy_ = shared_busy_;
  }

  /// Which memory an address is of, is looked up first: so much of a cycle of the pipe.
  void look_up() {
    looked_up_ += generic_;
    const auto whole = static_cast<Time>(looked_up_);
    looked_up_ -= static_cast<double>(whole);
    shared_free_ += whole;
    shared_busy_ += whole;
  }

  // cp.async
  void copied(int index, Time at) {
    for (CopyGroup& group : own(index).groups)
      if (group.under_way > 0) {  // accesses are served in order
        --group.under_way;
        group.last = std::max(group.last, at);
        break;
      }
    finish_groups(index);
  }
  void finish_groups(int index) {
    WarpOfBlock& warp = own(index);
    while (warp.groups.front().barrier >= 0 && warp.groups.front().under_way == 0) {
      const CopyGroup& group = warp.groups.front();
      warp.ordered = std::max(warp.ordered, group.last);
      push(warp.ordered, index, group.barrier);
      warp.groups.pop_front();
    }
  }

  void follow(int index, Warp& warp, const TimedOp&, Time now) {
    const OpKind& kind = kind_of(warp.at);
    WarpOfBlock& own_warp = own(index);
    if (kind.step == Step::commit && kind.barrier >= 0) {
      hold(index, kind.barrier, kNever);
      CopyGroup& group = own_warp.groups.back();
      group.barrier = kind.barrier;
      group.last = std::max(group.last, now + 1);
      own_warp.groups.emplace_back();
      finish_groups(index);
    }
    if (++own_warp.step == own_warp.end) {
      end(index, warp, now);
      return;
    }
    const std::int32_t next = own_warp.step->op;
    if (next != warp.at + 1) warp.ready += branch_taken_;
    warp.at = next;
    if (kind.step == Step::barrier) arrive(index, warp, now);
  }

  void arrive(int index, Warp& warp, Time now) {
    Place& place = place_of(index);
    if (++place.arrived < warps_of_block_) {
      warp.ready = kNever;
      return;
    }
    place.arrived = 0;
    const int first = index - index % warps_of_block_;
    for (int other = first; other < first + warps_of_block_; ++other) {
      warp_at(other).ready = now + barrier_latency_;
      look_at(other, now + 1);
    }
  }

  void end(int index, Warp& warp, Time now) {
    warp.done = true;
    warp.ended = now;
    --alive_;
    Place& place = place_of(index);
    if (++place.ended < warps_of_block_) return;
    if (next_block_ == static_cast<std::uint64_t>(kernel_.blocks)) {
      lives_.push_back({place.block, place.began, static_cast<double>(now)});
      return;
    }
    place.ended = 0;
    lives_.push_back({place.block, place.began, static_cast<double>(now)});
    place.began = static_cast<double>(now + block_launch_);
    place.block = next_block_++;
    const int first = index - index % warps_of_block_;
    for (int other = first; other < first + warps_of_block_; ++other) {
      begin(other, now + block_launch_);
      look_at(other, now + 1);
    }
    alive_ += warps_of_block_;
  }

  const WalkedBlock& block_;
  const GridLaunch& kernel_;
  const std::vector<OpKind>& kinds_;
  KernelMemory memory_;
  int warps_of_block_;
  Time barrier_latency_, block_launch_;
  double lines_per_cycle_, partial_, generic_, load_passes_, copy_passes_, looked_up_ = 0, copied_ = 0,
                                                                           returned_ = 0;
  std::vector<WarpOfBlock> own_;
  std::vector<Return> returns_;  ///< a heap, earliest first
  double pipe_free_ = 0;         ///< when all that came before is through the pipe
  Time pipe_busy_ = 0;
  std::vector<Place> places_;
  std::vector<BlockLife> lives_;
  std::uint64_t next_block_ = 0;
};

std::vector<OpKind> kinds_of(const sass::Function& function) {
  std::vector<OpKind> kinds;
  kinds.reserve(function.lines.size());
  for (const sass::Line& line : function.lines) {
    OpKind kind{sass::opcode_of(line.opcode).step, 0, -1};
    if (kind.step == Step::commit) kind.barrier = int{line.control.write_barrier};
    if (kind.step == Step::wait_copies) {
      const std::vector<sass::Operand> parts = sass::decode(line).operands;
      kind.groups = parts.size() > 1 ? static_cast<int>(parts[1].value) : 0;
    }
    kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace

void require_memory(const Machine& machine) {
  const auto lacks = [](const Machine& one) {
    constexpr Parameter kNeeded[] = {Parameter::l2_bytes, Parameter::dram_bytes, Parameter::l2_port,
                                     Parameter::store_bytes, Parameter::kernel_multiprocessors};
    return std::any_of(std::begin(kNeeded), std::end(kNeeded), [&](Parameter p) { return one[p] <= 0; });
  };
  if (!lacks(machine)) return;
  std::string allowed;
  for (const Machine& one : machines())
    if (!lacks(one)) allowed += (allowed.empty() ? "" : ", ") + std::string(one.name);
  throw InputError("machine: found " + std::string(machine.name) +
                   ", which has no numbers of L2 and memory for whole kernels, allowed: " + allowed);
}

KernelTiming simulate_kernel(const Machine& machine, const sass::Function& function, const WalkedBlock& block,
                             const GridLaunch& launch) {
  require_memory(machine);
  Program program = whole_program_of(machine, function);
  for (TimedOp& op : program.ops) {
    op.flow = Flow::next;
    op.target = -1;
    if (op.unit == Unit::global) op.unit = Unit::shared;
  }
  const std::vector<OpKind> kinds = kinds_of(function);
  // A commit is released when its copies are there, not by itself.
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].step == Step::commit) program.ops[i].write_barrier = -1;
    if (kinds[i].step == Step::wait_copies) program.ops[i].flow = Flow::drain;
  }
  Launch warps;
  warps.warps = std::min(launch.resident, launch.blocks) * static_cast<int>(block.warps.size());
  check_launch(program, warps);
  return KernelSimulator(machine, program, block, launch, kinds, warps).run();
}

}  // namespace mmaudit::timing
