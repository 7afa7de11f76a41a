// The functions that CUDA calls DPX: greatest or least of two or three numbers or of a sum, in hardware from
// Hopper on; and the same in plain C++.
#include <array>
#include <utility>

#include "mmaudit/fragment.hpp"
#include "sweeps/dpx/functions.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/rows.hpp"
#ifdef __CUDACC__
#include "ptx/line.cuh"
#endif

namespace mmaudit::sweeps {

/// A chain r = f(r, b, the r before) of a function by its index in kDpxFunctions; kPlain: in plain C++.
template <int kIndex, bool kPlain>
struct Dpx;

namespace {

constexpr int kCopies = 16;
constexpr int kFunctions = static_cast<int>(std::size(kDpxFunctions));
/// Operands that a chain takes in turn.
constexpr int kOperands = 4;
constexpr int kMostChains = 4, kDpxWords = kMostChains + 2;

MMAUDIT_HD constexpr std::uint32_t operand(int lane, int which) {
  std::uint32_t value =
      (static_cast<std::uint32_t>(lane) * 16 + static_cast<std::uint32_t>(which) + 1) * 0x9E3779B9U;
  value ^= value >> 15;
  return value * 0x85EBCA77U;
}

constexpr bool is_two(DpxOperands operands) { return operands == DpxOperands::two; }
/// Of two operands alone, each value is used a second time: else two functions become one of three operands.
MMAUDIT_HD constexpr std::uint32_t used(std::uint32_t total, std::uint32_t value) {
  return total * 0x01000193U + value;
}

}  // namespace

#ifdef __CUDACC__

template <int kIndex>
struct DpxCall;
#define MMAUDIT_DPX_CALL_two(NAME) \
  return { static_cast<std::uint32_t>(__##NAME(a, b)), 0 }
#define MMAUDIT_DPX_CALL_three(NAME) \
  return { static_cast<std::uint32_t>(__##NAME(a, b, c)), 0 }
#define MMAUDIT_DPX_CALL_sum(NAME) \
  return { static_cast<std::uint32_t>(__##NAME(a, b, c)), 0 }
#define MMAUDIT_DPX_WHICH_s32(NAME)                                      \
  bool first = false;                                                    \
  const auto value = static_cast<std::uint32_t>(__##NAME(a, b, &first)); \
  return { value, first ? 1U : 0U }
#define MMAUDIT_DPX_WHICH_u32(NAME) MMAUDIT_DPX_WHICH_s32(NAME)
#define MMAUDIT_DPX_WHICH_s16x2(NAME)                                         \
  bool high = false, low = false;                                             \
  const auto value = static_cast<std::uint32_t>(__##NAME(a, b, &high, &low)); \
  return { value, (low ? 1U : 0U) + (high ? 2U : 0U) }
#define MMAUDIT_DPX_WHICH_u16x2(NAME) MMAUDIT_DPX_WHICH_s16x2(NAME)
#define MMAUDIT_DPX_BODY_two(NAME, TYPE) MMAUDIT_DPX_CALL_two(NAME)
#define MMAUDIT_DPX_BODY_three(NAME, TYPE) MMAUDIT_DPX_CALL_three(NAME)
#define MMAUDIT_DPX_BODY_sum(NAME, TYPE) MMAUDIT_DPX_CALL_sum(NAME)
#define MMAUDIT_DPX_BODY_which(NAME, TYPE) MMAUDIT_DPX_WHICH_##TYPE(NAME)
#define MMAUDIT_DPX_LINE(INDEX, NAME, OPERANDS, TYPE, GREATEST, RELU)                                      \
  template <>                                                                                              \
  struct DpxCall<INDEX> {                                                                                  \
    static constexpr bool kTwo = is_two(DpxOperands::OPERANDS);                                            \
    static __device__ __forceinline__ DpxResult call(std::uint32_t a, std::uint32_t b, std::uint32_t c) {  \
      MMAUDIT_DPX_BODY_##OPERANDS(NAME, TYPE);                                                             \
    }                                                                                                      \
    static __device__ __forceinline__ DpxResult plain(std::uint32_t a, std::uint32_t b, std::uint32_t c) { \
      return dpx_plain(DpxOperands::OPERANDS, DpxType::TYPE, GREATEST, RELU, a, b, c);                     \
    }                                                                                                      \
  };
MMAUDIT_DPX_FUNCTIONS(MMAUDIT_DPX_LINE)

template <int kIndex, bool kPlain>
struct Dpx : WarpBody<true, 1024> {
  template <int kChains>
  struct Chains {
    static constexpr bool kTwo = DpxCall<kIndex>::kTwo;
    std::uint32_t r[kChains], before[kChains], b[kOperands], first[kChains] = {};

    static __device__ __forceinline__ DpxResult call(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      if constexpr (kPlain)
        return DpxCall<kIndex>::plain(a, b, c);
      else
        return DpxCall<kIndex>::call(a, b, c);
    }
    __device__ __forceinline__ Chains(const TimedArgs&, const Place& at) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) {
        r[chain] = operand(at.lane, chain);
        before[chain] = operand(at.lane, kMostChains + chain);
      }
#pragma unroll
      for (int i = 0; i < kOperands; ++i) b[i] = operand(at.lane, 2 * kMostChains + i);
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      repeat<kChains, kTurn>(steps, [this](int copy, int chain) {
        const DpxResult result = call(r[chain], b[copy % kOperands], before[chain]);
        before[chain] = r[chain];
        r[chain] = result.value;
        first[chain] = kTwo ? used(first[chain], result.value) : first[chain] + result.first;
      });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      auto* out = static_cast<std::uint32_t*>(args.d) + (at.slot * 32 + at.lane) * kDpxWords;
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) out[chain] = r[chain];
      out[kMostChains] = 0;
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) out[kMostChains] += first[chain];
      std::uint32_t folded = 0;
#pragma unroll 1
      for (int triple = at.lane; triple < kDpxTriples; triple += 32)
        folded =
            dpx_fold(folded, call(dpx_edge(triple / (kDpxEdges * kDpxEdges)),
                                  dpx_edge(triple / kDpxEdges % kDpxEdges), dpx_edge(triple % kDpxEdges)));
      out[kMostChains + 1] = folded;
      return false;
    }
  };
};

#endif

namespace {

template <int kIndex, bool kPlain>
TimedKernel dpx_kernel(const Point& point) {
  const auto make = [&]<int kChains>() { return timed_kernel<Dpx<kIndex, kPlain>, kChains, kCopies>(); };
#ifdef MMAUDIT_CENSUS
  return kernel_for<1>(point.number("ilp"), make);
#else
  return kernel_for<1, 4>(point.number("ilp"), make);
#endif
}

/// What a lane writes: the end of each chain, how often a was chosen, and the edges.
std::array<std::uint32_t, kDpxWords> right_words(const DpxFunction& function, int lane, int chains,
                                                 int steps) {
  std::array<std::uint32_t, kDpxWords> right = {};
  for (int chain = 0; chain < chains; ++chain) {
    std::uint32_t r = operand(lane, chain), before = operand(lane, kMostChains + chain), first = 0;
    for (int step = 0; step < steps; ++step) {
      const DpxResult result = dpx(function, r, operand(lane, 2 * kMostChains + step % kOperands), before);
      before = r;
      r = result.value;
      first = is_two(function.operands) ? used(first, r) : first + result.first;
    }
    right[kMostChains] += first;
    right[static_cast<std::size_t>(chain)] = r;
  }
  for (int triple = lane; triple < kDpxTriples; triple += kWarpLanes)
    right[kMostChains + 1] = dpx_fold(
        right[kMostChains + 1], dpx(function, dpx_edge(triple / (kDpxEdges * kDpxEdges)),
                                    dpx_edge(triple / kDpxEdges % kDpxEdges), dpx_edge(triple % kDpxEdges)));
  return right;
}

void check_lanes(const DpxFunction& function, const std::vector<std::byte>& seen, int chains, int steps,
                 Measurement& out) {
  using Words = std::array<std::uint32_t, kDpxWords>;
  std::vector<Words> right;
  for (int lane = 0; lane < kWarpLanes; ++lane) right.push_back(right_words(function, lane, chains, steps));
  std::size_t lane = 0;
  for (const Words& found : results_in<Words>(seen)) {
    const Words& expected = right[lane++ % right.size()];
    for (std::size_t word = 0; word < found.size(); ++word)
      if (word < static_cast<std::size_t>(chains) || word >= kMostChains)
        out.compare(found[word] == expected[word]);
  }
}

/// Packed functions compute two results.
int results_of(const DpxFunction& function) {
  return function.type == DpxType::s16x2 || function.type == DpxType::u16x2 ? 2 : 1;
}

template <int kIndex, bool kPlain>
Benchmark dpx_benchmark() {
  constexpr const DpxFunction& kFunction = kDpxFunctions[kIndex];
  Benchmark benchmark;
  benchmark.name = std::string(kFunction.name) + (kPlain ? "+plain" : "");
  benchmark.family = kPlain ? "DPX functions in plain C++" : "DPX functions";
  benchmark.place = kPlain ? 310 : 300;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kIlpAxis};
  // Whether it is a makes ptxas compare and select.
  benchmark.sass = {{"VIMNMX", "VIADDMNMX", "VIMNMX3", "IMNMX"}, kPlain ? 0.0 : 1.0};
  if (kFunction.operands == DpxOperands::which) benchmark.sass.opcodes.push_back("SEL");
  benchmark.exists = [](const Point& point) {
    const int warps = point.number("warps"), ilp = point.number("ilp");
    return (warps == 1 && ilp == 1) || ((warps == 8 || warps == 16 || warps == 32) && (ilp == 1 || ilp == 4));
  };
  benchmark.work = [](const Point& point) {
    return Work{.operations = 1.0 * results_of(kFunction) * kWarpLanes * point.number("warps") *
                              std::max(1, point.number("ilp"))};
  };
  benchmark.kernel = dpx_kernel<kIndex, kPlain>;
  benchmark.setup = [](const Point& point, Workbench*) {
    Setup setup;
    setup.slot_bytes = kWarpLanes * kDpxWords * sizeof(std::uint32_t);
    const int ilp = std::max(1, point.number("ilp"));
    setup.check = [=](const ReadResult& read, int, int steps, Measurement& out) {
      check_lanes(kFunction, read(), ilp, steps, out);
    };
    return setup;
  };
  return benchmark;
}

#ifndef MMAUDIT_CENSUS

constexpr AxisSpec kBlocksAxis =
    number_axis("blocks", 1, 1024, "[1,33,66,99,132,133,165,198,231,264,265,297,330,363,396,397]",
                "[66,132,133,264,265]", "blocks of 32 warps, one at a time on a multiprocessor");

/// The rate of many blocks, one at a time on a multiprocessor.
Benchmark waves() {
  constexpr int kIndex = 14;  // viaddmax_s16x2
  static_assert(kDpxFunctions[kIndex].name == "viaddmax_s16x2");
  Benchmark benchmark = dpx_benchmark<kIndex, false>();
  benchmark.name += "+waves";
  benchmark.family = "DPX functions in waves of blocks";
  benchmark.place = 320;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kBlocksAxis};
  benchmark.exists = [](const Point& point) { return point.number("warps") == 32; };
  benchmark.kernel = [](const Point&) { return timed_kernel<Dpx<kIndex, false>, 1, kCopies>(); };
  benchmark.setup = [setup = benchmark.setup](const Point& point, Workbench* bench) {
    constexpr int kMoreThanHalf = 120 << 10;
    Setup all = setup(point, bench);
    all.shared_bytes = kMoreThanHalf;
    all.placement.blocks = point.number("blocks");
    return all;
  };
  return benchmark;
}

#endif

template <int... kIndices>
std::vector<Benchmark> all_of(std::integer_sequence<int, kIndices...>) {
#ifdef MMAUDIT_CENSUS
  return {dpx_benchmark<kIndices, false>()...};
#else
  return {dpx_benchmark<kIndices, false>()..., dpx_benchmark<kIndices, true>()..., waves()};
#endif
}

}  // namespace

std::vector<Benchmark> benchmark_dpx() { return all_of(std::make_integer_sequence<int, kFunctions>()); }

}  // namespace mmaudit::sweeps
