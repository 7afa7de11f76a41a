#pragma once
// The first-level cache where shared memory takes most of it: loaded.cu.
#include "loaded_curve.cuh"

namespace loaded {

/// Two loads of one warp, the second `delay` cycles after the first: cycles of each from its own issue.
/// apart: bytes from the first to the second.
template <bool kFirstWaits>
__global__ void two_loads(const unsigned char* from, unsigned* out, int delay, long apart, int trials,
                          long stride) {
  const int lane = threadIdx.x % 32;
  for (int trial = 0; trial < trials; ++trial) {
    const unsigned char* p = from + trial * stride + lane % 4 * 4;
    const unsigned t0 = clk();
    const unsigned a = load<4>(p);
    while (clk() - t0 < (unsigned)delay) {
    }
    const unsigned t1 = clk();
    const unsigned b = load<4>(p + apart);
    unsigned t2, t3;
    if (kFirstWaits) {
      wait_for(a);
      t2 = clk();
      wait_for(b);
      t3 = clk();
    } else {
      wait_for(b);
      t3 = clk();
      wait_for(a);
      t2 = clk();
    }
    if (lane == 0) {
      out[3 * trial] = t2 - t0;
      out[3 * trial + 1] = t3 - t1;
      out[3 * trial + 2] = t1 - t0;
    }
    __syncwarp();
  }
}
/// Each warp issues `count` loads back to back, each of so many lines.
template <int kWidth, int kMost>
__global__ void __launch_bounds__(kMost <= 12 ? 1024 : 512)
    outstanding(const unsigned char* from, unsigned* out, int lines, long pitch, int trials) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, per = 32 / lines;
  __shared__ unsigned issued, arrived;
  for (int trial = 0; trial < trials; ++trial) {
    if (threadIdx.x == 0) issued = arrived = 0;
    const unsigned char* p =
        from + ((size_t)trial * warps * kMost * lines + (size_t)warp * kMost * lines + lane / per) * pitch +
        lane % per * kWidth;
    __syncthreads();
    const unsigned t0 = clk();
    Loaded<kWidth> v[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i) v[i] = fetch<kWidth>(p + (size_t)i * lines * pitch);
    const unsigned t1 = clk();
    wait_for_all(v);
    const unsigned t2 = clk();
    if (lane == 0) {
      atomicMax(&issued, t1 - t0);
      atomicMax(&arrived, t2 - t0);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      out[2 * trial] = issued;
      out[2 * trial + 1] = arrived;
    }
    __syncthreads();
  }
}

__device__ __forceinline__ bool is_hit(const unsigned char* p) {
  const unsigned t0 = clk();
  wait_for(load<4>(p));
  return clk() - t0 < 120;
}
/// Reads `rows` rows one after the other, then asks again which are there, forward or backward.
__global__ void placement(const unsigned char* from, unsigned* hits, int rows, long pitch, long base,
                          int full, int backward) {
  const int lane = threadIdx.x % 32;
  const unsigned char* p = from + base + (full ? lane * 4 : lane % 4 * 4);
#pragma unroll 1
  for (int i = 0; i < 1024; ++i) wait_for(load<4>(from + (200L << 20) + i * 128 + lane * 4));
#pragma unroll 1
  for (int i = 0; i < rows; ++i) wait_for(load<4>(p + i * pitch));
#pragma unroll 1
  for (int i = 0; i < rows; ++i) {
    const int row = backward ? rows - 1 - i : i;
    const bool hit = is_hit(p + row * pitch);
    if (lane == 0 && hit) atomicOr(&hits[row / 32], 1U << row % 32);
  }
}
/// How many lines `stride` bytes apart, read after one line, push it out; a block per stride and base.
__global__ void eviction(const unsigned char* from, const long* strides, const long* bases, int base_count,
                         unsigned* out, int most) {
  const int lane = threadIdx.x % 32;
  const long stride = strides[blockIdx.x / base_count], base = bases[blockIdx.x % base_count];
  const unsigned char* p = from + base + lane * 4;
  for (int again = 0; again < 2; ++again) {  // the first time brings all into L2
    int found = 0;
    for (int count = 1; count <= most && found == 0; ++count) {
#pragma unroll 1
      for (int i = 0; i < 512; ++i) wait_for(load<4>(from + (200L << 20) + i * 128 + lane * 4));
      wait_for(load<4>(p));
#pragma unroll 1
      for (int i = 1; i <= count; ++i) wait_for(load<4>(p + i * stride));
      if (!is_hit(p)) found = count;
    }
    if (lane == 0) out[blockIdx.x] = found;
  }
}

