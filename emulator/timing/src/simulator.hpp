#pragma once
// The units of a multiprocessor and how warps issue to them. What a warp executes next, and what an access to
// memory meets, is the derived class's: a loop (simulate.cpp) or a whole kernel (kernel.cpp).
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mmaudit/timing/simulate.hpp"
#include "multiprocessor.hpp"

namespace mmaudit::timing {

/// `Self` has kByRank: whether the warp that issued in the cycle before goes first, and else the least rank;
/// it has key_of(subcore, place, warp, now): of warps that can issue, the one with the least key does;
/// further follow(index, warp, op, now), drained(warp, now, why), skips(index), wavefronts_of(index, op),
/// access_at(index), result_of(access, op, now, result), data_free(access): when an access can go on its way,
/// next_return() and take_returns(now): data that arrive.
template <typename Self>
class Simulator : public Multiprocessor {
 public:
  using Multiprocessor::Multiprocessor;

  /// Until every warp is done; returns when that is.
  Time run_all() {
    Time now = 0;
    while (alive_ > 0) {
      if (self().next_return() <= now) self().take_returns(now);
      while (!releases_.empty() && releases_.front().at <= now) release();
      if (accesses_ > 0 && now >= shared_free_) serve_shared(now);
      for (Subcore& subcore : subcores_)
        if (now >= subcore.wake) issue_one(subcore, now);
      if (alive_ == 0) return now + 1;
      Time next = std::min(self().next_return(), releases_.empty() ? kNever : releases_.front().at);
      for (const Subcore& subcore : subcores_) next = std::min(next, subcore.wake);
      if (accesses_ > 0) next = std::min(next, next_wavefront());
      if (next == kNever)
        throw std::runtime_error(
            "found a warp that waits for a barrier that nothing releases, allowed: none");
      now = std::max(now + 1, next);
    }
    return now;
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }

  /// One wavefront, from the sub-core whose access is the oldest.
  void serve_shared(Time now) {
    std::size_t which = kSubcores;
    Time oldest = kNever;
    for (std::size_t i = 0; i < kSubcores; ++i)
      if (heads_[i].next_wavefront <= now && heads_[i].since < oldest) {
        const Subcore& subcore = subcores_[i];
        const Time free = self().data_free(subcore.accesses[static_cast<std::size_t>(subcore.first)]);
        if (free > now) {
          heads_[i].next_wavefront = free;
          continue;
        }
        which = i;
        oldest = heads_[i].since;
      }
    if (which == kSubcores) return;
    {
      Subcore& subcore = subcores_[which];
      Access& access = subcore.accesses[static_cast<std::size_t>(subcore.first)];
      shared_free_ = now + static_cast<Time>(shared_sm_);
      shared_busy_ += static_cast<Time>(shared_sm_);
      subcore.next_wavefront = now + static_cast<Time>(shared_subcore_);
      heads_[which].next_wavefront = subcore.next_wavefront;
      if (--access.left > 0) return;
      const TimedOp& op = ops_[access.op];
      const Time result = self().result_of(
          access, op, now, subcore.next_wavefront + static_cast<Time>(shared_latency_) + op.latency);
      subcore.next_wavefront = std::max(subcore.next_wavefront, now + op.interval2 / 2);
      if (op.matrices && matrix_write2_ > 0) matrices_arrive(subcore, op, now);
      if (op.write_barrier >= 0 && result != kNever) push(result, access.warp, op.write_barrier);
      if (op.read_barrier >= 0) push(now + 1 + shared_read_, access.warp, op.read_barrier);
      if (scoreboard_) written(access.warp, op.destination, result);
      if (access.event >= 0) {
        events_[static_cast<std::size_t>(access.event)].free = now + 1;
        events_[static_cast<std::size_t>(access.event)].result = result;
      }
      if (++subcore.first == shared_queue_) subcore.first = 0;
      // Only a full queue has held up a warp; who waits for the data is woken by the barrier.
      if (subcore.queued == shared_queue_) {
        subcore.wake = std::min(subcore.wake, now);
        for (int place = 0; place < subcore.count; ++place) {
          Time& look = subcore.look[static_cast<std::size_t>(place)];
          look = std::min(look, now);
        }
      }
      --subcore.queued;
      heads_[which] =
          subcore.queued > 0
              ? Head{subcore.next_wavefront, subcore.accesses[static_cast<std::size_t>(subcore.first)].since}
              : Head{};
      --accesses_;
    }
  }

