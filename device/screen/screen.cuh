#pragma once
// The screening kernel around a Body of the sweeps: load a tile, run chains, make the checksum of every
// accumulator, compare it with the model's.
#include "mmaudit/fragment.hpp"
#include "screen/kernel.hpp"
#include "sweeps/engine/timed.cuh"

namespace mmaudit::screen {

#ifdef __CUDACC__

/// visit(number, word) for each 32-bit word of the registers, which may change it.
template <typename Register, int kRegisters, typename Visit>
__device__ __forceinline__ void for_each_word(Register (&d)[kRegisters], const Visit& visit, int first = 0) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    if constexpr (sizeof(Register) == sizeof(std::uint64_t)) {
      auto low = static_cast<std::uint32_t>(d[i]), high = static_cast<std::uint32_t>(d[i] >> 32U);
      visit(first + 2 * i, low);
      visit(first + 2 * i + 1, high);
      d[i] = std::uint64_t{high} << 32U | low;
    } else {
      visit(first + i, d[i]);
    }
  }
}
template <typename Register, int kChains, int kRegisters, typename Visit>
__device__ __forceinline__ void for_each_word(Register (&d)[kChains][kRegisters], const Visit& visit) {
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain)
    for_each_word(d[chain], visit, chain * kRegisters * static_cast<int>(sizeof(Register) / 4));
}

/// Waits for the warps of a slot: named barriers, so that the slots of a block stay out of step and one folds
/// while another multiplies.
template <int kLanes>
__device__ __forceinline__ void meet(int slot) {
  if constexpr (kLanes == kWarpLanes)
    __syncwarp();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(slot + 1), "n"(kLanes) : "memory");
}

/// Every multiprocessor waits on the same clock, so that all are busy and idle together.
__device__ __forceinline__ void wait_for_burst(std::uint64_t period) {
  while (period != 0 && sweeps::read_nanoseconds() % period >= period / 2) __nanosleep(100);
}

#ifdef MMAUDIT_SCREEN_INJECTION
inline constexpr bool kInjects = true;
#else
inline constexpr bool kInjects = false;
#endif

/// Which tile a slot loads, and where. A streaming feed counts its tiles itself.
struct Turn {
  int round, tile;
  std::uint32_t multiprocessor;
};

/// Whether the injected fault is one of this kind, on this multiprocessor, at the chain or tile of this
/// number.
__device__ __forceinline__ bool strikes(const Injection& one, FaultKind fault, std::uint32_t multiprocessor,
                                        std::uint64_t number) {
  return one.every != 0 && one.fault == fault &&
         multiprocessor == static_cast<std::uint32_t>(one.multiprocessor) &&
         number % one.every == one.every - 1;
}

