#pragma once
// Clocks inside products: how long each trip waits for A, for B, for all, by the time since another block
// asked for the same piece of A or B. loaded.cu.
#include <algorithm>
#include <map>

#include "../whole/tiles.cuh"
#include "loaded_curve.cuh"

namespace loaded {

/// Of warp 0 in one trip: when it asked, and cycles from then until A, B, all were there, and the barrier
/// over.
struct Trip {
  unsigned asked;
  unsigned short a, b, all, barrier;
};
__device__ __forceinline__ unsigned short cut(unsigned cycles) { return (unsigned short)min(cycles, 65535U); }

__device__ __forceinline__ uint4 load16(const char* from) {
  uint4 v;
  asm volatile("ld.global.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}

/// mma_tiles of tiles.cuh with clocks. kStages > 1: only the waits.
template <typename Type, int kSide, int kWarpM, int kWarpN, int kStages, int kResident>
__global__ void __launch_bounds__(32 * (kSide / kWarpM) * (kSide / kWarpN), kResident)
    inside_tiles(const char* a, const char* b, typename Type::Sum* d, whole::Stamp* stamps, Trip* trips,
                 int n) {
  constexpr int kThreads = 32 * (kSide / kWarpM) * (kSide / kWarpN), kPartsM = kWarpM / 16,
                kPartsN = kWarpN / 8;
  constexpr int kTile = kSide * 128, kStage = 2 * kTile, kRows = kThreads / 8, kCopies = kSide / kRows;
  const whole::Watch watch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / (kSide / kWarpN) * kWarpM, column = warp % (kSide / kWarpN) * kWarpN;
  const int first = threadIdx.x / 8, chunk = threadIdx.x % 8;
  const std::size_t pitch = static_cast<std::size_t>(n) * sizeof(typename Type::T);
  const char* from_a = a + (blockIdx.y * kSide + first) * pitch + 16 * chunk;
  const char* from_b = b + (blockIdx.x * kSide + first) * pitch + 16 * chunk;
  const auto place = [](int r, int c) { return r * 128 + 16 * (c ^ (r % 8)); };
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(whole::memory));
  std::uint32_t sum[kPartsM][kPartsN][Type::kWords] = {};
  const int steps = static_cast<int>(pitch / 128);
  Trip* to = trips + static_cast<std::size_t>(blockIdx.y * gridDim.x + blockIdx.x) * steps;
  const auto multiply = [&](int stage) {
    const std::uint32_t at = base + static_cast<std::uint32_t>(stage * kStage);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t x[kPartsM][4], y[kPartsN / 2][4];
#pragma unroll
      for (int i = 0; i < kPartsM; ++i)
        whole::load_matrices(
            x[i], at + static_cast<std::uint32_t>(place(row + 16 * i + lane % 16, 2 * step + lane / 16)));
#pragma unroll
      for (int j = 0; j < kPartsN / 2; ++j)
        whole::load_matrices(
            y[j], at + kTile +
                      static_cast<std::uint32_t>(
                          place(column + 16 * j + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2)));
#pragma unroll
      for (int i = 0; i < kPartsM; ++i)
#pragma unroll
        for (int j = 0; j < kPartsN; ++j)
          Type::mma(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
  };
  if constexpr (kStages > 1) {
    const auto fetch = [&](int stage) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const auto at = base + static_cast<std::uint32_t>(stage * kStage + place(first + i * kRows, chunk));
        whole::copy_async(at, from_a + i * kRows * pitch);
        whole::copy_async(at + kTile, from_b + i * kRows * pitch);
      }
      from_a += 128;
      from_b += 128;
    };
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) {
      fetch(i);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    int stage = 0, free = kStages - 1;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      const unsigned t0 = clk();
      asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
      const unsigned t1 = clk();
      __syncthreads();
      const unsigned t2 = clk();
      if (i + kStages - 1 < steps) fetch(free);
      asm volatile("cp.async.commit_group;" ::: "memory");
      const unsigned t3 = clk();
      if (threadIdx.x == 0) to[i] = {t0, cut(t1 - t0), cut(t1 - t0), cut(t3 - t0), cut(t2 - t0)};
      multiply(stage);
      free = stage;
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      const unsigned t0 = clk();
      uint4 x[kCopies], y[kCopies];
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        x[c] = load16(from_a + c * kRows * pitch);
        y[c] = load16(from_b + c * kRows * pitch);
      }
      from_a += 128;
      from_b += 128;
      wait_for(x[0].x);
      const unsigned t1 = clk();
      wait_for(y[0].x);
      const unsigned t2 = clk();
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        wait_for(x[c].y);
        wait_for(y[c].y);
      }
      const unsigned t3 = clk();
      __syncthreads();
      const unsigned t4 = clk();
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        *reinterpret_cast<uint4*>(whole::memory + place(first + c * kRows, chunk)) = x[c];
        *reinterpret_cast<uint4*>(whole::memory + kTile + place(first + c * kRows, chunk)) = y[c];
      }
      __syncthreads();
      if (threadIdx.x == 0) to[i] = {t0, cut(t1 - t0), cut(t2 - t0), cut(t3 - t0), cut(t4 - t0)};
      multiply(0);
    }
  }
  if (sum[0][0][0] == 0x12345) d[0] = typename Type::Sum(1);
