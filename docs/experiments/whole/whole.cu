// Times whole products for the timing model and prints CSV: docs/results/h200-kernels, docs/timing.md.
// Compiles with nvcc alone:
//   nvcc -O3 -std=c++20 -gencode arch=compute_90a,code=sm_90a whole.cu -o whole -ldl
// `whole SIZES [NAME]` times the kernels whose name holds NAME ("cublas" too), `whole profile SIZES` the
// single wmma operations of Raihan et al., figures 15 and 16.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cublas.cuh"
#include "profile.cuh"
#include "tiles.cuh"
#include "whole.cuh"

namespace whole {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "whole: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

/// -1, 0 or 1.
__host__ __device__ int value_at(std::uint64_t index, std::uint64_t seed) {
  std::uint64_t x = (index + seed) * 0x9e3779b97f4a7c15ULL;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 32;
  return static_cast<int>(x % 3) - 1;
}

template <typename T>
__global__ void fill(T* to, std::uint64_t count, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::uint64_t>(gridDim.x) * blockDim.x)
    to[i] = static_cast<T>(static_cast<float>(value_at(i, seed)));
}

constexpr std::uint64_t kSeedA = 1, kSeedB = 1ULL << 40;

struct Kernel {
  const char *name, *type;
  int tile, threads, shared;
  bool along_k;  ///< rows of A and B go along k
  const void* function;
  void (*launch)(const void* a, const void* b, void* d, Stamp* stamps, int n, dim3 grid, int threads,
                 int shared);
  void (*fill_in)(void* to, std::uint64_t count, std::uint64_t seed);
  double (*element)(const void* d, std::uint64_t index);
  int bytes, bytes_d;
};

template <typename T, typename Sum>
Kernel kernel(const char* name, const char* type, int tile, int threads, int shared, bool along_k,
              const void* function) {
  return {name,
          type,
          tile,
          threads,
          shared,
          along_k,
          function,
          nullptr,
          [](void* to, std::uint64_t count, std::uint64_t seed) {
            fill<<<1024, 256>>>(static_cast<T*>(to), count, seed);
          },
          [](const void* d, std::uint64_t index) {
            Sum value;
            check(
                cudaMemcpy(&value, static_cast<const Sum*>(d) + index, sizeof value, cudaMemcpyDeviceToHost),
                "reading D");
            return static_cast<double>(static_cast<float>(value));
          },
          sizeof(T),
          sizeof(Sum)};
}

#define WHOLE(T, SUM, NAME, TYPE, TILE, THREADS, SHARED, ALONG, ...)                                      \
  [=] {                                                                                                   \
    Kernel made = kernel<T, SUM>(NAME, TYPE, TILE, THREADS, SHARED, ALONG,                                \
                                 reinterpret_cast<const void*>(__VA_ARGS__));                             \
    made.launch = [](const void* a, const void* b, void* d, Stamp* stamps, int n, dim3 grid, int threads, \
                     int shared) {                                                                        \
      __VA_ARGS__<<<grid, threads, shared>>>(static_cast<const T*>(a), static_cast<const T*>(b),          \
                                             static_cast<SUM*>(d), stamps, n);                            \
    };                                                                                                    \
    return made;                                                                                          \
  }()

template <typename Type, int kSide, int kM, int kN, int kStages, bool kPermuted>
Kernel tiles(const char* name, const char* type) {
  using T = typename Type::T;
  using Sum = typename Type::Sum;
  return WHOLE(T, Sum, name, type, kSide, 32 * (kSide / kM) * (kSide / kN), kStages * 2 * kSide * 128, true,
               (mma_tiles<Type, kSide, kM, kN, kStages, kPermuted>));
}

