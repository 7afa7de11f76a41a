#pragma once
// What is behind the first-level cache of a multiprocessor: that cache, its share of the second-level cache,
// and memory, as queues.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "mmaudit/timing/kernel.hpp"
#include "state.hpp"

namespace mmaudit::timing {

class KernelMemory {
 public:
  static constexpr double kSlowAccess = 270;  ///< to memory: of the slowest of many; source: spread()

  KernelMemory(const Machine& machine, const KernelLaunch& launch)
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
        victims_(std::max(1, machine.cycles(Parameter::l1_victims))),
        whole_victims_(std::max(1, machine.cycles(Parameter::l1_victims_whole))),
        capacity_(static_cast<std::size_t>(launch.l1_kib * 1024 / (kSector * kSectorsOfLine))) {
    // Fewer multiprocessors at work have a larger share each.
    const double busy = std::min(1.0, launch.multiprocessors / machine[Parameter::kernel_multiprocessors]);
    l2_cycles_ = std::max(port_cycles_, l2_cycles_ * busy);
    dram_cycles_ *= busy;
  }

  /// When the last sector of a load is there. `block` tells blocks apart.
  Time load(const MemoryAccess& access, std::uint64_t block, Time now, bool past_l1) {
    double last = static_cast<double>(now) + l1_latency_;
    const double before = hits;
    misses = 0;
    further_ = access.lines > 1 ? l2_several_ : 0;
    looks_at_ = access.sectors.size() == kSectorsOfLine * access.lines ? whole_victims_ : victims_;
    find_trip(access, block);
    for (const std::uint64_t sector : access.sectors)
      last = std::max(last, fetch(sector, block, now, past_l1));
    misses = static_cast<double>(access.sectors.size()) - (hits - before);
    return static_cast<Time>(std::ceil(last));
  }

  /// What a thread puts aside stays in L1.
  void store(const MemoryAccess& access, std::uint64_t block, Time now) {
    if (!access.sectors.empty() && access.sectors.front() * 32 >> 32 == kLocalOperand) {
      if (capacity_ == 0) return;
      for (const std::uint64_t sector : access.sectors) {
        double from = static_cast<double>(now);
        line_of(sector / kSectorsOfLine | block << 44, from).set(sector % kSectorsOfLine, from);
      }
      return;
    }
    const double start = std::max(port_free_, static_cast<double>(now));
    port_free_ = start + store_cycles_ * static_cast<double>(access.sectors.size());
    l2_sectors_ += static_cast<double>(access.sectors.size());
  }

  double asked = 0, hits = 0;
  double misses = 0;  ///< sectors of the latest load
  [[nodiscard]] double l2_bytes() const { return l2_sectors_ * kSector; }
  [[nodiscard]] double dram_bytes() const { return dram_sectors_ * kSector; }

 private:
  static constexpr double kSector = 32, kAbsent = -1;
  static constexpr std::uint64_t kSectorsOfLine = 4;
  static constexpr int kBucketBits = 9;
  struct Line {
    std::uint64_t key = 0;
    std::array<double, kSectorsOfLine> ready{};     ///< when each sector is there
    double all_ready = 0;                           ///< when all that it was asked for are
    std::uint32_t next = 0, before = 0, after = 0;  ///< in its bucket; used later and earlier
    void set(std::uint64_t sector, double at) {
      ready[sector] = at;
      all_ready = std::max(all_ready, at);
    }
  };

  double fetch(std::uint64_t sector, std::uint64_t block, Time now, bool past_l1) {
    const double at = static_cast<double>(now);
    ++asked;
    const std::uint64_t key = sector / kSectorsOfLine | block << 44;
    double from = at;
    Line* line = nullptr;
    if (!past_l1 && capacity_ > 0) {
      line = &line_of(key, from);
      if (const double there = line->ready[sector % kSectorsOfLine]; there != kAbsent) {
        ++hits;
        return std::max(at + l1_latency_, there);
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
    if (line != nullptr) line->set(sector % kSectorsOfLine, ready);
    return ready;
  }

  /// What the load meets in L2.
  void find_trip(const MemoryAccess& access, std::uint64_t block) {
    met_ = nullptr;
    if (launch_.trips.empty() || access.sectors.empty()) return;
    const std::uint64_t address = access.sectors.front() * 32, buffer = address >> 32,
                        offset = address & 0xffffffffU;
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

  /// Of the lines used longest ago one whose data are there, else the one whose data come first.
  std::uint32_t victim(double from) const {
    std::uint32_t found = 0;
    double soonest = std::numeric_limits<double>::infinity();
    int left = looks_at_;
    for (std::uint32_t look = lines_[0].before; look != 0 && left > 0; look = lines_[look].before, --left) {
      const double there = lines_[look].all_ready;
      if (there < soonest) {
        soonest = there;
        found = look;
      }
      if (there <= from) return look;
    }
    return found;
  }

  /// The line, or an empty one in the place of another: not before the data of that are there.
  Line& line_of(std::uint64_t key, double& from) {
    std::uint32_t* bucket = &bucket_of(key);
    std::uint32_t found = *bucket;
    while (found != 0 && lines_[found].key != key) found = lines_[found].next;
    if (found == 0) {
      if (lines_.size() <= capacity_) {
        found = static_cast<std::uint32_t>(lines_.size());
        lines_.emplace_back();
      } else {
        found = victim(from);
        from = std::max(from, lines_[found].all_ready);
        std::uint32_t* at = &bucket_of(lines_[found].key);
        while (*at != found) at = &lines_[*at].next;
        *at = lines_[found].next;
        take_out(found);
      }
      lines_[found].key = key;
      lines_[found].ready.fill(kAbsent);
      lines_[found].all_ready = 0;
      lines_[found].next = *bucket;
      *bucket = found;
    } else {
      take_out(found);
    }
    Line& line = lines_[found];
    line.before = 0;
    line.after = lines_[0].after;
    lines_[line.after].before = found;
    lines_[0].after = found;
    return line;
  }
  void take_out(std::uint32_t which) {
    const Line& line = lines_[which];
    lines_[line.before].after = line.after;
    lines_[line.after].before = line.before;
  }
  std::uint32_t& bucket_of(std::uint64_t key) {
    return buckets_[static_cast<std::size_t>(key * 0x9e3779b97f4a7c15U >> (64 - kBucketBits))];
  }

  /// What memory was asked for lately.
  struct Asked {
    std::uint64_t key = 0;
    double ready = 0;
  };
  static constexpr std::size_t kAsked = 4096;

  const KernelLaunch& launch_;
  double l1_latency_, l2_latency_, l2_several_, dram_latency_, l2_cycles_, port_cycles_, store_cycles_,
      dram_cycles_;
  std::uint64_t dram_access_;
  int victims_, whole_victims_, looks_at_ = 1;
  std::size_t capacity_;
  std::uint64_t first_sector_ = 0;  ///< of those that memory brings together, the latest
  double first_ready_ = 0;
  double further_ = 0;  ///< of the load at hand
  const TripMemory::Operand* met_ = nullptr;
  double port_free_ = 0, dram_free_ = 0, l2_sectors_ = 0, dram_sectors_ = 0;
  std::vector<Asked> asked_ = std::vector<Asked>(kAsked);
  std::vector<Line> lines_{1};  ///< of the first-level cache; [0]: the ends of the order of their last use
  std::vector<std::uint32_t> buckets_ = std::vector<std::uint32_t>(std::size_t{1} << kBucketBits);
};

}  // namespace mmaudit::timing
