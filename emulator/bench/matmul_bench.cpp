// Multiply-adds per second of matmul(): one benchmark per instruction and level of vector instructions,
// beside the single-precision product of OpenBLAS where the build found it. Operands are about N(0, 1); the
// rates count everything, unpacking of the raw operands included. "unpacked" is the kernel alone, on operands
// that are; "in_registers" is the rate of the same operations with every operand in a register, and "share"
// how much of that the kernel reaches, both of the same moments. MMAUDIT_BENCH_SIZE sets M = N = K (2048).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../src/fast/rules.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"
#include "registers.hpp"
#include "values.hpp"

#ifdef MMAUDIT_BENCH_OPENBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

namespace mmaudit {
namespace {

std::size_t size() {
  const char* text = std::getenv("MMAUDIT_BENCH_SIZE");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 2048;
}

void count_rate(benchmark::State& state, double multiply_adds) {
  state.counters["multiply_adds"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * multiply_adds, benchmark::Counter::kIsRate);
}

/// Scales as blocks of N(0, 1) get them: the largest of a block becomes 6.
std::vector<std::uint8_t> block_scales(std::size_t count, const Instruction& instruction, unsigned seed) {
  std::vector<std::uint8_t> scales(count);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (std::uint8_t& x : scales) {
    double largest = 0;
    for (int k = 0; k < instruction.scale_block; ++k) largest = std::max(largest, std::fabs(normal(random)));
    x = static_cast<std::uint8_t>(encode_nearest_even(largest / 6, spec_of(instruction.scale)));
  }
  return scales;
}

std::vector<std::uint8_t> metadata_of(std::size_t count, const Sparsity& sparsity, unsigned seed) {
  std::vector<std::uint8_t> metadata(count);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < count; i += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, static_cast<int>(random() % static_cast<std::uint64_t>(patterns(sparsity))),
                  &metadata[i]);
  return metadata;
}

/// Counts products; for a sparse instruction only products of stored elements.
void whole(benchmark::State& state, const std::string& name, const MatmulOptions& options) {
  const Instruction instruction = *find_instruction(name);
  const char* architecture = is_tcgen05(instruction.op) ? "blackwell" : "hopper";
  const Datapath& datapath = find_datapath(*find_architecture(architecture), instruction)->datapath;
  const std::size_t n = size();
  Matmul problem;
  problem.m = problem.n = problem.k = n;
  const std::size_t stored = stored_k(instruction, problem), blocks = scale_blocks(instruction, problem);
  const auto a = normal_values(n * stored, instruction.a, 1), b = normal_values(n * n, instruction.b, 2);
  const auto scale_a = block_scales(n * blocks, instruction, 3),
             scale_b = block_scales(n * blocks, instruction, 4);
  const bool sparse = is_sparse(instruction.op);
  const auto metadata = metadata_of(sparse ? n * stored : 0, sparsity_of(instruction), 5);
  std::vector<std::byte> d(n * n * spec_of(instruction.d).storage_bytes());
  problem.a = a.data();
  problem.b = b.data();
  problem.d = d.data();
  if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
  if (sparse) problem.metadata = metadata.data();
  for (auto _ : state) {
    matmul(instruction, datapath, problem, options);
    benchmark::ClobberMemory();
  }
  count_rate(state, static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(stored));
}

/// One thread, two, and two products of a thread each at the same time, in turns: what two threads bring, and
/// what they could on a machine whose cores are not alike, or not this program's alone.
void scaling(benchmark::State& state, const std::string& name) {
  const Instruction instruction = *find_instruction(name);
  const Datapath& datapath = find_datapath(*find_architecture("hopper"), instruction)->datapath;
  const std::size_t n = size();
  const auto a = normal_values(n * n, instruction.a, 1), b = normal_values(n * n, instruction.b, 2);
  std::vector<std::byte> d[2];
  Matmul problem[2];
  for (int i = 0; i < 2; ++i) {
    d[i].resize(n * n * spec_of(instruction.d).storage_bytes());
    problem[i].m = problem[i].n = problem[i].k = n;
    problem[i].a = a.data();
    problem[i].b = b.data();
    problem[i].d = d[i].data();
  }
  const auto multiply = [&](int i, unsigned threads) {
    MatmulOptions options;
    options.threads = threads;
    matmul(instruction, datapath, problem[i], options);
  };
  const auto seconds = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double one = 0, two = 0, apart = 0;
  for (auto _ : state) {
    one += seconds([&] { multiply(0, 1); });
    two += seconds([&] { multiply(0, 2); });
    apart += seconds([&] {
      const std::jthread other([&] { multiply(1, 1); });
      multiply(0, 1);
    });
    benchmark::ClobberMemory();
  }
  state.counters["two_threads_of_one"] = one / two;
  state.counters["two_products_of_one"] = 2 * one / apart;
  state.counters["of_ceiling"] = apart / (2 * two);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// 256 x 256 x 256, operands unpacked once, before the clock runs. The operations of the same steps in
/// registers are timed in turns with it, since other threads of a core, and its clock, change both.
void unpacked(benchmark::State& state, const std::string& name, const fast::Level* level,
              fast::InRegisters in_registers) {
  constexpr int kEdge = 256;
  constexpr std::size_t kElements = std::size_t{kEdge} * kEdge;
  const Instruction instruction = *find_instruction(name);
  const Datapath& datapath = find_datapath(*find_architecture("hopper"), instruction)->datapath;
  const DotSpec spec = make_dot_spec(instruction, datapath);
  const fast::FastSpec fast = *fast::fast_spec(spec);
  const auto a = normal_values(kElements, instruction.a, 1), b = normal_values(kElements, instruction.b, 2);
  std::vector<fast::Step> steps;
  for (int k = 0; k < kEdge; k += spec.k) {
    for_each_step(spec, [&](int start, int count) {
      steps.push_back({static_cast<std::int16_t>(k + start), static_cast<std::int16_t>(count), false});
    });
    steps.back().closes = true;
  }
  const int per_instruction = static_cast<int>(steps.size()) * spec.k / kEdge;
  const fast::Chunk chunk{steps.data(), static_cast<int>(steps.size()), kEdge, nullptr};
  struct alignas(64) Panels {
    float a[kElements], b[kElements], sum[kElements];
    std::int32_t a_exponent[kElements];
    std::int16_t b_exponent[kElements];
  };
  const auto panels = std::make_unique<Panels>();
  std::vector<fast::Bounds> a_bounds(steps.size() * kEdge / fast::kRows),
      b_bounds(steps.size() * kEdge / fast::kPanel);
  const auto bytes = static_cast<int>(spec.a.storage_bytes());
  fast::PackSource source{b.data(), kEdge, bytes, kEdge, kEdge, fast.b, fast.rules.pairs};
  level->pack_b(source, chunk, {panels->b, panels->b_exponent}, std::size_t{kEdge} * fast::kPanel,
                kEdge / fast::kPanel, b_bounds.data(), chunk.step_count);
  source.decode = fast.a;
  for (std::size_t i = 0; i < kEdge; i += fast::kRows) {
    source.base = a.data() + i * kEdge * spec.a.storage_bytes();
    level->pack_a(source, chunk, {panels->a + i * kEdge, panels->a_exponent + i * kEdge}, kEdge,
                  &a_bounds[i / fast::kRows * steps.size()]);
  }
  fast::Multiply work;
  work.rules = &fast.rules;
  work.chunk = chunk;
  work.a_stride = work.sum_stride = kEdge;
  work.a_value = panels->a;
  work.a_exponent = panels->a_exponent;
  work.a_bounds = a_bounds.data();
  work.bounds_stride = steps.size();
  work.groups = kEdge / fast::kRows;
  std::vector<double> rate, rate_in_registers, share;
  for (auto _ : state) {
    std::fill(std::begin(panels->sum), std::end(panels->sum), 0.0F);
    const double start = thread_seconds();
    for (std::size_t j = 0; j < kEdge; j += fast::kPanel) {
      work.b_value = panels->b + j * kEdge;
      work.b_exponent = panels->b_exponent + j * kEdge;
      work.b_bounds = &b_bounds[j / fast::kPanel * steps.size()];
      work.sum = panels->sum + j;
      level->multiply(work);
    }
    benchmark::ClobberMemory();
    const double end = thread_seconds();
    const double done = in_registers(fast.rules, steps[0].count, per_instruction, 20000);
    const double end_in_registers = thread_seconds();
    state.SetIterationTime(end - start);
    rate.push_back(static_cast<double>(kElements) * kEdge / (end - start));
    rate_in_registers.push_back(done / (end_in_registers - end));
    share.push_back(rate.back() / rate_in_registers.back());
  }
  count_rate(state, static_cast<double>(kElements) * kEdge);
  const auto sorted = [](std::vector<double>& x) { std::sort(x.begin(), x.end()); };
  for (auto* x : {&rate, &rate_in_registers, &share}) sorted(*x);
  state.counters["best"] = rate.back();
  state.counters["best_in_registers"] = rate_in_registers.back();
  state.counters["share_of_bests"] = rate.back() / rate_in_registers.back();
  state.counters["median_share"] = share[share.size() / 2];
}

#ifdef MMAUDIT_BENCH_OPENBLAS
void sgemm(benchmark::State& state, int threads) {
  const std::size_t n = size();
  openblas_set_num_threads(threads);
  std::vector<float> a(n * n), b(n * n), d(n * n);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (auto* matrix : {&a, &b})
    for (float& x : *matrix) x = normal(random);
  const auto edge = static_cast<int>(n);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, edge, edge, edge, 1, a.data(), edge, b.data(),
                edge, 0, d.data(), edge);
    benchmark::ClobberMemory();
  }
  count_rate(state, static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n));
}
#endif