std::vector<Kernel> kernels() {
  using B = __nv_bfloat16;
  using H = __half;
  return {
      WHOLE(H, float, "wmma_global1", "f16_f32", 32, 128, 0, true, (wmma_global<H, float, 1>)),
      WHOLE(H, float, "wmma_global2", "f16_f32", 64, 128, 0, true, (wmma_global<H, float, 2>)),
      WHOLE(H, H, "wmma_global2", "f16_f16", 64, 128, 0, true, (wmma_global<H, H, 2>)),
      WHOLE(signed char, int, "wmma_global2", "s8_s32", 64, 128, 0, true, (wmma_global<signed char, int, 2>)),
      WHOLE(H, float, "wmma_shared64", "f16_f32", 64, 128, 2 * 64 * 144, true, (wmma_shared<H, float, 64>)),
      WHOLE(H, float, "wmma_shared128", "f16_f32", 128, 128, 2 * 128 * 144, true,
            (wmma_shared<H, float, 128>)),
      WHOLE(H, H, "wmma_shared128", "f16_f16", 128, 128, 2 * 128 * 144, true, (wmma_shared<H, H, 128>)),
      WHOLE(B, float, "wmma_shared64", "bf16_f32", 64, 128, 2 * 64 * 144, true, (wmma_shared<B, float, 64>)),
      WHOLE(float, float, "wmma_shared64", "tf32_f32", 64, 128, 2 * 64 * 144, true,
            (wmma_shared<float, float, 64>)),
      WHOLE(signed char, int, "wmma_shared64", "s8_s32", 64, 128, 2 * 64 * 144, true,
            (wmma_shared<signed char, int, 64>)),
      WHOLE(double, double, "wmma_double", "f64_f64", 64, 128, 2 * 64 * 18 * 8, true, wmma_double),
      WHOLE(float, float, "sgemm", "f32_f32", 128, 256, 2 * 8 * 128 * 4, false, (sgemm<false>)),
      WHOLE(float, float, "sgemm_ahead", "f32_f32", 128, 256, 2 * 8 * 128 * 4, false, (sgemm<true>)),
      WHOLE(H, H, "hgemm", "f16_f16", 128, 256, 2 * 16 * 128 * 2, false, (hgemm<false>)),
      WHOLE(H, H, "hgemm_ahead", "f16_f16", 128, 256, 2 * 16 * 128 * 2, false, (hgemm<true>)),
      tiles<F16F32, 64, 32, 32, 1, false>("mma64", "f16_f32"),
      tiles<F16F32, 64, 32, 32, 1, true>("mma64_permuted", "f16_f32"),
      tiles<F16F32, 64, 32, 32, 3, true>("mma64_stages", "f16_f32"),
      tiles<F16F32, 128, 64, 32, 1, false>("mma128", "f16_f32"),
      tiles<F16F32, 128, 64, 32, 1, true>("mma128_permuted", "f16_f32"),
      tiles<F16F32, 128, 64, 32, 3, false>("mma128_conflicts", "f16_f32"),
      tiles<F16F32, 128, 64, 32, 3, true>("mma128_stages", "f16_f32"),
      tiles<F16F16, 128, 64, 32, 3, true>("mma128_stages", "f16_f16"),
      tiles<Bf16F32, 128, 64, 32, 3, true>("mma128_stages", "bf16_f32"),
      tiles<Tf32F32, 128, 64, 32, 3, true>("mma128_stages", "tf32_f32"),
      tiles<S8S32, 128, 64, 32, 3, true>("mma128_stages", "s8_s32"),
      tiles<S8S32, 64, 32, 32, 1, true>("mma64_permuted", "s8_s32"),
      // None of the model's numbers is fitted to these.
      WHOLE(B, float, "wmma_global2", "bf16_f32", 64, 128, 0, true, (wmma_global<B, float, 2>)),
      WHOLE(H, H, "wmma_shared64", "f16_f16", 64, 128, 2 * 64 * 144, true, (wmma_shared<H, H, 64>)),
      WHOLE(signed char, int, "wmma_shared128", "s8_s32", 128, 128, 2 * 128 * 144, true,
            (wmma_shared<signed char, int, 128>)),
      tiles<Bf16F32, 64, 32, 32, 1, true>("mma64_permuted", "bf16_f32"),
      tiles<Tf32F32, 64, 32, 32, 3, true>("mma64_stages", "tf32_f32"),
      tiles<F16F16, 64, 32, 32, 3, true>("mma64_stages", "f16_f16"),
      tiles<S8S32, 128, 64, 32, 1, true>("mma128_permuted", "s8_s32"),
      tiles<F16F32, 128, 32, 64, 2, true>("mma128_two_stages", "f16_f32"),
      tiles<F16F32, 128, 64, 64, 3, true>("mma128_large", "f16_f32"),
  };
}