/// Flips bits of a word of shared memory, also for what reads it past the warps.
__device__ __forceinline__ void spoil_shared(unsigned char* shared, std::uint32_t bytes,
                                             const Injection& one) {
  reinterpret_cast<std::uint32_t*>(shared)[static_cast<std::uint32_t>(one.word) % (bytes / 4)] ^= one.flips;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The Chains of a Body, with a tile.
template <typename Body, int kChains>
__device__ __forceinline__ auto chains_of(const ScreenArgs& args, const sweeps::Place& at, const Turn& turn) {
  using Chains = typename Body::template Chains<kChains>;
  if constexpr (requires { Body::kStreams; }) {
    return Chains(args, at, turn);
  } else {
    int from = turn.tile;  // of the image
    if constexpr (kInjects) {
      const std::uint64_t load = args.first_chain / static_cast<std::uint64_t>(args.chains) + turn.round;
      if (strikes(args.injection, FaultKind::load, turn.multiprocessor, load)) from += args.operands.tiles;
    }
    sweeps::TimedArgs operands = args.operands;
    operands.a = static_cast<const char*>(operands.a) + static_cast<std::size_t>(from) * args.a_bytes;
    operands.b = static_cast<const char*>(operands.b) + static_cast<std::size_t>(from) * args.b_bytes;
    operands.metadata =
        static_cast<const std::uint32_t*>(operands.metadata) + turn.tile * static_cast<int>(Body::kLanes);
    operands.tiles = 1;
    return Chains(operands, at);
  }
}

/// kChains and kCopies as sweeps::timed().
template <typename Body, int kChains, int kCopies>
__global__ void __launch_bounds__(Body::kMostThreads) screened(const ScreenArgs args) {
  if constexpr (!Body::kExists) {
    __trap();
  } else {
    constexpr int kLanes = Body::kLanes;
    const int in_block = static_cast<int>(threadIdx.x) / kLanes,
              lane = static_cast<int>(threadIdx.x) % kLanes;
    const sweeps::Place at = {.lane = lane,
                              .in_block = in_block,
                              .slot = static_cast<int>(blockIdx.x * blockDim.x) / kLanes + in_block};
    sweeps::Stamp stamp;
    sweeps::start(stamp);
    if constexpr (kLanes == kWarpgroupLanes) {
      // Slots that start together end their chains together, and no slot multiplies while they make
      // checksums. The hardware shares the tensor cores evenly, so a distance at the start stays.
      constexpr int kCyclesPerStep = 128;
      while (sweeps::read_clock() - stamp.clock_begin < in_block * args.operands.steps * kCyclesPerStep / 2) {
      }
    }
    std::uint32_t wrong = 0;
    for (int round = 0; round < args.rounds; ++round) {
      int tile = (round + in_block) % args.operands.tiles;
      const Turn turn{round, tile, stamp.multiprocessor};
      meet<kLanes>(in_block);
      auto chains = chains_of<Body, kChains>(args, at, turn);
      meet<kLanes>(in_block);
      if constexpr (kInjects && !requires { Body::kStreams; }) {
        extern __shared__ __align__(128) unsigned char tiles[];
        const std::uint64_t load = args.first_chain / static_cast<std::uint64_t>(args.chains) + round;
        if (args.slot_bytes != 0 && strikes(args.injection, FaultKind::shared, stamp.multiprocessor, load)) {
          if (lane == 0) spoil_shared(tiles + in_block * args.slot_bytes, args.slot_bytes, args.injection);
          meet<kLanes>(in_block);
        }
      }
      std::uint64_t expected = args.expected[tile * kLanes + lane];
      for (int i = 0; i < args.chains; ++i) {
        if constexpr (requires { Body::kStreams; }) {
          tile = chains.begin_chain();
          expected = args.expected[tile * kLanes + lane];
        }
        wait_for_burst(args.burst_nanoseconds);
        for_each_word(chains.d, [](int, std::uint32_t& word) { word = 0; });
        int steps = args.operands.steps;
        if constexpr (kInjects) {
          const Injection& one = args.injection;
          if (strikes(one, FaultKind::accumulator, stamp.multiprocessor,
                      args.first_chain + static_cast<std::uint64_t>(round * args.chains + i))) {
            chains.template run<kCopies>(steps / 2);
            steps -= steps / 2;
            const bool here = static_cast<int>(threadIdx.x) / kWarpLanes % 4 == one.subcore &&
                              lane % kWarpLanes == one.lane;
            for_each_word(chains.d, [&](int number, std::uint32_t& word) {
              word ^= here && number == one.word ? one.flips : 0;
            });
          }
        }
        chains.template run<kCopies>(steps);
        std::uint64_t halves[2] = {};  // two sums: half the latency
        for_each_word(chains.d, [&](int number, std::uint32_t word) {
          halves[number % 2] = add_to_checksum(halves[number % 2], number, word);
        });
        const std::uint64_t sum = halves[0] + halves[1];
        if (sum == expected) continue;
        ++wrong;
        const std::uint32_t place = atomicAdd(args.count, 1U);
        if (place >= kMostCaught) continue;
        Caught& caught = args.caught[place];
        caught.multiprocessor = stamp.multiprocessor;
        caught.warp = threadIdx.x / kWarpLanes;
        caught.lane = static_cast<std::uint32_t>(lane);
        caught.tile = static_cast<std::uint32_t>(tile);
        caught.nanoseconds = sweeps::read_nanoseconds();
        for_each_word(chains.d, [&](int number, std::uint32_t word) { caught.words[number] = word; });
      }
    }
    sweeps::stop(stamp);
    stamp.chains_differ = __any_sync(~0U, wrong != 0 ? 1 : 0) != 0 ? 1 : 0;
    if (lane == 0) args.operands.stamps[at.slot] = stamp;
  }
}

#endif

/// The kernel of a Body: `warps` per block.
template <typename Body, int kChains, int kCopies>
ScreenKernel screening_kernel(const Instruction& instruction, bool registers, int warps, int slot_bytes) {
  ScreenKernel kernel{.instruction = instruction,
                      .registers = registers,
                      .threads = warps * kWarpLanes,
                      .slots = warps * kWarpLanes / lanes_of(instruction),
                      .copies = kChains,
                      .slot_bytes = slot_bytes};
#ifdef __CUDACC__
  kernel.launch = [](const ScreenArgs& args, unsigned blocks, unsigned threads, unsigned shared) {
    screened<Body, kChains, kCopies><<<blocks, threads, shared>>>(args);
  };
  kernel.function = reinterpret_cast<const void*>(screened<Body, kChains, kCopies>);
#endif
  return kernel;
}

}  // namespace mmaudit::screen