/// Those whose kernel is also timed alone.
constexpr const char* kUnpacked[] = {"wgmma.m64n64k16.f32.f16.f16",    "wgmma.m64n64k16.f32.bf16.bf16",
                                     "wgmma.m64n64k8.f32.tf32.tf32",   "wgmma.m64n64k32.f32.e4m3.e4m3",
                                     "mma.m16n8k32.f32.e4m3.e4m3.f32", "wgmma.m64n64k16.f16.f16.f16"};
constexpr const char* kBenched[] = {
    "wgmma.m64n64k16.f32.f16.f16", "wgmma.m64n64k16.f32.bf16.bf16", "wgmma.m64n64k8.f32.tf32.tf32",
    "wgmma.m64n64k32.f32.e4m3.e4m3", "mma.m16n8k32.f32.e4m3.e4m3.f32", "wgmma.m64n64k16.f16.f16.f16",
    // Sparse ones beside the dense ones above, block-scaled ones beside FP8.
    "wgmma.sp.m64n64k32.f32.f16.f16", "wgmma.sp.m64n64k64.f32.e4m3.e4m3", "wgmma.sp.m64n64k16.f32.tf32.tf32",
    "tcgen05.m128n64k32.kind_f8f6f4.f32.e4m3.e4m3",
    "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0",
    "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0",
    "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"};