double median(std::vector<double> values, double at = 0.5) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

struct Event {
  cudaEvent_t event;
  Event() { check(cudaEventCreate(&event), "an event"); }
};
double seconds(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from.event, to.event), "reading events");
  return ms / 1000;
}

struct Memory {
  void* at = nullptr;
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&at, bytes), "memory"); }
  ~Memory() { cudaFree(at); }
};

int runs_of(double first_seconds) { return first_seconds > 0.02 ? 5 : first_seconds > 0.004 ? 9 : 21; }

void time_kernel(const Kernel& kernel, int n) {
  const auto count = static_cast<std::uint64_t>(n) * n;
  const dim3 grid(n / kernel.tile, n / kernel.tile);
  const std::size_t blocks = static_cast<std::size_t>(grid.x) * grid.y;
  Memory a(count * kernel.bytes), b(count * kernel.bytes), d(count * kernel.bytes_d),
      stamps(blocks * sizeof(Stamp));
  kernel.fill_in(a.at, count, kSeedA);
  kernel.fill_in(b.at, count, kSeedB);
  check(cudaMemset(d.at, 0xff, count * kernel.bytes_d), "poison");
  check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared),
        "shared");
  check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributePreferredSharedMemoryCarveout, 100),
        "carveout");
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel.function, kernel.threads,
                                                      static_cast<std::size_t>(kernel.shared)),
        "occupancy");
  Event begin, end;
  std::vector<double> cycles, mean_cycles, spans, times, clocks;
  std::vector<Stamp> found(blocks);
  int runs = 21, used = 0;
  double prologue = 0;
  for (int run = -2; run < runs; ++run) {
    check(cudaEventRecord(begin.event), "event");
    kernel.launch(a.at, b.at, d.at, static_cast<Stamp*>(stamps.at), n, grid, kernel.threads, kernel.shared);
    check(cudaEventRecord(end.event), "event");
    check(cudaGetLastError(), kernel.name);
    check(cudaDeviceSynchronize(), kernel.name);
    const double took = seconds(begin, end);
    if (run == -1) runs = runs_of(took);
    if (run < 0) continue;
    check(cudaMemcpy(found.data(), stamps.at, blocks * sizeof(Stamp), cudaMemcpyDeviceToHost), "stamps");
    std::map<unsigned, Stamp> of_sm;
    unsigned long long first = ~0ULL, last = 0;
    for (const Stamp& one : found) {
      auto [at, is_new] = of_sm.emplace(one.sm, one);
      Stamp& sm = at->second;
      sm.clock_begin = std::min(sm.clock_begin, one.clock_begin);
      sm.clock_end = std::max(sm.clock_end, one.clock_end);
      sm.time_begin = std::min(sm.time_begin, one.time_begin);
      sm.time_end = std::max(sm.time_end, one.time_end);
      first = std::min(first, one.time_begin);
      last = std::max(last, one.time_end);
    }
    double longest = 0, sum = 0, clock = 0, duration = 0;
    for (const auto& [sm, one] : of_sm) {
      const auto own = static_cast<double>(one.clock_end - one.clock_begin);
      longest = std::max(longest, own);
      sum += own;
      clock += own;
      duration += static_cast<double>(one.time_end - one.time_begin);
    }
    used = static_cast<int>(of_sm.size());
    cycles.push_back(longest);
    mean_cycles.push_back(sum / static_cast<double>(of_sm.size()));
    spans.push_back(static_cast<double>(last - first));
    times.push_back(took);
    clocks.push_back(duration > 0 ? clock / duration * 1e9 : 0);
    std::vector<double> each;
    for (const Stamp& one : found) each.push_back(static_cast<double>(one.clock_end - one.clock_begin));
    prologue = median(each);
  }
  int differing = 0, compared = 0;
  for (int i = 0; i < 24; ++i) {
    const std::uint64_t row = static_cast<std::uint64_t>(i) * 7919 % n,
                        column = static_cast<std::uint64_t>(i) * 104729 % n;
    double expected = 0;
    for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(n); ++k)
      expected += value_at(kernel.along_k ? row * n + k : k * n + row, kSeedA) *
                  value_at(kernel.along_k ? column * n + k : k * n + column, kSeedB);
    differing += kernel.element(d.at, row * n + column) != expected;
    ++compared;
  }
  std::printf("%s,%s,%d,%zu,%d,%d,%zu,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.9f,%.0f,%d,%d\n", kernel.name,
              kernel.type, n, blocks, resident, used, cycles.size(), median(cycles), median(cycles, 0.25),
              median(cycles, 0.75), median(mean_cycles), prologue, median(spans), median(times),
              median(clocks), compared, differing);
  std::fflush(stdout);
}

