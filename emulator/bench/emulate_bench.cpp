// Multiply-adds per second of emulate() on one core, one benchmark per instruction family. Inputs are
// N(0, 1), as in a matrix product; the rate hardly depends on them except for binary64.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "mmaudit/emulate.hpp"
#include "values.hpp"

namespace mmaudit {
namespace {

void emulate_tiles(benchmark::State& state, const std::string& name) {
  const Instruction instruction = *find_instruction(name);
  const Datapath& datapath = find_datapath(*find_architecture("hopper"), instruction)->datapath;
  const auto m = static_cast<std::size_t>(instruction.m), n = static_cast<std::size_t>(instruction.n);
  const auto depth = static_cast<std::size_t>(instruction.k);
  constexpr std::size_t kTiles = 64;
  const auto a = normal_values(kTiles * m * depth, instruction.a, 1);
  const auto b = normal_values(kTiles * depth * n, instruction.b, 2);
  const auto c = normal_values(kTiles * m * n, instruction.c, 3);
  std::vector<std::byte> d(kTiles * m * n * spec_of(instruction.d).storage_bytes());
  for (auto _ : state) {
    emulate(instruction, datapath, {kTiles, a.data(), b.data(), c.data(), d.data(), nullptr});
    benchmark::DoNotOptimize(d.data());
    benchmark::ClobberMemory();
  }
  state.counters["multiply_adds"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(kTiles * m * n * depth),
      benchmark::Counter::kIsRate);
}

const bool kRegistered = [] {
  for (const char* name :
       {"mma.m16n8k8.f32.f16.f16.f32", "mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16",
        "mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k4.f32.tf32.tf32.f32", "mma.m16n8k8.f32.tf32.tf32.f32",
        "mma.m16n8k16.f32.e4m3.e4m3.f32", "mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k32.f16.e5m2.e4m3.f16",
        "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k16.f64.f64.f64.f64", "wgmma.m64n64k16.f32.f16.f16",
        "wgmma.m64n64k8.f32.tf32.tf32", "wgmma.m64n64k32.f32.e4m3.e4m3", "wgmma.m64n64k32.f16.e5m2.e5m2"})
    benchmark::RegisterBenchmark(name, emulate_tiles, std::string(name))->MinTime(0.3);
  return true;
}();

}  // namespace
}  // namespace mmaudit
