#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <stdexcept>
#include <string>

#include "mmaudit/timing/kernel.hpp"

namespace mmaudit::timing {
namespace {

/// Trips of the loop and rounds of blocks that are simulated; what is between is linear.
constexpr int kMostSize = 65536, kDepths = 128;  ///< the longest step along k: 128 elements of 8 bits
/// Of the first-level cache and shared memory together; of shared memory alone. Source: CUDA C++ Programming
/// Guide 13.0, compute capability 9.0.
constexpr double kAllKib = 256, kLeastSharedKib = 8, kMostSharedKib = 228;
constexpr int kFewTrips = 16, kManyTrips = 32, kMostRounds = 3, kMoreRounds = 4;
constexpr std::uint64_t kRegion = std::uint64_t{1} << 32;  ///< operands are so far apart

/// Tiles of rows of A and B in the second-level cache, in the order of their last use.
class Cache {
 public:
  explicit Cache(double bytes) : room_(bytes) {}
  /// True when it was there.
  bool use(int matrix, int tile, double bytes) {
    const int key = tile * 4 + matrix;
    const auto at =
        std::find_if(entries_.begin(), entries_.end(), [key](const Entry& one) { return one.key == key; });
    const bool found = at != entries_.end();
    if (found) {
      used_ -= at->bytes;
      entries_.erase(at);
    }
    entries_.push_front({key, bytes});
    used_ += bytes;
    while (used_ > room_ && !entries_.empty()) {
      used_ -= entries_.back().bytes;
      entries_.pop_back();
    }
    return found;
  }

 private:
  struct Entry {
    int key;
    double bytes;
  };
  double room_, used_ = 0;
  std::list<Entry> entries_;
};

struct Traffic {
  double cold_a = 0, cold_b = 0, sharers_a = 1, sharers_b = 1;
};

/// Which share of A and B comes from memory when the product is done a second time.
Traffic traffic_of(const Machine& machine, const Product& product, const ProductSize& size, int at_once) {
  const int columns = size.n / product.tile, blocks = columns * (size.m / product.tile);
  const double bytes = static_cast<double>(product.tile) * size.k * product.bytes,
               bytes_d = static_cast<double>(product.tile) * product.tile * product.bytes_d;
  Cache cache(machine[Parameter::l2_capacity] * 1024 * 1024);
  double cold_a = 0, cold_b = 0, asked_a = 0, asked_b = 0, used = 0;
  for (int time = 0; time < 2; ++time)
    for (int first = 0; first < blocks; first += at_once) {
      const int last = std::min(blocks, first + at_once) - 1;
      for (int row = first / columns; row <= last / columns; ++row) {
        const bool there = cache.use(0, row, bytes);
        if (time == 1) {
          cold_a += there ? 0 : 1;
          asked_a += 1;
        }
      }
      for (int column = 0; column < std::min(columns, last - first + 1); ++column) {
        const bool there = cache.use(1, (first + column) % columns, bytes);
        if (time == 1) {
          cold_b += there ? 0 : 1;
          asked_b += 1;
        }
      }
      cache.use(2, first, bytes_d * (last - first + 1));
      if (time == 1) used += last - first + 1;
    }
  return {cold_a / asked_a, cold_b / asked_b, used / asked_a, used / asked_b};
}

double between(double few, double many, int at_few, int at_many, double at) {
  return few + (many - few) * (at - at_few) / (at_many - at_few);
}

}  // namespace

KernelTiming time_product(const Machine& machine, const SassFunction& function, const Product& product,
                          const ProductSize& size) {
  const auto require = [](const char* name, int found, int multiple) {
    if (found < multiple || found % multiple != 0 || found > kMostSize)
      throw std::invalid_argument(std::string(name) + ": found " + std::to_string(found) +
                                  ", allowed: multiples of " + std::to_string(multiple) + " to " +
                                  std::to_string(kMostSize));
  };
  require("m", size.m, product.tile);
  require("n", size.n, product.tile);
  require("k", size.k, kDepths);
  const int columns = size.n / product.tile, rows = size.m / product.tile, blocks = columns * rows;
  require_memory(machine);
  const int sms = machine.cycles(Parameter::kernel_multiprocessors);
  Grid grid{columns, rows, product.threads, {}};
  constexpr std::size_t kPointers = 4;
  grid.parameters.resize(kPointers * sizeof(std::uint64_t) + sizeof(int));
  for (std::uint64_t i = 0; i < kPointers; ++i) {
    const std::uint64_t at = (i + 1) * kRegion;
    std::memcpy(grid.parameters.data() + i * sizeof at, &at, sizeof at);
  }
  std::memcpy(grid.parameters.data() + kPointers * sizeof(std::uint64_t), &size.k, sizeof size.k);

  KernelLaunch launch;
  const int mine = (blocks + sms - 1) / sms;
  launch.multiprocessors = std::min(blocks, sms);
  // Shared memory gets all that it can where a kernel uses any.
  launch.l1_kib = product.shared_bytes == 0 ? kAllKib - kLeastSharedKib : kAllKib - kMostSharedKib;
  const Traffic traffic =
      traffic_of(machine, product, size, std::min(blocks, sms * std::min(product.resident, mine)));
  launch.operands[1] = {traffic.cold_a, traffic.sharers_a};
  launch.operands[2] = {traffic.cold_b, traffic.sharers_b};

  // Rounds of resident blocks: the first ones in full, the others as long as the last of these.
  const int rounds = mine / product.resident;
  const int left_out = std::max(0, rounds - kMostRounds + 1);
  const auto run = [&](int trips, int count, KernelTiming& timing) {
    const WalkedBlock block = walk(function, grid, std::min(1, columns - 1), std::min(1, rows - 1), trips);
    launch.resident = product.resident;
    launch.blocks = count;
    timing = simulate_kernel(machine, function, block, launch);
    return std::pair{block.trips, static_cast<double>(block.instructions)};
  };
  const auto whole = [&](int trips, KernelTiming& timing) {
    const int count = mine - left_out * product.resident;
    const auto walked = run(trips, count, timing);
    if (left_out > 0) {
      KernelTiming more;
      run(trips, count + kMoreRounds * product.resident, more);
      timing.cycles += left_out * (more.cycles - timing.cycles) / kMoreRounds;
    }
    return walked;
  };
  KernelTiming few, many;
  const auto [trips, instructions] = whole(kFewTrips, few);
  if (trips <= kFewTrips) {
    few.instructions = instructions * mine;
    return few;
  }
  whole(kManyTrips, many);
  const int kept = std::min(kManyTrips, trips);
  many.cycles = between(few.cycles, many.cycles, kFewTrips, kept, trips);
  many.instructions = instructions * mine;
  return many;
}

}  // namespace mmaudit::timing
