#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "mmaudit/timing/kernel.hpp"
#include "second_level.hpp"

namespace mmaudit::timing {
namespace {

/// Trips of the loop and rounds of blocks that are simulated; what is between is linear.
constexpr int kMostSize = 65536, kDepths = 128;  ///< the longest step along k: 128 elements of 8 bits
constexpr int kFewTrips = 16, kManyTrips = 32, kMostRounds = 3, kMoreRounds = 4;
constexpr std::uint64_t kRegion = std::uint64_t{1} << 32;  ///< operands are so far apart

CacheProblem cache_problem(const Machine& machine, const Product& product, const ProductSize& size) {
  CacheProblem problem;
  problem.columns = size.n / product.tile;
  problem.rows = size.m / product.tile;
  problem.slots = machine.cycles(Parameter::kernel_multiprocessors) * product.resident;
  problem.tile_bytes = static_cast<double>(product.tile) * size.k * product.bytes;
  problem.result_bytes = static_cast<double>(product.tile) * product.tile * product.bytes_d;
  problem.capacity = machine[Parameter::l2_capacity] * 1024 * 1024;
  return problem;
}

/// How long the `first` blocks of a multiprocessor take, and a block in the mean.
void lives_of(const KernelTiming& timing, int first, CacheProblem& problem) {
  double sum = 0;
  for (const BlockLife& one : timing.blocks) {
    if (static_cast<int>(problem.durations.size()) < first) problem.durations.push_back(one.end - one.begin);
    sum += one.end - one.begin;
  }
  problem.later = sum / static_cast<double>(timing.blocks.size());
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
  CacheProblem cache = cache_problem(machine, product, size);
  if (cache.all_bytes() > cache.capacity) {  // else the product before has left all of it there
    lives_of(run(walked[0], std::min(mine, 2 * product.resident)), std::min(mine, product.resident), cache);
    const CacheMisses misses = cache_misses(cache);
    launch.operands[1].cold = misses.a;
    launch.operands[2].cold = misses.b;
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
  const int trips = walked[0].trips;
  KernelTiming few = whole(walked[0]);
  few.instructions = instructions;
  if (trips <= kFewTrips) return few;
  KernelTiming many = whole(walked[1]);
  many.cycles = between(few.cycles, many.cycles, kFewTrips, std::min(kManyTrips, trips), trips);
  many.instructions = instructions;
  return many;
}

}  // namespace mmaudit::timing
