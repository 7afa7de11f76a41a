#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "kernel_memory.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/timing/kernel.hpp"
#include "second_level.hpp"

namespace mmaudit::timing {
namespace {

/// Trips of the loop and rounds of blocks that are simulated; what is between is linear.
constexpr int kMostSize = 65536;
constexpr int kFewTrips = 16, kManyTrips = 32, kMostRounds = 3, kMoreRounds = 4;
constexpr std::uint64_t kRegion = std::uint64_t{1} << 32;  ///< operands are so far apart

/// Bytes of shared memory that a step along k of 128 bytes of A and B takes.
int stage_bytes(const Product& product) { return 2 * product.tile * 128; }
/// A step is some whole rows of A and B: sgemm, hgemm.
bool goes_down_rows(const Product& product) {
  return product.shared_bytes > 0 && product.shared_bytes < stage_bytes(product);
}
/// Trips that loads are ahead of their use.
int ahead_of(const Product& product) {
  return product.name.ends_with("_ahead") ? 1 : std::max(0, product.shared_bytes / stage_bytes(product) - 1);
}
/// Bytes of a row that a trip reads. Kernels without shared memory read 16 or 32 bytes per trip: what a miss
/// of L2 brings counts as one.
int piece_of(const Product& product) { return product.shared_bytes == 0 ? 64 : 128; }

CacheProblem cache_problem(const Machine& machine, const Product& product, const ProductSize& size,
                           int trips) {
  CacheProblem problem;
  problem.columns = size.n / product.tile;
  problem.rows = size.m / product.tile;
  problem.multiprocessors = machine.cycles(Parameter::kernel_multiprocessors);
  problem.resident = product.resident;
  problem.steps = goes_down_rows(product) ? trips : size.k * product.bytes / piece_of(product);
  problem.ahead = ahead_of(product);
  problem.piece_bytes = static_cast<double>(product.tile) * size.k * product.bytes / problem.steps;
  problem.result_bytes = static_cast<double>(product.tile) * product.tile * product.bytes_d;
  problem.launch = machine[Parameter::block_launch];
  problem.hit_latency = machine[Parameter::l2_latency] + machine[Parameter::l2_several];
  problem.miss_latency = machine[Parameter::dram_latency] + KernelMemory::kSlowAccess;
  problem.capacity = machine[Parameter::l2_capacity] * 1024 * 1024;
  problem.memory_bytes = machine[Parameter::dram_bytes];
  return problem;
}

double between(double few, double many, int at_few, int at_many, double at) {
  return few + (many - few) * (at - at_few) / (at_many - at_few);
}

}  // namespace

KernelTiming time_product(const Machine& machine, const sass::Function& function, const Product& product,
                          const ProductSize& size) {
  const auto require = [](const char* name, int found, int multiple) {
    if (found < multiple || found % multiple != 0 || found > kMostSize)
      throw InputError(std::string(name) + ": found " + std::to_string(found) + ", allowed: multiples of " +
                       std::to_string(multiple) + " to " + std::to_string(kMostSize));
  };
  require("m", size.m, product.tile);
  require("n", size.n, product.tile);
  require("k", size.k, piece_of(product) / product.bytes);
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

  GridLaunch launch;
  const int mine = (blocks + sms - 1) / sms;
  launch.multiprocessors = std::min(blocks, sms);
  launch.columns = columns;
  launch.operands[1].row = launch.operands[2].column =
      static_cast<std::uint64_t>(product.tile) * static_cast<std::uint64_t>(size.k * product.bytes);

  // Rounds of resident blocks: the first ones in full, the others as long as the last of these.
  const int rounds = mine / product.resident;
  const int left_out = std::max(0, rounds - kMostRounds + 1);
  constexpr std::array<int, 2> kTrips = {kFewTrips, kManyTrips};
  const std::vector<WalkedBlock> walked =
      walk(function, grid, std::min(1, columns - 1), std::min(1, rows - 1), kTrips);
  const auto run = [&](const WalkedBlock& block, int count) {
    launch.resident = product.resident;
    launch.blocks = count;
    return simulate_kernel(machine, function, block, launch);
  };
  const int trips = walked[0].trips;
  CacheProblem cache = cache_problem(machine, product, size, trips);
  CacheTrips met;
  if (cache.all_bytes() > cache.capacity) {  // else the product before has left all of it there
    const int few = std::min(trips, kFewTrips), many = std::min(trips, kManyTrips);
    const auto step = [&](int count) {
      const double cycles = run(walked[0], count).cycles;
      const double trip = many > few ? (run(walked[1], count).cycles - cycles) / (many - few) : cycles / few;
      return trip * trips / cache.steps;
    };
    cache.alone = step(1);
    cache.together = step(std::min(mine, product.resident));
    met = cache_trips(cache);
    launch.trips = met.trips;
    launch.pitch = static_cast<std::uint64_t>(size.k) * static_cast<std::uint64_t>(product.bytes);
    launch.piece = static_cast<std::uint64_t>(piece_of(product));
    launch.depth = goes_down_rows(product) ? static_cast<std::uint64_t>(size.k / trips) : 0;
  }
  const auto whole = [&](const WalkedBlock& block) {
    const int count = mine - left_out * product.resident;
    KernelTiming timing = run(block, count);
    if (left_out > 0) {
      const KernelTiming more = run(block, count + kMoreRounds * product.resident);
      timing.cycles += left_out * (more.cycles - timing.cycles) / kMoreRounds;
    }
    return timing;
  };
  const double instructions = static_cast<double>(walked[0].instructions) * mine;
  KernelTiming few = whole(walked[0]);
  few.instructions = instructions;
  if (trips <= kFewTrips) return few;
  KernelTiming many = whole(walked[1]);
  many.cycles = between(few.cycles, many.cycles, kFewTrips, std::min(kManyTrips, trips), trips);
  many.instructions = instructions;
  return many;
}

}  // namespace mmaudit::timing