void time_cublas(Cublas& cublas, int n) {
  // Types and compute types of cublas_api.h: 0 binary32, 2 binary16; 64 and 68 sums of 16 and 32 bits, 65 and
  // 69 the same without tensor cores ("pedantic"), 77 TF32.
  struct Way {
    const char *name, *type;
    int in, out, compute, bytes;
    bool half;
  };
  const auto count = static_cast<std::uint64_t>(n) * n;
  for (const Way& way :
       {Way{"cublas", "f16_f32", 2, 0, 68, 2, false}, Way{"cublas", "f16_f16", 2, 2, 64, 2, true},
        Way{"cublas", "tf32_f32", 0, 0, 77, 4, false}, Way{"cublas_plain", "f32_f32", 0, 0, 69, 4, false},
        Way{"cublas_plain", "f16_f16", 2, 2, 65, 2, true}}) {
    Memory a(count * way.bytes), b(count * way.bytes), d(count * 4);
    if (way.in == 2) {
      fill<<<1024, 256>>>(static_cast<__half*>(a.at), count, kSeedA);
      fill<<<1024, 256>>>(static_cast<__half*>(b.at), count, kSeedB);
    } else {
      fill<<<1024, 256>>>(static_cast<float*>(a.at), count, kSeedA);
      fill<<<1024, 256>>>(static_cast<float*>(b.at), count, kSeedB);
    }
    const float one = 1, zero = 0;
    const __half half_one = __float2half(1.0f), half_zero = __float2half(0.0f);
    const void* alpha = way.half ? static_cast<const void*>(&half_one) : &one;
    const void* beta = way.half ? static_cast<const void*>(&half_zero) : &zero;
    Event begin, end;
    std::vector<double> times;
    int runs = 21, status = 0;
    for (int run = -2; run < runs && status == 0; ++run) {
      check(cudaEventRecord(begin.event), "event");
      status = cublas.gemm(cublas.handle, 1, 0, n, n, n, alpha, a.at, way.in, n, b.at, way.in, n, beta, d.at,
                           way.out, n, way.compute, -1);
      check(cudaEventRecord(end.event), "event");
      check(cudaDeviceSynchronize(), "cuBLAS");
      if (run == -1) runs = runs_of(seconds(begin, end));
      if (run >= 0) times.push_back(seconds(begin, end));
    }
    if (status != 0)
      std::printf("%s,%s,%d,refused %d\n", way.name, way.type, n, status);
    else
      std::printf("%s,%s,%d,,,,%zu,,,,,,,%.9f,,,\n", way.name, way.type, n, times.size(), median(times));
  }
}