  /// 0 when the op can issue now; else when to look again, with the reason.
  Time not_before(const Subcore& subcore, int index, const Warp& warp, const TimedOp& op, Time now,
                  Wait& why) {
    if ((warp.held & op.wait_mask) != 0) {
      why = Wait::barrier;
      return kNever;
    }
    if (op.waits_for_block && warp.released > now) {
      why = Wait::block;
      return warp.released;
    }
    if (op.flow == Flow::drain)
      if (const Time at = self().drained(warp, now, why); at > now) return at;
    if (scoreboard_)
      if (const Time at = registers_ready(index, op); at > now) {
        why = Wait::registers;
        return at;
      }
    if (op.unit == Unit::none) return 0;
    if (op.unit == Unit::shared) {
      why = Wait::queue;
      return subcore.queued < shared_queue_ || self().skips(index) ? 0 : kNever;
    }
    const auto unit = static_cast<std::size_t>(op.unit);
    Time free2 = subcore.free2[unit];
    if (op.unit == Unit::tensor && (queue_ > 0 || op.queued)) {
      const auto depth = static_cast<std::uint64_t>(op.queued ? kMostQueued : queue_);
      free2 = subcore.sent < depth ? 0 : subcore.starts2[(subcore.sent - depth) % kMostQueued];
    }
    why = Wait::unit;
    return free2 / 2 <= now ? 0 : free2 / 2;
  }

  void issue_one(Subcore& subcore, Time now) {
    if (now < subcore.blocked) {
      subcore.wake = subcore.blocked;
      return;
    }
    if (goes_on(subcore, now)) return issue(subcore, subcore.last, now, now + 1);
    Time wake = kNever;
    int chosen = -1, able = 0;
    Time chosen_key = kNever;
    for (int i = 0; i < subcore.count; ++i) {
      const int place = place_of_turn(subcore, i);
      Time& look = subcore.look[static_cast<std::size_t>(place)];
      if (look > now) {
        wake = std::min(wake, look);
        continue;
      }
      const int index = place * kSubcores + subcore.number;
      Warp& warp = warp_at(index);
      if (warp.done || warp.ready > now) {
        look = warp.done ? kNever : warp.ready;
        wake = std::min(wake, look);
        continue;
      }
      Wait why = Wait::not_chosen;
      if (const Time at = not_before(subcore, index, warp, ops_[warp.at], now, why); at != 0) {
        warp.wait = why;
        look = at;
        wake = std::min(wake, at);
        continue;
      }
      if (warp.wait == Wait::planned) warp.wait = Wait::not_chosen;
      if constexpr (Self::kByRank) return issue(subcore, place, now, now + 1);
      const Time key = self().key_of(subcore, place, warp, now);
      ++able;
      if (key < chosen_key) {
        chosen_key = key;
        chosen = place;
      }
    }
    if (chosen < 0) {
      subcore.wake = wake;
      return;
    }
    issue(subcore, chosen, now, able > 1 ? now + 1 : wake);
  }

  /// Where ranks decide, the first that can is chosen and the others are not looked at.
  static int place_of_turn(const Subcore& subcore, int turn) {
    if constexpr (Self::kByRank) return subcore.order[static_cast<std::size_t>(turn)];
    const int place = subcore.last + 1 + turn;  // the one that issued last comes last
    return place < subcore.count ? place : place - subcore.count;
  }

  /// Whether the warp that issued in the cycle before can, and comes before all others: then none of them is
  /// looked at.
  bool goes_on(const Subcore& subcore, Time now) {
    if (subcore.last < 0 || subcore.last_issue + 1 != now) return false;
    if (subcore.look[static_cast<std::size_t>(subcore.last)] > now) return false;
    const int index = subcore.last * kSubcores + subcore.number;
    const Warp& warp = warp_at(index);
    Wait why = Wait::not_chosen;
    return !warp.done && warp.ready <= now && self().key_of(subcore, subcore.last, warp, now) == 0 &&
           not_before(subcore, index, warp, ops_[warp.at], now, why) == 0;
  }

