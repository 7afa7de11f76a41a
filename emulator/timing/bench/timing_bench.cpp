// Simulated warp-instructions per second on one core.
#include <benchmark/benchmark.h>

#include "mmaudit/timing/chain.hpp"
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
  const Program program = load_program(machine, *shared_access("ldmatrix.x4", 1), 4, {8, 6});
  Launch launch;
  launch.warps = static_cast<int>(state.range(0));
  launch.trips = 128;
  double instructions = 0;
  for (auto _ : state) instructions += static_cast<double>(simulate(machine, program, launch).instructions);
  state.counters["warp-instructions/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}
BENCHMARK(simulated_loads)->Arg(4)->Arg(16);

}  // namespace
