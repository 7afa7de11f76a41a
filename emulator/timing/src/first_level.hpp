#pragma once
// The lines of the first-level cache beside shared memory: which set takes a line, and which line goes.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing {

/// Four sets; the parities of some bits of an address choose one. A line that is used is given a life, by
/// chance: so many misses of its set. It is thrown out when that is over, once its data are there and read.
/// Source: docs/results/h100-loaded, "Where L1 puts a line".
class FirstLevel {
 public:
  static constexpr double kAbsent = -1;
  static constexpr std::uint64_t kSectorsOfLine = 4, kLineBytes = 128;
  struct Line {
    std::array<double, kSectorsOfLine> ready{};  ///< when each sector is there
    std::uint64_t key = 0;
    double kept = 0;         ///< until all that it was asked for are there and read
    std::uint32_t ends = 0;  ///< in misses of its set
    std::uint32_t next = 0;  ///< in its bucket
    void keep(double until) { kept = std::max(kept, until); }
  };

  explicit FirstLevel(const Machine& machine)
      : ways_(static_cast<std::uint32_t>(std::max(0, machine.cycles(Parameter::l1_ways)))),
        life_(static_cast<std::uint64_t>(std::max(1, machine.cycles(Parameter::l1_life)))),
        low_(static_cast<std::uint64_t>(machine[Parameter::l1_hash_low]) / kLineBytes),
        high_(static_cast<std::uint64_t>(machine[Parameter::l1_hash_high]) / kLineBytes),
        lines_(1 + std::size_t{kSets} * ways_) {}
  [[nodiscard]] bool empty() const { return ways_ == 0; }

  /// The line of that number, or an empty one in the place of another: `from` becomes the time when that
  /// could go. `key` tells lines apart, not 0.
  Line& line_of(std::uint64_t key, std::uint64_t number, double& from) {
    const std::uint32_t set = set_of(number);
    std::uint32_t found = *bucket_of(key);
    while (found != 0 && lines_[found].key != key) found = lines_[found].next;
    if (found == 0) {
      ++misses_[set];
      found = victim(set, from);
      from = std::max(from, lines_[found].kept);
      rename(found, key);
      clear(lines_[found]);
    } else if (lines_[found].ends < misses_[set] && lines_[found].kept <= from) {  // it went before
      ++misses_[set];
      clear(lines_[found]);
    }
    lines_[found].ends = misses_[set] + std::min(ways_, drawn());
    return lines_[found];
  }

 private:
  static constexpr std::uint32_t kSets = 4;
  static constexpr int kBucketBits = 9;

  [[nodiscard]] std::uint32_t set_of(std::uint64_t number) const {
    return static_cast<std::uint32_t>(std::popcount(number & low_) & 1) |
           static_cast<std::uint32_t>(std::popcount(number & high_) & 1) << 1;
  }
  /// The next of a fixed series of numbers below `life_`.
  std::uint32_t drawn() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>((state_ >> 32) * life_ >> 32);
  }
  /// One whose life is over, else the one whose life ends first; of those that can go, if there are any.
  std::uint32_t victim(std::uint32_t set, double from) {
    const std::uint32_t first = 1 + set * ways_, misses = misses_[set];
    std::uint32_t found = 0, soonest = first, least = std::numeric_limits<std::uint32_t>::max();
    double earliest = std::numeric_limits<double>::infinity();
    std::uint32_t& hand = hands_[set];
    for (std::uint32_t i = 0; i < ways_; ++i) {
      if (++hand >= ways_) hand = 0;
      const std::uint32_t look = first + hand;
      const Line& line = lines_[look];
      if (line.kept > from) {
        if (line.kept >= earliest) continue;
        earliest = line.kept;
        soonest = look;
      } else if (line.ends < misses) {
        return look;
      } else if (line.ends < least) {
        least = line.ends;
        found = look;
      }
    }
    return found != 0 ? found : soonest;
  }
  void rename(std::uint32_t which, std::uint64_t key) {
    Line& line = lines_[which];
    if (line.key != 0) {
      std::uint32_t* at = bucket_of(line.key);
      while (*at != which) at = &lines_[*at].next;
      *at = line.next;
    }
    line.key = key;
    line.next = *bucket_of(key);
    *bucket_of(key) = which;
  }
  static void clear(Line& line) {
    line.ready.fill(kAbsent);
    line.kept = 0;
  }
  std::uint32_t* bucket_of(std::uint64_t key) {
    return &buckets_[static_cast<std::size_t>(key * 0x9e3779b97f4a7c15U >> (64 - kBucketBits))];
  }

  std::uint32_t ways_;
  std::uint64_t life_, low_, high_, state_ = 0;
  std::array<std::uint32_t, kSets> misses_{}, hands_{};
  std::vector<Line> lines_;  ///< set after set; [0] is none
  std::vector<std::uint32_t> buckets_ = std::vector<std::uint32_t>(std::size_t{1} << kBucketBits);
};

}  // namespace mmaudit::timing
