#pragma once
// Latency against load: loaded.cu.
#include <cmath>

#include "../probe/probe_memory.cuh"

namespace loaded {

__global__ void touch(const unsigned char* from, size_t bytes, unsigned* sink) {
  unsigned x = 0;
  for (size_t at = (blockIdx.x * blockDim.x + threadIdx.x) * 32; at < bytes;
       at += (size_t)gridDim.x * blockDim.x * 32)
    asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(x) : "l"(from + at) : "memory");
  if (x == 0x12345) *sink = x;
}

enum Shape { kTile, kAsync, kGlobal16, kGlobal8, kWide, kLong64 };
constexpr const char* kShapeNames[] = {"tile128", "cp_async", "global_f16", "global_s8", "wide512", "ldg64"};
constexpr int kBins = 1024, kBin = 8, kHists = 3;  // of cycles: first load, all loads of a batch, observer
constexpr int kDynamic = 160 * 1024;               // one block per multiprocessor, little L1

/// Waits for a loaded value: no number that is compared occurs in memory. No branch, or ptxas puts later
/// loads behind it.
__device__ __forceinline__ void wait_for(unsigned v) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, 0x7fc12345;\n@p st.shared.b32 [%0], %0;\n}" ::"r"(v)
               : "memory");
}
/// As probe's load, but all registers stay in use until the value is waited for.
template <int kWidth>
struct Loaded {
  unsigned v[kWidth / 4];
};
template <int kWidth>
__device__ __forceinline__ Loaded<kWidth> fetch(const unsigned char* p) {
  Loaded<kWidth> x;
  if constexpr (kWidth == 4) asm volatile("ld.global.b32 %0, [%1];" : "=r"(x.v[0]) : "l"(p) : "memory");
  if constexpr (kWidth == 8)
    asm volatile("ld.global.v2.b32 {%0,%1}, [%2];" : "=r"(x.v[0]), "=r"(x.v[1]) : "l"(p) : "memory");
  if constexpr (kWidth == 16)
    asm volatile("ld.global.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.v[0]), "=r"(x.v[1]), "=r"(x.v[2]), "=r"(x.v[3])
                 : "l"(p)
                 : "memory");
  return x;
}
/// Uses every register, or ptxas loads less.
template <int kWidth, int kCount>
__device__ __forceinline__ void wait_for_all(const Loaded<kWidth> (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kWidth == 4) wait_for(x[i].v[0]);
    if constexpr (kWidth == 8)
      asm volatile(
          "{\n.reg .pred p;\n.reg .b32 r;\nxor.b32 r, %0, %1;\nsetp.eq.u32 p, r, 0x7fc12345;\n"
          "@p st.shared.b32 [r], r;\n}" ::"r"(x[i].v[0]),
          "r"(x[i].v[1])
          : "memory");
    if constexpr (kWidth == 16)
      asm volatile(
          "{\n.reg .pred p;\n.reg .b32 r, s;\nxor.b32 r, %0, %1;\nxor.b32 s, %2, %3;\nxor.b32 r, r, s;\n"
          "setp.eq.u32 p, r, 0x7fc12345;\n@p st.shared.b32 [r], r;\n}" ::"r"(x[i].v[0]),
          "r"(x[i].v[1]), "r"(x[i].v[2]), "r"(x[i].v[3])
          : "memory");
  }
}

__device__ __forceinline__ void copy16(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__host__ __device__ __forceinline__ unsigned mixed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ x >> 16;
}

/// A matrix of rows `pitch` bytes apart, cut into segments of `rows` x `length` bytes. Segments are dealt to
/// `ids` ranges; block b reads range b / share_a of A and b % ids_b of B.
struct CurveArgs {
  const unsigned char* operand[2];
  unsigned pitch, rows, length, segments;
  int warps, share_a, ids_a, ids_b, rotate, pause, burst, warm;
  unsigned limit, begin_at;
  unsigned* counter;
  unsigned* hist;
  unsigned* done;  // per block: loads, cycles
};

template <int kShape>
constexpr int kStepBytes = kShape == kTile || kShape == kAsync ? 128
                           : kShape == kWide                   ? 512
                           : kShape == kGlobal8                ? 16
                                                               : 32;
template <int kShape>
constexpr int kBytesOf = kShape == kGlobal16 || kShape == kGlobal8 ? 4
                         : kShape == kLong64                       ? 8
                                                                   : 16;

