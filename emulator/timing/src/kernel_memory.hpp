#pragma once
// What is behind the first-level cache of a multiprocessor: that cache, its share of the second-level cache,
// and memory, as queues.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "first_level.hpp"
#include "mmaudit/timing/kernel.hpp"
#include "state.hpp"

namespace mmaudit::timing {

class KernelMemory {
 public:
  static constexpr double kSlowAccess = 270;  ///< to memory: of the slowest of many; source: spread()

  KernelMemory(const Machine& machine, const GridLaunch& launch)
      : launch_(launch),
        l1_latency_(machine[Parameter::l1_latency]),
        l2_latency_(machine[Parameter::l2_latency]),
        l2_several_(machine[Parameter::l2_several]),
        dram_latency_(machine[Parameter::dram_latency]),
        l2_cycles_(kSector / (machine[Parameter::l2_bytes] / machine[Parameter::kernel_multiprocessors])),
        port_cycles_(kSector / machine[Parameter::l2_port]),
        store_cycles_(kSector / machine[Parameter::store_bytes]),
        dram_cycles_(kSector / (machine[Parameter::dram_bytes] / machine[Parameter::kernel_multiprocessors])),
        dram_access_(static_cast<std::uint64_t>(std::clamp(machine.cycles(Parameter::dram_access), 1, 4))),
        multiprocessors_(
            static_cast<std::uint64_t>(std::max(1, machine.cycles(Parameter::kernel_multiprocessors)))),
        l1_(machine) {
    // Fewer multiprocessors at work have a larger share each.
    const double busy = std::min(1.0, launch.multiprocessors / machine[Parameter::kernel_multiprocessors]);
    l2_cycles_ = std::max(port_cycles_, l2_cycles_ * busy);
    dram_cycles_ *= busy;
  }

  /// When the last sector of a load is there. `block` tells blocks apart; what arrives now is read after so
  /// many cycles (`behind`), and lines stay until then.
  Time load(const MemoryAccess& access, std::uint64_t block, Time now, bool past_l1, double behind) {
    double last = static_cast<double>(now) + l1_latency_;
    const double before = hits;
    misses = 0;
    had_lines = 0;
    behind_ = behind;
    further_ = access.lines > 1 ? l2_several_ : 0;
    find_trip(access, block);
    for (const std::uint64_t sector : access.sectors)
      last = std::max(last, fetch(sector, block, now, past_l1));
    misses = static_cast<double>(access.sectors.size()) - (hits - before);
    return static_cast<Time>(std::ceil(last));
  }

  /// What a thread puts aside stays in L1.
  void store(const MemoryAccess& access, std::uint64_t block, Time now) {
    if (!access.sectors.empty() && operand_of(access.sectors.front()) == kLocalOperand) {
      if (l1_.empty()) return;
      for (const std::uint64_t sector : access.sectors) {
        double from = static_cast<double>(now);
        Line& line = line_of(sector, block, from);
        line.ready[sector % kSectorsOfLine] = from;
        line.keep(from);
      }
      return;
    }
    const double start = std::max(port_free_, static_cast<double>(now));
    port_free_ = start + store_cycles_ * static_cast<double>(access.sectors.size());
    l2_sectors_ += static_cast<double>(access.sectors.size());
  }

  double asked = 0, hits = 0;
  double misses = 0;     ///< sectors of the latest load
  double had_lines = 0;  ///< when that had a place for each of its lines
  [[nodiscard]] double l2_bytes() const { return l2_sectors_ * kSector; }
  [[nodiscard]] double dram_bytes() const { return dram_sectors_ * kSector; }

 private:
  static constexpr double kSector = 32, kAbsent = FirstLevel::kAbsent;
  static constexpr std::uint64_t kSectorsOfLine = FirstLevel::kSectorsOfLine;
  static constexpr std::uint64_t kLocalLines = 512;  ///< from block to block, 64 KiB: a guess
  using Line = FirstLevel::Line;

  /// The line of a sector of `block`. What was walked is one block: others read other rows and columns.
  Line& line_of(std::uint64_t sector, std::uint64_t block, double& from) {
    const std::uint64_t operand = operand_of(sector);
    std::uint64_t line = sector / kSectorsOfLine;
    if (operand == kLocalOperand) return l1_.line_of(line | block << 44, line + block * kLocalLines, from);
    const auto columns = static_cast<std::uint64_t>(launch_.columns);
    const std::uint64_t number = block * multiprocessors_;
    line += (number % columns * launch_.operands[operand].column +
             number / columns * launch_.operands[operand].row) /
            FirstLevel::kLineBytes;
    return l1_.line_of(line, line, from);
  }
  static std::uint64_t operand_of(std::uint64_t sector) {
    return std::min<std::uint64_t>(7, sector * 32 >> 32);
  }