inline void first_level() {
  unsigned char* from;
  unsigned* out;
  const size_t size = 1UL << 30;
  CK(cudaMalloc(&from, size));
  CK(cudaMemset(from, 0, size));
  CK(cudaMalloc(&out, 1 << 16));
  std::vector<unsigned> v(1 << 14);
  const auto fetch = [&](size_t words) { CK(cudaMemcpy(v.data(), out, words * 4, cudaMemcpyDeviceToHost)); };
  const auto middle = [&](int first, int step, int trials) {
    std::vector<unsigned> some;
    for (int i = trials / 8; i < trials; ++i) some.push_back(v[first + step * i]);
    std::sort(some.begin(), some.end());
    return some[some.size() / 2];
  };
  const auto small_l1 = [&](const void* function, int carve = 100) {
    CK(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, carve));
    CK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, kDynamic));
  };
  std::printf("two,level,apart,waits_for,delay,first_cycles,second_cycles,second_began\n");
  small_l1((const void*)two_loads<true>);
  small_l1((const void*)two_loads<false>);
  int region = 0;
  for (int cold : {0, 1})
    for (long apart : {0L, 16L, 32L, 64L, 96L, 128L, 1024L})
      for (int first_waits : {1, 0})
        for (int delay : {0, 30, 60, 100, 150, 200, 250, 300, 400, 600}) {
          const int trials = 64;
          const unsigned char* at = from + (cold ? (size_t)(region++ % 280) * (3 << 20) + (64 << 20) : 0);
          if (!cold) touch<<<132, 256>>>(from, 1 << 20, out + 16000);
          (first_waits ? two_loads<true> : two_loads<false>)<<<1, 32, kDynamic>>>(
              at, out, delay, apart, trials, cold ? 36864 + 128 : 4096 + 128);
          fetch(3 * trials);
          std::printf("two,%s,%ld,%s,%d,%u,%u,%u\n", cold ? "memory" : "l2", apart,
                      first_waits ? "first" : "second", delay, middle(0, 3, trials), middle(1, 3, trials),
                      middle(2, 3, trials));
        }

  std::printf("outstanding,carve,width,lines,pitch,warps,count,all_lines,issued,arrived\n");
  const auto run_outstanding = [&](auto function, int width, int lines, long pitch, int warps, int count,
                                   int carve) {
    const int trials = 9;
    const size_t bytes = (size_t)trials * warps * 16 * lines * pitch;
    if (bytes > size) return;
    const void* f = reinterpret_cast<const void*>(function);
    small_l1(f, carve);
    const int shared = carve == 100 ? kDynamic : 0;
    // Only the lines that are read: a first launch brings them into L2.
    for (int i = 0; i < 2; ++i) function<<<1, 32 * warps, shared>>>(from, out, lines, pitch, trials);
    fetch(2 * trials);
    std::printf("outstanding,%d,%d,%d,%ld,%d,%d,%d,%u,%u\n", carve, width, lines, pitch, warps, count,
                lines * warps * count, middle(0, 2, trials), middle(1, 2, trials));
  };
  for (int carve : {100, 0})
    for (int warps : {1, 2, 3, 4, 6, 8, 12, 16, 32})
      for (long pitch : {128L, 640L, 6144L, 8192L, 10240L}) {
        const auto all_lines = [&](auto count) {
          constexpr int kCount = decltype(count)::value;
          for (int lines : {1, 8, 32})
            run_outstanding(outstanding<4, kCount>, 4, lines, pitch, warps, kCount, carve);
          run_outstanding(outstanding<16, kCount>, 16, 4, pitch, warps, kCount, carve);
          run_outstanding(outstanding<8, kCount>, 8, 8, pitch, warps, kCount, carve);
        };
        all_lines(std::integral_constant<int, 1>{});
        all_lines(std::integral_constant<int, 2>{});
        all_lines(std::integral_constant<int, 4>{});
        all_lines(std::integral_constant<int, 8>{});
        all_lines(std::integral_constant<int, 12>{});
        if (warps <= 16) all_lines(std::integral_constant<int, 16>{});
      }

  std::printf("placement,full,pitch,base,rows,backward,hits,which\n");
  small_l1((const void*)placement);
  for (int full : {1, 0})
    for (long pitch :
         {128L, 256L, 384L, 512L, 1024L, 2048L, 3072L, 4096L, 5120L, 6144L, 8192L, 10240L, 12288L})
      for (long base : {0L, 3200L, 1000064L})
        for (int rows : {32, 64, 96, 128, 144, 160, 176, 192, 208, 224, 256, 320})
          for (int backward : {0, 1}) {
            CK(cudaMemset(out, 0, 64));
            placement<<<1, 32, kDynamic>>>(from, out, rows, pitch, base & ~127L, full, backward);
            fetch(16);
            int hits = 0;
            for (int i = 0; i < rows; ++i) hits += v[i / 32] >> i % 32 & 1;
            std::printf("placement,%d,%ld,%ld,%d,%d,%d,", full, pitch, base & ~127L, rows, backward, hits);
            for (int i = 0; i < (rows + 31) / 32; ++i) std::printf("%08x", v[i]);
            std::printf("\n");
          }

  std::printf("eviction,stride_lines,base,lines_until_gone\n");
  std::vector<long> strides, bases = {0, 128, 640, 4096, 999936, 33554432};
  for (long lines :
       {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 14, 15, 16, 17,  20,  24,  28,  31,  32,  33,
        36, 40, 44, 48, 52, 56, 60, 63, 64, 65, 72, 80, 88, 96, 100, 112, 120, 124, 128, 132, 136})
    strides.push_back(lines * 128);
  strides.push_back(1 << 16);
  strides.push_back(1 << 18);
  long* tables;
  CK(cudaMalloc(&tables, 8 * (strides.size() + bases.size())));
  CK(cudaMemcpy(tables, strides.data(), 8 * strides.size(), cudaMemcpyHostToDevice));
  CK(cudaMemcpy(tables + strides.size(), bases.data(), 8 * bases.size(), cudaMemcpyHostToDevice));
  small_l1((const void*)eviction);
  const int all = (int)(strides.size() * bases.size());
  eviction<<<all, 32, kDynamic>>>(from, tables, tables + strides.size(), (int)bases.size(), out, 256);
  fetch(all);
  for (int i = 0; i < all; ++i)
    std::printf("eviction,%ld,%ld,%u\n", strides[i / bases.size()] / 128, bases[i % bases.size()], v[i]);
}

}  // namespace loaded