/// Row and column of load i of a warp; operand i * 2 / kLoads.
template <int kShape, int kLoads>
__device__ __forceinline__ unsigned offset_of(int i, int warp, int warps, int lane, unsigned pitch) {
  constexpr int kHalf = kLoads / 2 > 0 ? kLoads / 2 : 1;
  const int operand = kLoads > 1 ? i / kHalf : 0, j = i % kHalf, group = warp / 4, mine = warp % 4;
  if constexpr (kShape == kTile || kShape == kAsync)
    return (group * 16 * kHalf + 16 * j + 4 * mine + lane / 8) * pitch + lane % 8 * 16;
  else if constexpr (kShape == kWide)
    return (j * warps + warp) * pitch + lane * 16;
  else {
    const int side = operand == 0 ? mine / 2 : mine % 2;
    const int eight = kShape == kGlobal16 ? j / 2 : j, half = kShape == kGlobal16 ? j % 2 : 0;
    return (group * 64 + side * 32 + 8 * eight + lane / 4) * pitch + half * 16 + lane % 4 * kBytesOf<kShape>;
  }
}
template <int kShape, int kLoads>
int rows_of(int warps) {
  constexpr int kHalf = kLoads / 2 > 0 ? kLoads / 2 : 1;
  if (kShape == kTile || kShape == kAsync) return (warps + 3) / 4 * 16 * kHalf;
  if (kShape == kWide) return warps * kHalf;
  return (warps + 3) / 4 * 64;
}

template <int kShape, int kLoads>
__global__ void __launch_bounds__(544) curve(CurveArgs p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ unsigned hist[kHists * kBins];
  __shared__ unsigned loads_done, last_cycle;
  constexpr int kWidth = kBytesOf<kShape>, kStep = kStepBytes<kShape>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool observer = warp == p.warps;
  for (int i = threadIdx.x; i < kHists * kBins; i += blockDim.x) hist[i] = 0;
  if (threadIdx.x == 0) loads_done = last_cycle = 0;
  unsigned offset[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) offset[i] = offset_of<kShape, kLoads>(i, warp, p.warps, lane, p.pitch);
  const unsigned to = (unsigned)__cvta_generic_to_shared(memory) + warp * kLoads * 512 + lane * 16;
  const unsigned per_row = p.pitch / p.length;
  const int id_a = blockIdx.x / p.share_a, id_b = blockIdx.x % p.ids_b;
  const auto range_begin = [&](int id, int ids) {
    return (unsigned)((unsigned long long)(id % ids) * p.segments / ids);
  };
  const unsigned count_a = max(1U, p.segments / p.ids_a), count_b = max(1U, p.segments / p.ids_b);
  const auto place = [&](unsigned segment) {
    segment %= p.segments;
    return (size_t)(segment / per_row) * p.rows * p.pitch + segment % per_row * p.length;
  };
  const auto add = [&](int which, unsigned cycles) {
    if (lane == 0) atomicAdd(&hist[which * kBins + min(cycles / kBin, kBins - 1U)], 1U);
  };
  // One batch; false in pass 0, which warms up.
  const auto batch = [&](const unsigned char* from_a, const unsigned char* from_b, int flip, bool recorded) {
    const unsigned t0 = clk();
    unsigned t2, t3;
    if constexpr (kShape == kAsync) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const bool b = kLoads > 1 ? i >= kLoads / 2 : flip != 0;
        copy16(to + i * 512, (b ? from_b : from_a) + offset[i]);
        if (i == 0) asm volatile("cp.async.commit_group;" ::: "memory");
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
      asm volatile("cp.async.wait_group 1;" ::: "memory");
      t2 = clk();
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      t3 = clk();
    } else {
      Loaded<kWidth> v[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const bool b = kLoads > 1 ? i >= kLoads / 2 : flip != 0;
        v[i] = fetch<kWidth>((b ? from_b : from_a) + offset[i]);
      }
      wait_for(v[0].v[0]);
      t2 = clk();
      wait_for_all(v);
      t3 = clk();
    }
    if (recorded) {
      add(0, t2 - t0);
      add(1, t3 - t0);
    }
    return t3;
  };
  __syncthreads();
  if (p.warm && !observer) {
    const unsigned begin_a = range_begin(id_a, p.ids_a), begin_b = range_begin(id_b, p.ids_b);
    for (unsigned q = 0; q < max(count_a, count_b) + 1; ++q)
      for (unsigned at = 0; at < p.length; at += kStep) {
        batch(p.operand[0] + place(begin_a + q) + at, p.operand[1] + place(begin_b + q) + at, 0, false);
        if constexpr (kLoads == 1)
          batch(p.operand[0] + place(begin_a + q) + at, p.operand[1] + place(begin_b + q) + at, 1, false);
      }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(p.counter, 1U);
    while (*(volatile unsigned*)p.counter < gridDim.x) {
    }
  }
  __syncthreads();
  const unsigned begin = clk();
  unsigned seed = mixed(blockIdx.x * 64 + (p.burst ? 32 + warp / 4 : warp) + p.begin_at * 977), loads = 0,
           now = begin;
  if (observer) {
    while (now - begin < p.limit) {
      seed = mixed(seed + 1);
      const unsigned char* from = (seed >> 31 ? p.operand[1] : p.operand[0]) +
                                  place((seed >> 3) % p.segments) + (seed & 7) * kStep % p.length;
      const unsigned one = offset_of<kShape, 1>(0, (seed >> 8) % 4, p.warps, lane, p.pitch);
      const unsigned t0 = clk();
      if constexpr (kShape == kAsync) {
        copy16(to, from + one);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
      } else {
        wait_for(load<kWidth>(from + one));
      }
      now = clk();
      add(2, now - t0);
      const unsigned until = 700 + seed % 512;
      while (clk() - now < until) {
      }
    }
  } else {
    bool over = false;
    for (int turn = p.warm; !over; ++turn) {
      const unsigned begin_a = range_begin(id_a + turn * p.rotate, p.ids_a),
                     begin_b = range_begin(id_b + turn * p.rotate, p.ids_b);
      for (unsigned q = 0; q < max(count_a, count_b) && !over; ++q) {
        const unsigned char* from_a = p.operand[0] + place(begin_a + (q + p.begin_at) % count_a);
        const unsigned char* from_b = p.operand[1] + place(begin_b + (q + p.begin_at) % count_b);
        for (unsigned at = 0; at < p.length && !over; at += kStep) {
          over = now - begin >= p.limit;
          if (p.burst) {
            unsigned any;
            asm volatile(
                "{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbar.red.or.pred q, %2, 128, p;\n"
                "selp.u32 %0, 1, 0, q;\n}"
                : "=r"(any)
                : "r"((unsigned)over), "r"(warp / 4 + 1)
                : "memory");
            over = any != 0;
          }
          if (over) break;
          now = batch(from_a + at, from_b + at, at / kStep % 2, true);
          loads += kLoads;
          if (p.pause) {
            seed = mixed(seed + 1);
            const unsigned until = p.pause / 2 + seed % p.pause;
            while (clk() - now < until) {
            }
          }
        }
      }
    }
    if (lane == 0) {
      atomicAdd(&loads_done, loads);
      atomicMax(&last_cycle, clk() - begin);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    p.done[2 * blockIdx.x] = loads_done;
    p.done[2 * blockIdx.x + 1] = last_cycle;
  }
  for (int i = threadIdx.x; i < kHists * kBins; i += blockDim.x)
    if (hist[i]) atomicAdd(&p.hist[i], hist[i]);
}