  /// `others`: when one of the others may be able to.
  void issue(Subcore& subcore, int place, Time now, Time others) {
    const int index = place * kSubcores + subcore.number;
    Warp& warp = warp_at(index);
    execute(subcore, index, warp, ops_[warp.at], now);
    subcore.last = place;
    subcore.last_issue = now;
    subcore.wake = std::max({now + 1, subcore.blocked, std::min(others, look_of(index))});
  }

  void execute(Subcore& subcore, int index, Warp& warp, const TimedOp& op, Time now) {
    ++instructions_;
    ++subcore.issued;
    if (now > warp.ready) waits_[static_cast<std::size_t>(warp.wait)] += now - warp.ready;
    if (op.stall > 1) waits_[static_cast<std::size_t>(Wait::planned)] += op.stall - 1U;
    Event event;
    const bool recorded = static_cast<int>(events_.size()) < launch_.recorded;
    if (recorded)
      event = {index, warp.at, warp.ready, now,
               now,   now + 1, now + 1,    now > warp.ready ? warp.wait : Wait::planned};
    warp.wait = Wait::planned;
    if (window_ > 0) read_registers(subcore, op, now);
    start(subcore, index, warp, op, now, recorded ? &event : nullptr);
    if (recorded) events_.push_back(event);
    warp.ready = now + (scoreboard_ ? 1U : std::max<Time>(op.yields ? 2 : 1, op.stall));
    self().follow(index, warp, op, now);
    look_of(index) = warp.done ? kNever : warp.ready;
  }

  /// The unit takes it.
  void start(Subcore& subcore, int index, Warp& warp, const TimedOp& op, Time now, Event* event) {
    if (op.unit == Unit::shared) {
      if (self().skips(index)) return;
      if (subcore.queued == 0) {
        subcore.next_wavefront = std::max(subcore.next_wavefront, now + 1);
        heads_[static_cast<std::size_t>(subcore.number)] = {subcore.next_wavefront, now};
      }
      const int slot = (subcore.first + subcore.queued) % shared_queue_;
      subcore.accesses[static_cast<std::size_t>(slot)] = {
          static_cast<std::int16_t>(index),
          warp.at,
          std::max<int>(1, self().wavefronts_of(index, op)),
          event != nullptr ? static_cast<int>(events_.size()) : -1,
          now,
          self().access_at(index)};
      ++subcore.queued;
      ++accesses_;
      hold(index, op.write_barrier, kNever);
      hold(index, op.read_barrier, kNever);
      if (scoreboard_) written(index, op.destination, kNever);
      return;
    }
    Time start2 = 2 * now;
    const auto unit = static_cast<std::size_t>(op.unit);
    if (op.unit != Unit::none) {
      start2 = std::max(start2, subcore.free2[unit]);
      if (op.unit == Unit::tensor) {
        // The accumulator of the instruction just before is handed on inside the unit.
        if (!op.queued && subcore.accumulating == index && subcore.accumulator == op.destination)
          start2 = std::max(start2, subcore.accumulator_ready2);
        if (!op.queued) takes_of_fma(subcore, op, now);
        subcore.accumulating = index;
        subcore.accumulator = op.destination;
        subcore.accumulator_ready2 = start2 + op.interval2 + static_cast<Time>(turnaround2_);
        subcore.starts2[subcore.sent++ % kMostQueued] = start2;
      }
      subcore.free2[unit] = start2 + op.interval2;
      subcore.busy2[unit] += op.interval2;
    }
    Time result = (start2 + 1) / 2 + op.latency;
    if (op.unit == Unit::global) {
      memory_free_ = std::max(memory_free_, static_cast<double>(now)) +
                     (memory_bytes_ > 0 ? op.bytes / memory_bytes_ : 0);
      result = static_cast<Time>(std::ceil(memory_free_)) + op.latency;
    }
    if (op.queued) warp.drained = std::max(warp.drained, (start2 + op.interval2 + 1) / 2);
    hold(index, op.write_barrier, result);
    hold(index, op.read_barrier, (start2 + 1) / 2 + 2);
    if (scoreboard_) written(index, op.destination, result);
    if (event != nullptr) {
      event->start = start2 / 2;
      event->free = std::max(now + 1, (start2 + op.interval2 + 1) / 2);
      event->result = std::max(event->free, result);
    }
  }
};

}  // namespace mmaudit::timing