const bool kRegistered = [] {
  // One thread is timed by its own clock, which other work on the machine does not stop. "unpacked" gives its
  // own time.
  const auto settings = [](benchmark::internal::Benchmark* one, bool wall = false) {
    one->MinTime(0.1)->Unit(benchmark::kMillisecond);
    if (wall) one->UseRealTime();
  };
  for (const SimdLevel level : kSimdLevels) {
    if (!has_simd_level(level)) continue;
    for (const char* name : kBenched) {
      MatmulOptions options;
      options.level = level;
      settings(benchmark::RegisterBenchmark((std::string(name) + "/" + std::string(name_of(level))).c_str(),
                                            whole, std::string(name), options));
    }
  }
#ifdef MMAUDIT_FAST_X86
  for (const SimdLevel level : {SimdLevel::avx2, SimdLevel::avx512}) {
    if (!has_simd_level(level)) continue;
    for (const char* instruction : kUnpacked) {
      const std::string name = std::string(instruction) + "/" + std::string(name_of(level)) + "/unpacked";
      const bool avx2 = level == SimdLevel::avx2;
      settings(benchmark::RegisterBenchmark(name.c_str(), unpacked, std::string(instruction),
                                            avx2 ? &fast::kAvx2 : &fast::kAvx512,
                                            avx2 ? fast::in_registers_avx2 : fast::in_registers_avx512)
                   ->UseManualTime());
    }
  }
#endif
  MatmulOptions two;
  two.threads = 2;
  settings(benchmark::RegisterBenchmark((std::string(kBenched[0]) + "/two_threads").c_str(), whole,
                                        std::string(kBenched[0]), two),
           true);
  settings(benchmark::RegisterBenchmark((std::string(kBenched[0]) + "/scaling").c_str(), scaling,
                                        std::string(kBenched[0])),
           true);
#ifdef MMAUDIT_BENCH_OPENBLAS
  for (const int threads : {1, 2})
    settings(benchmark::RegisterBenchmark(threads == 1 ? "openblas_sgemm" : "openblas_sgemm/two_threads",
                                          sgemm, threads),
             threads > 1);
#endif
  return true;
}();

}  // namespace
}  // namespace mmaudit