// ---- single operations
// --------------------------------------------------------------------------------------
void profile_one(int n, bool shared) {
  const auto count = static_cast<std::uint64_t>(n) * n;
  const int blocks = n / 64 * (n / 64), every = std::max(1, blocks / 32), steps = n / 16;
  const int recorded = (blocks + every - 1) / every;
  const std::size_t words = static_cast<std::size_t>(recorded) * 16 * (3 * steps + 1);
  Memory a(count * 2), b(count * 2), d(count * 4), records(words * 4);
  fill<<<1024, 256>>>(static_cast<__half*>(a.at), count, kSeedA);
  fill<<<1024, 256>>>(static_cast<__half*>(b.at), count, kSeedB);
  for (int run = 0; run < 3; ++run) {
    const auto launch = [&](auto function) {
      function<<<dim3(n / 64, n / 64), 512, shared ? 2 * 64 * 48 : 0>>>(
          static_cast<const __half*>(a.at), static_cast<const __half*>(b.at), static_cast<float*>(d.at),
          static_cast<unsigned*>(records.at), n, every);
    };
    if (shared)
      launch(profile<true>);
    else
      launch(profile<false>);
    check(cudaDeviceSynchronize(), "profile");
  }
  std::vector<unsigned> found(words);
  check(cudaMemcpy(found.data(), records.at, words * 4, cudaMemcpyDeviceToHost), "records");
  std::vector<double> of[4];
  for (std::size_t warp = 0; warp < static_cast<std::size_t>(recorded) * 16; ++warp) {
    const unsigned* at = found.data() + warp * (3 * steps + 1);
    for (int i = 0; i < 3 * steps; ++i) of[i % 3].push_back(at[i]);
    of[3].push_back(at[3 * steps]);
  }
  int differing = 0;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t row = i * 7919ULL % n, column = i * 104729ULL % n;
    double expected = 0;
    for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(n); ++k)
      expected += value_at(row * n + k, kSeedA) * value_at(column * n + k, kSeedB);
    float value;
    check(cudaMemcpy(&value, static_cast<float*>(d.at) + row * n + column, 4, cudaMemcpyDeviceToHost), "D");
    differing += value != expected;
  }
  const char* names[] = {"wmma.load.a", "wmma.load.b", "wmma.mma", "wmma.store"};
  for (int i = 0; i < 4; ++i) {
    std::printf("%s,%s,%d,%zu", names[i], shared ? "shared" : "global", n, of[i].size());
    for (const double at : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0})
      std::printf(",%.0f", median(of[i], at));
    std::printf(",%d\n", differing);
  }
}

std::vector<int> numbers(const char* text) {
  std::vector<int> all;
  for (const char* at = text; *at != 0;) {
    all.push_back(std::atoi(at));
    at += std::strcspn(at, ",");
    if (*at == ',') ++at;
  }
  return all;
}

}  // namespace
}  // namespace whole

int main(int argc, char** argv) {
  using namespace whole;
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "a GPU");
  if (argc > 2 && std::string(argv[1]) == "profile") {
    std::printf("# %s, %d multiprocessors\n", device.name, device.multiProcessorCount);
    std::printf("operation,from,n,samples,least,p1,p10,p25,median,p75,p90,p99,p999,most,differing\n");
    for (const int n : numbers(argv[2]))
      for (const bool shared : {false, true}) profile_one(n, shared);
    return 0;
  }
  if (argc < 2) {
    std::fprintf(stderr, "whole: found nothing, allowed: SIZES [NAME], or profile SIZES\n");
    return 2;
  }
  const std::string only = argc > 2 ? argv[2] : "";
  std::printf("# %s, %d multiprocessors\n", device.name, device.multiProcessorCount);
  std::printf(
      "kernel,type,n,blocks,resident,sms,runs,cycles,cycles_q1,cycles_q3,mean_sm_cycles,block_cycles,span_ns,"
      "seconds,hz,"
      "compared,differing\n");
  Cublas cublas;
  for (const int n : numbers(argv[1])) {
    for (const Kernel& kernel : kernels())
      if (n % kernel.tile == 0 && std::string(kernel.name).find(only) != std::string::npos)
        time_kernel(kernel, n);
    if (cublas.gemm != nullptr && std::string("cublas").find(only) != std::string::npos)
      time_cublas(cublas, n);
  }
  return 0;
}