struct Curve {
  int blocks = 132, mib = 8, share_a = 1, share_b = 1, warps = 4, pause = 0, burst = 0, rotate = 37;
  unsigned pitch = 6144;
};
inline std::string quantiles(const unsigned* hist) {
  unsigned long long all = 0;
  double sum = 0;
  for (int i = 0; i < kBins; ++i) {
    all += hist[i];
    sum += hist[i] * (kBin * (i + 0.5));
  }
  char text[128];
  std::snprintf(text, sizeof text, ",%llu,%.0f", all, all ? sum / all : 0.0);
  std::string line = text;
  for (const double at : {0.02, 0.1, 0.5, 0.9, 0.98}) {
    unsigned long long seen = 0;
    int i = 0;
    for (; i < kBins - 1 && (seen += hist[i]) < at * all; ++i) {
    }
    std::snprintf(text, sizeof text, ",%d", i * kBin + kBin / 2);
    line += text;
  }
  return line;
}
inline unsigned char* matrix(int which) {
  static unsigned char* at[3] = {};
  if (!at[which]) {
    CK(cudaMalloc(&at[which], 160 << 20));
    CK(cudaMemset(at[which], 0, 160 << 20));
  }
  return at[which];
}

template <int kShape, int kLoads>
void run_curve(const Curve& c) {
  static unsigned* results = nullptr;
  static unsigned launches = 0;
  if (!results) {
    CK(cudaMalloc(&results, (kHists * kBins + 1 + 2 * 132) * 4));
    CK(cudaFuncSetAttribute((const void*)curve<kShape, kLoads>,
                            cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    CK(cudaFuncSetAttribute((const void*)curve<kShape, kLoads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            kDynamic));
  }
  CurveArgs p{};
  p.operand[0] = matrix(0);
  p.operand[1] = matrix(1);
  p.pitch = c.pitch;
  p.rows = rows_of<kShape, kLoads>(c.warps);
  p.length = kShape == kWide ? 512 : 1024;
  p.segments = (unsigned)(((size_t)c.mib << 19) / ((size_t)p.rows * p.pitch) * (p.pitch / p.length));
  if (p.segments < 8) return;
  p.warps = c.warps;
  p.share_a = c.share_a;
  p.ids_a = 132 / c.share_a;
  p.ids_b = 132 / c.share_b;
  p.rotate = c.rotate;
  p.pause = c.pause;
  p.burst = c.burst;
  p.warm = c.mib < 200;
  p.limit = 200000;
  p.begin_at = p.warm ? 0 : mixed(++launches) % 4096;
  p.hist = results;
  p.counter = results + kHists * kBins;
  p.done = p.counter + 1;
  CK(cudaMemset(results, 0, (kHists * kBins + 1 + 2 * 132) * 4));
  if (!p.warm) touch<<<528, 512>>>(matrix(2), 128UL << 20, results);  // nothing of before is left in L2
  curve<kShape, kLoads><<<c.blocks, 32 * (c.warps + 1), kDynamic>>>(p);
  CK(cudaGetLastError());
  std::vector<unsigned> v(kHists * kBins + 1 + 2 * 132);
  CK(cudaMemcpy(v.data(), results, v.size() * 4, cudaMemcpyDeviceToHost));
  double rate = 0;
  for (int b = 0; b < c.blocks; ++b) {
    const unsigned* at = &v[kHists * kBins + 1 + 2 * b];
    rate += 32.0 * kBytesOf<kShape> * at[0] / std::max(1U, at[1]);
  }
  std::printf("%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%u,%u,%.2f%s%s%s\n", kShapeNames[kShape], c.blocks, c.mib,
              c.share_a, c.share_b, kLoads, c.warps, c.pause, c.burst, c.rotate, c.pitch, p.segments,
              rate / c.blocks, quantiles(&v[0]).c_str(), quantiles(&v[kBins]).c_str(),
              quantiles(&v[2 * kBins]).c_str());
}
template <int kShape>
void run_curves(const Curve& c, int loads) {
  if (loads == 1) run_curve<kShape, 1>(c);
  if (loads == 2) run_curve<kShape, 2>(c);
  if (loads == 4) run_curve<kShape, 4>(c);
  if (loads == 8) run_curve<kShape, 8>(c);
  if (loads == 16) run_curve<kShape, 16>(c);
}
inline void curves() {
  std::printf(
      "shape,blocks,mib,share_a,share_b,loads,warps,pause,burst,rotate,pitch,segments,bytes_per_clk_sm");
  for (const char* what : {"first", "all", "observer"})
    std::printf(",%s_count,%s_mean,%s_p2,%s_p10,%s_p50,%s_p90,%s_p98", what, what, what, what, what, what,
                what);
  std::printf("\n");
  const int mibs[] = {8, 16, 24, 32, 40, 48, 256};
  Curve c;
  for (int mib : mibs)
    for (int shared : {0, 1})
      for (int warps : {4, 8, 16}) {
        c = {};
        c.mib = mib;
        c.share_a = shared ? 11 : 1;
        c.share_b = shared ? 12 : 1;
        c.warps = warps;
        for (int loads : {1, 2, 4, 8, 16})
          for (int pause : {0, 400, 1500, 5000})
            for (int burst : {0, 1}) {
              c.pause = pause;
              c.burst = burst;
              run_curves<kTile>(c, loads);
              run_curves<kAsync>(c, loads);
            }
        c.burst = 0;
        for (int loads : {4, 8, 16})
          for (int pause : {0, 400, 1500}) {
            c.pause = pause;
            run_curves<kGlobal16>(c, loads);
            if (loads < 16) run_curves<kGlobal8>(c, loads);
            if (loads < 16) run_curves<kLong64>(c, loads);
            run_curves<kWide>(c, loads);
          }
      }
  // One multiprocessor alone; the same multiprocessor reads again; how far apart rows are.
  for (int mib : {8, 24, 32, 48, 256})
    for (int warps : {4, 16})
      for (int loads : {1, 4, 8, 16})
        for (int pause : {0, 1500}) {
          c = {};
          c.mib = mib;
          c.warps = warps;
          c.pause = pause;
          for (int kind : {0, 1, 2}) {
            c.blocks = kind == 0 ? 1 : kind == 1 ? 132 : 33;
            c.rotate = kind == 1 ? 0 : 37;
            run_curves<kTile>(c, loads);
            run_curves<kAsync>(c, loads);
            if (loads == 8) run_curves<kGlobal16>(c, loads);
            if (loads == 8) run_curves<kGlobal8>(c, loads);
          }
        }
  for (unsigned pitch : {3072U, 4096U, 5120U, 8192U, 10240U, 12288U, 16384U})
    for (int mib : {24, 48, 256})
      for (int pause : {0, 400}) {
        c = {};
        c.mib = mib;
        c.warps = 8;
        c.pause = pause;
        c.pitch = pitch;
        run_curves<kTile>(c, 8);
        run_curves<kAsync>(c, 8);
        run_curves<kGlobal16>(c, 16);
        run_curves<kGlobal8>(c, 8);
      }
}

}  // namespace loaded