#pragma unroll
  for (int i = 0; i < kPartsM; ++i)
#pragma unroll
    for (int j = 0; j < kPartsN; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::size_t at =
            static_cast<std::size_t>(blockIdx.y * kSide + row + 16 * i + 8 * half + lane / 4) * n +
            blockIdx.x * kSide + column + 8 * j + lane % 4 * 2;
        if constexpr (Type::kWords == 4)
          *reinterpret_cast<uint2*>(d + at) = make_uint2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        else
          *reinterpret_cast<std::uint32_t*>(d + at) = sum[i][j][half];
      }
  watch.stop(stamps);
}

/// wmma_global2 of binary16 with clocks: warps of 32 x 32, loads of 8 rows of 16 bytes.
template <typename Type, int kResident>
__global__ void __launch_bounds__(128, kResident)
    inside_global(const char* a, const char* b, typename Type::Sum* d, whole::Stamp* stamps, Trip* trips,
                  int n) {
  const whole::Watch watch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = (blockIdx.y * 2 + warp / 2) * 32, column = (blockIdx.x * 2 + warp % 2) * 32;
  const std::size_t pitch = static_cast<std::size_t>(n) * 2;
  const char* from_a = a + (row + lane / 4) * pitch + lane % 4 * 4;
  const char* from_b = b + (column + lane / 4) * pitch + lane % 4 * 4;
  std::uint32_t sum[2][4][Type::kWords] = {};
  const int steps = n / 16;
  // Every fourth trip is recorded, so that trips of 32 bytes are trips of 128.
  Trip* to = trips + static_cast<std::size_t>(blockIdx.y * gridDim.x + blockIdx.x) * (steps / 4);
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    const unsigned t0 = clk();
    std::uint32_t x[2][4], y[4][2];
#pragma unroll
    for (int p = 0; p < 2; ++p)
#pragma unroll
      for (int w = 0; w < 4; ++w)
        x[p][w] = load<4>((const unsigned char*)from_a + (16 * p + w % 2 * 8) * pitch + w / 2 * 16);
#pragma unroll
    for (int p = 0; p < 4; ++p)
#pragma unroll
      for (int w = 0; w < 2; ++w) y[p][w] = load<4>((const unsigned char*)from_b + 8 * p * pitch + w * 16);
    from_a += 32;
    from_b += 32;
    wait_for(x[0][0]);
    const unsigned t1 = clk();
    wait_for(y[0][0]);
    const unsigned t2 = clk();
#pragma unroll
    for (int p = 0; p < 2; ++p)
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        wait_for(x[p][w]);
        wait_for(y[p * 2 + w / 2][w % 2]);
      }
    const unsigned t3 = clk();
    if (threadIdx.x == 0 && i % 4 == 0)
      to[i / 4] = {t0, cut(t1 - t0), cut(t2 - t0), cut(t3 - t0), cut(t3 - t0)};
#pragma unroll
    for (int p = 0; p < 2; ++p)
#pragma unroll
      for (int q = 0; q < 4; ++q) Type::mma(sum[p][q], x[p], y[q][0], y[q][1]);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::size_t at =
            static_cast<std::size_t>(row + 16 * i + 8 * half + lane / 4) * n + column + 8 * j + lane % 4 * 2;
        if constexpr (Type::kWords == 4)
          *reinterpret_cast<uint2*>(d + at) = make_uint2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        else
          *reinterpret_cast<std::uint32_t*>(d + at) = sum[i][j][half];
      }
  watch.stop(stamps);
}

constexpr int kGaps = 16;  ///< 0: no block asked before; i: less than 64 << i cycles ago

struct Parts {
  std::vector<float> wait[kGaps];
};
inline double quantile(std::vector<float>& values, double at) {
  if (values.empty()) return 0;
  const auto where = values.begin() + (std::ptrdiff_t)(at * (values.size() - 1));
  std::nth_element(values.begin(), where, values.end());
  return *where;
}

