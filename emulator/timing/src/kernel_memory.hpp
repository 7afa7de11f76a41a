#pragma once
// What is behind the first-level cache of a multiprocessor: that cache, its share of the second-level cache,
// and memory, as queues.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mmaudit/timing/kernel.hpp"
#include "state.hpp"

namespace mmaudit::timing {

class KernelMemory {
 public:
  KernelMemory(const Machine& machine, const KernelLaunch& launch)
      : launch_(launch),
        l1_latency_(machine[Parameter::l1_latency]),
        l2_latency_(machine[Parameter::l2_latency]),
        dram_latency_(machine[Parameter::dram_latency]),
        l2_cycles_(kSector / (machine[Parameter::l2_bytes] / machine[Parameter::kernel_multiprocessors])),
        port_cycles_(kSector / machine[Parameter::l2_port]),
        store_cycles_(kSector / machine[Parameter::store_bytes]),
        dram_cycles_(kSector / (machine[Parameter::dram_bytes] / machine[Parameter::kernel_multiprocessors])),
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
        line_of(sector / kSectorsOfLine | block << 44, from).ready[sector % kSectorsOfLine] = from;
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
    std::uint32_t next = 0, before = 0, after = 0;  ///< in its bucket; used later and earlier
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
    double ready = port_free_ + l2_latency_;
    const Operand& operand = launch_.operands[std::min<std::uint64_t>(7, sector * 32 >> 32)];
    cold_ += operand.cold;
    if (cold_ >= 1) {
      cold_ -= 1;
      dram_free_ = std::max(dram_free_, at) + dram_cycles_;
      ++dram_sectors_;
      ready = std::max(ready, dram_free_ + dram_latency_);
    }
    if (line != nullptr) line->ready[sector % kSectorsOfLine] = ready;
    return ready;
  }

  /// The line, or an empty one in the place of that which was used longest ago: not before its data are
  /// there.
  Line& line_of(std::uint64_t key, double& from) {
    std::uint32_t* bucket = &bucket_of(key);
    std::uint32_t found = *bucket;
    while (found != 0 && lines_[found].key != key) found = lines_[found].next;
    if (found == 0) {
      if (lines_.size() <= capacity_) {
        found = static_cast<std::uint32_t>(lines_.size());
        lines_.emplace_back();
      } else {
        found = lines_[0].before;
        for (const double there : lines_[found].ready) from = std::max(from, there);
        std::uint32_t* at = &bucket_of(lines_[found].key);
        while (*at != found) at = &lines_[*at].next;
        *at = lines_[found].next;
        take_out(found);
      }
      lines_[found].key = key;
      lines_[found].ready.fill(kAbsent);
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

  const KernelLaunch& launch_;
  double l1_latency_, l2_latency_, dram_latency_, l2_cycles_, port_cycles_, store_cycles_, dram_cycles_;
  std::size_t capacity_;
  double port_free_ = 0, dram_free_ = 0, cold_ = 0, l2_sectors_ = 0, dram_sectors_ = 0;
  std::vector<Line> lines_{1};  ///< of the first-level cache; [0]: the ends of the order of their last use
  std::vector<std::uint32_t> buckets_ = std::vector<std::uint32_t>(std::size_t{1} << kBucketBits);
};

}  // namespace mmaudit::timing
