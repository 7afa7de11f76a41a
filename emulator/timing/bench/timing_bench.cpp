// Simulated warp-instructions per second on one core.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/kernel.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace {

using namespace mmaudit;          // NOLINT(google-build-using-namespace)
using namespace mmaudit::timing;  // NOLINT(google-build-using-namespace)

void simulated(benchmark::State& state) {
  const Machine& machine = *find_machine("hopper");
  const auto program = chain_program(machine, *find_instruction("mma.m16n8k16.f32.f16.f16.f32"),
                                     static_cast<int>(state.range(1)), kSweepLoop);
  Launch launch;
  launch.warps = static_cast<int>(state.range(0));
  launch.trips = 256;
  double instructions = 0;
  for (auto _ : state) instructions += static_cast<double>(simulate(machine, *program, launch).instructions);
  state.counters["warp-instructions/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}
BENCHMARK(simulated)->Args({1, 1})->Args({4, 4})->Args({8, 3})->Args({16, 6})->Args({32, 6});

void simulated_loads(benchmark::State& state) {
  const Machine& machine = *find_machine("hopper");
  const Program program = load_program(machine, *shared_access("ldmatrix.x4", 1), 4, kSweepLoop);
  Launch launch;
  launch.warps = static_cast<int>(state.range(0));
  launch.trips = 128;
  double instructions = 0;
  for (auto _ : state) instructions += static_cast<double>(simulate(machine, program, launch).instructions);
  state.counters["warp-instructions/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}
BENCHMARK(simulated_loads)->Arg(4)->Arg(16);

/// The blocks of a product of 2048 x 2048 x 2048, walked.
std::vector<WalkedBlock> walked(const Product& product) {
  constexpr int kSize = 2048, kPointers = 4;
  constexpr std::array<int, 2> kTrips = {16, 32};
  Grid grid{kSize / product.tile, kSize / product.tile, product.threads, {}};
  grid.parameters.resize(kPointers * sizeof(std::uint64_t) + sizeof kSize);
  for (std::uint64_t i = 0; i < kPointers; ++i) {
    const std::uint64_t at = (i + 1) << 32;
    std::memcpy(grid.parameters.data() + i * sizeof at, &at, sizeof at);
  }
  std::memcpy(grid.parameters.data() + kPointers * sizeof(std::uint64_t), &kSize, sizeof kSize);
  return walk(function_of(product), grid, 1, 1, kTrips);
}

/// All products: three rounds of blocks.
void simulated_kernels(benchmark::State& state) {
  const Machine& machine = *find_machine("hopper");
  std::vector<std::pair<const Product*, std::vector<WalkedBlock>>> kernels;
  for (const Product& product : products()) kernels.emplace_back(&product, walked(product));
  double instructions = 0;
  for (auto _ : state)
    for (const auto& [product, blocks] : kernels) {
      GridLaunch launch;
      launch.multiprocessors = machine.cycles(Parameter::kernel_multiprocessors);
      launch.resident = product->resident;
      launch.blocks = 3 * product->resident;
      for (const WalkedBlock& block : blocks)
        instructions += static_cast<double>(
            simulate_kernel(machine, function_of(*product), block, launch).detail.instructions);
    }
  state.counters["warp-instructions/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}
BENCHMARK(simulated_kernels)->Unit(benchmark::kMillisecond);

void walked_kernels(benchmark::State& state) {
  double instructions = 0;
  for (auto _ : state)
    for (const Product& product : products())
      instructions += static_cast<double>(walked(product).front().instructions);
  state.counters["warp-instructions/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}
BENCHMARK(walked_kernels)->Unit(benchmark::kMillisecond);

}  // namespace