template <typename Sum>
Sum* kernel_sum(void (*)(const char*, const char*, Sum*, whole::Stamp*, Trip*, int));

template <typename Kernel>
void run_inside(Kernel kernel, const char* name, int side, int threads, int shared, int element,
                int sum_bytes, int n, const char* folder) {
  if (n % side) return;
  const int across = n / side, blocks = across * across, steps = n * element / 128;
  const std::size_t bytes = (std::size_t)n * n * element;
  if (bytes > (160UL << 20)) return;
  unsigned char *a, *b, *d;
  whole::Stamp* stamps;
  Trip* trips;
  CK(cudaMalloc(&a, bytes));
  CK(cudaMalloc(&b, bytes));
  CK(cudaMalloc(&d, (std::size_t)n * n * sum_bytes));
  CK(cudaMalloc(&stamps, blocks * sizeof(whole::Stamp)));
  CK(cudaMalloc(&trips, sizeof(Trip) * blocks * steps));
  CK(cudaMemset(a, 0, bytes));
  CK(cudaMemset(b, 0, bytes));
  const void* f = reinterpret_cast<const void*>(kernel);
  CK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  CK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  int resident = 0;
  CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared));
  for (int i = 0; i < 3; ++i) {
    kernel<<<dim3(across, across), threads, shared>>>(
        (const char*)a, (const char*)b, reinterpret_cast<decltype(kernel_sum(kernel))>(d), stamps, trips, n);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
  }
  std::vector<whole::Stamp> s(blocks);
  std::vector<Trip> t((std::size_t)blocks * steps);
  CK(cudaMemcpy(s.data(), stamps, sizeof(whole::Stamp) * blocks, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(t.data(), trips, sizeof(Trip) * t.size(), cudaMemcpyDeviceToHost));
  CK(cudaFree(a));
  CK(cudaFree(b));
  CK(cudaFree(d));
  CK(cudaFree(stamps));
  CK(cudaFree(trips));
  std::map<unsigned, std::pair<unsigned long long, unsigned long long>> of_sm;
  double clocks = 0, nanoseconds = 0;
  unsigned long long first = ~0ULL;
  for (const auto& one : s) {
    auto [at, is_new] = of_sm.emplace(one.sm, std::pair(one.clock_begin, one.clock_end));
    at->second.first = std::min(at->second.first, one.clock_begin);
    at->second.second = std::max(at->second.second, one.clock_end);
    clocks += one.clock_end - one.clock_begin;
    nanoseconds += one.time_end - one.time_begin;
    first = std::min(first, one.time_begin);
  }
  unsigned long long longest = 0;
  for (const auto& [sm, span] : of_sm) longest = std::max(longest, span.second - span.first);
  const double rate = clocks / nanoseconds;
  // When each block asked, in cycles since the first block began, by its own two stamps.
  std::vector<double> asked(t.size());
  for (int block = 0; block < blocks; ++block) {
    const auto& one = s[block];
    const double scale =
        (double)(one.time_end - one.time_begin) / (double)(one.clock_end - one.clock_begin) * rate;
    for (int i = 0; i < steps; ++i) {
      const std::size_t at = (std::size_t)block * steps + i;
      asked[at] = (one.time_begin - first) * rate + (double)(t[at].asked - (unsigned)one.clock_begin) * scale;
    }
  }
  const auto print = [&](const char* what, const char* gap, std::vector<float>& values) {
    if (values.empty()) return;
    double sum = 0;
    for (float v : values) sum += v;
    std::printf("%s,%d,%d,%llu,%.3f,%s,%s,%zu,%.0f", name, n, resident, longest, rate, what, gap,
                values.size(), sum / values.size());
    for (double at : {0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98}) std::printf(",%.0f", quantile(values, at));
    std::printf("\n");
  };
  std::vector<float> values[6];
  for (int block = 0; block < blocks; ++block)
    for (int i = 1; i < steps; ++i) {
      const Trip& one = t[(std::size_t)block * steps + i];
      values[0].push_back(one.a);
      values[1].push_back(one.b);
      values[2].push_back(one.all);
      values[3].push_back(one.barrier);
      if (i + 1 < steps) {
        const unsigned whole_trip = t[(std::size_t)block * steps + i + 1].asked - one.asked;
        values[4].push_back((float)whole_trip);
        values[5].push_back((float)(whole_trip - std::min<unsigned>(whole_trip, one.barrier)));
      }
    }
  const char* names[] = {"a", "b", "all", "barrier", "trip", "rest_of_trip"};
  for (int i = 0; i < 6; ++i) print(names[i], "any", values[i]);
  // By who asked before: A's piece (row of blocks, trip), B's piece (column of blocks, trip).
  std::vector<std::pair<double, std::size_t>> order(across);
  for (int operand = 0; operand < 2; ++operand) {
    std::vector<float> of_gap[kGaps], lead;
    std::vector<float> both[2];
    for (int line = 0; line < across; ++line)
      for (int i = 1; i < steps; ++i) {
        for (int other = 0; other < across; ++other) {
          const std::size_t block =
              operand == 0 ? (std::size_t)line * across + other : (std::size_t)other * across + line;
          order[other] = {asked[block * steps + i], block * steps + i};
        }
        std::sort(order.begin(), order.end());
        for (int k = 0; k < across; ++k) {
          int gap = 0;
          if (k > 0) {
            const double since = order[k].first - order[k - 1].first;
            gap = 1;
            while (gap < kGaps - 1 && since >= 64 << gap) ++gap;
          }
          const Trip& one = t[order[k].second];
          of_gap[gap].push_back(operand == 0 ? one.a : one.b);
        }
      }
    for (int gap = 0; gap < kGaps; ++gap) {
      char text[16];
      std::snprintf(text, sizeof text, "%d", gap == 0 ? 0 : gap == kGaps - 1 ? -1 : 64 << gap);
      print(operand == 0 ? "a_by_gap" : "b_by_gap", text, of_gap[gap]);
    }
  }
  if (folder != nullptr && n == 5120) {
    std::string path = name;
    std::replace(path.begin(), path.end(), ' ', '_');
    path = std::string(folder) + "/" + path + ".trips";
    if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
      // Words of 32 bits: blocks, steps; then per block multiprocessor, begin (cycles), and three per trip.
      const unsigned head[2] = {(unsigned)blocks, (unsigned)steps};
      std::fwrite(head, 4, 2, file);
      for (int block = 0; block < blocks; ++block) {
        const unsigned mine[2] = {s[block].sm, (unsigned)((s[block].time_begin - first) * rate)};
        std::fwrite(mine, 4, 2, file);
        for (int i = 0; i < steps; ++i) {
          const Trip& one = t[(std::size_t)block * steps + i];
          const unsigned word[3] = {one.asked - (unsigned)s[block].clock_begin, one.a | (unsigned)one.b << 16,
                                    one.all | (unsigned)one.barrier << 16};
          std::fwrite(word, 4, 3, file);
        }
      }
      std::fclose(file);
    }
  }
  std::fflush(stdout);
}
template <typename Type, int kSide, int kM, int kN, int kStages, int kResident>
void inside_of(const char* name, int element, int shared, int n, const char* folder) {
  run_inside(inside_tiles<Type, kSide, kM, kN, kStages, kResident>, name, kSide,
             32 * (kSide / kM) * (kSide / kN), shared > 0 ? shared : kStages * 2 * kSide * 128, element,
             Type::kWords == 4 ? 4 : 2, n, folder);
}
inline void inside(const char* folder) {
  using namespace whole;
  std::printf("kernel,n,resident,cycles,clocks_per_ns,what,gap,count,mean,p2,p10,p25,p50,p75,p90,p98\n");
  for (int n : {1536, 2560, 3072, 4096, 5120, 6144}) {
    inside_of<F16F32, 128, 64, 64, 1, 2>("wmma_shared128 f16_f32", 2, 2 * 128 * 144, n, folder);
    inside_of<F16F32, 128, 64, 32, 1, 2>("mma128_permuted f16_f32", 2, 0, n, folder);
    inside_of<F16F32, 64, 32, 32, 1, 5>("mma64_permuted f16_f32", 2, 0, n, nullptr);
    inside_of<S8S32, 128, 64, 64, 1, 2>("wmma_shared128 s8_s32", 1, 2 * 128 * 144, n, folder);
    inside_of<S8S32, 64, 32, 32, 1, 5>("mma64_permuted s8_s32", 1, 0, n, nullptr);
    inside_of<F16F16, 64, 32, 32, 3, 4>("mma64_stages f16_f16", 2, 0, n, nullptr);
    inside_of<F16F32, 128, 64, 32, 3, 2>("mma128_stages f16_f32", 2, 0, n, nullptr);
    run_inside(inside_global<F16F16, 8>, "wmma_global2 f16_f16", 64, 128, 0, 2, 2, n, nullptr);
    run_inside(inside_global<F16F32, 7>, "wmma_global2 f16_f32", 64, 128, 0, 2, 4, n, nullptr);
  }
}

}  // namespace loaded