  double fetch(std::uint64_t sector, std::uint64_t block, Time now, bool past_l1) {
    const double at = static_cast<double>(now);
    ++asked;
    double from = at;
    Line* line = nullptr;
    if (!past_l1 && !l1_.empty()) {
      line = &line_of(sector, block, from);
      had_lines = std::max(had_lines, from);
      if (const double there = line->ready[sector % kSectorsOfLine]; there != kAbsent) {
        ++hits;
        const double last = std::max(at + l1_latency_, there);
        line->keep(last + behind_);
        return last;
      }
    }
    port_free_ = std::max(port_free_, from) + l2_cycles_;
    ++l2_sectors_;
    double ready = port_free_ + l2_latency_ + further_;
    if (const std::uint64_t first = sector - sector % dram_access_; first == sector) {
      ready = std::max(ready, from_memory(sector, block, from));
      first_sector_ = sector;
      first_ready_ = ready;
    } else {  // comes with the first one
      const double there = line != nullptr ? line->ready[first % kSectorsOfLine] : kAbsent;
      if (there != kAbsent || first == first_sector_)
        ready = std::max(ready, there != kAbsent ? there : first_ready_);
    }
    if (line != nullptr) {
      line->ready[sector % kSectorsOfLine] = ready;
      line->keep(ready + behind_);
    }
    return ready;
  }

  /// What the load meets in L2.
  void find_trip(const MemoryAccess& access, std::uint64_t block) {
    met_ = nullptr;
    if (launch_.trips.empty() || access.sectors.empty()) return;
    const std::uint64_t buffer = operand_of(access.sectors.front()),
                        offset = access.sectors.front() * 32 & 0xffffffffU;
    if (buffer != 1 && buffer != 2) return;
    const std::uint64_t trip =
        launch_.depth > 0 ? offset / (launch_.pitch * launch_.depth) : offset % launch_.pitch / launch_.piece;
    const TripMemory& trips = launch_.trips[mixed(block << 20 | trip) % launch_.trips.size()];
    met_ = buffer == 1 ? &trips.a : &trips.b;
  }
  static std::uint64_t mixed(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15U;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9U;
    return x ^ x >> 32;
  }
  /// From 0 to 1, by the address.
  static double drawn(std::uint64_t x) { return static_cast<double>(mixed(x) >> 40) / (1 << 24); }

  /// Cycles that an access takes more or less than most. Source: docs/results/h100-loaded, curve, up to 2.5
  /// bytes/clk/SM: loads of eight accesses 780, 836, 1110 and 1276 cycles (10%, 50%, 90%, 98%), of 64 1150.
  static double spread(double u) {
    constexpr double kMost = 0.971, kSlow = 0.996;
    return u < kMost ? 60 * u / kMost - 30 : u < kSlow ? kSlowAccess : 450;
  }

  /// When the sector is there if L2 does not have it; 0 if it does. It is asked for when its line of L1 is
  /// free, or was when another block's was.
  double from_memory(std::uint64_t sector, std::uint64_t block, double from) {
    if (met_ == nullptr || met_->share <= drawn(sector)) return 0;
    const std::uint64_t key = sector | (block + 1) << 44;
    Asked& one = asked_[mixed(key) % kAsked];
    if (one.key == key) return one.ready;  // L1 has lost it, L2 has not
    one = {key, memory_ready(sector, block, from)};
    return one.ready;
  }
  double memory_ready(std::uint64_t sector, std::uint64_t block, double from) {
    const double latency = dram_latency_ + spread(drawn(sector ^ (block + 1) << 40));
    if (met_->since >= 0) return from + latency - met_->since;
    const auto sectors = static_cast<double>(dram_access_);
    dram_free_ = std::max(dram_free_, from) + dram_cycles_ * sectors;
    dram_sectors_ += sectors;
    return dram_free_ + latency;
  }

  /// What memory was asked for lately.
  struct Asked {
    std::uint64_t key = 0;
    double ready = 0;
  };
  static constexpr std::size_t kAsked = 4096;

  const GridLaunch& launch_;
  double l1_latency_, l2_latency_, l2_several_, dram_latency_, l2_cycles_, port_cycles_, store_cycles_,
      dram_cycles_;
  std::uint64_t dram_access_;
  std::uint64_t multiprocessors_;
  std::uint64_t first_sector_ = 0;  ///< of those that memory brings together, the latest
  double first_ready_ = 0;
  double further_ = 0, behind_ = 0;  ///< of the load at hand
  const TripMemory::Operand* met_ = nullptr;
  double port_free_ = 0, dram_free_ = 0, l2_sectors_ = 0, dram_sectors_ = 0;
  std::vector<Asked> asked_ = std::vector<Asked>(kAsked);
  FirstLevel l1_;
};

}  // namespace mmaudit::timing
