#pragma once
// Bodies of kernels that time loads of global memory.
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/global_memory.hpp"
#include "sweeps/memory/ring.hpp"
#ifdef __CUDACC__
#include "ptx/global_memory.cuh"
#endif

namespace mmaudit::sweeps {

#ifdef __CUDACC__

/// A line of a ring.
struct RingLine {
  std::uint64_t next;   ///< address of the next line
  std::uint32_t place;  ///< of this one
};

__device__ __forceinline__ std::uint64_t ring_address(const TimedArgs& args, std::uint32_t line) {
  return reinterpret_cast<std::uint64_t>(args.memory) + std::uint64_t{line} * kLineBytes;
}

/// Each line of args.memory gets the address of the next one.
static __global__ void fill_ring(const TimedArgs args) {
  const auto lines = static_cast<std::uint32_t>(args.memory_bytes / kLineBytes);
  for (std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x; place < lines;
       place += gridDim.x * blockDim.x) {
    auto* line = reinterpret_cast<RingLine*>(ring_address(args, line_at(place, lines)));
    line->next = ring_address(args, line_at(place + 1 == lines ? 0 : place + 1, lines));
    line->place = place;
  }
}

/// Every lane of a warp calls this: a read of every sector of a footprint that a cache may hold. A copy needs
/// whole lines, and a cache fetches only the sectors that are read. What it returns must be used, or nothing
/// is read. It is never 1 where the first word of each line is an address: a lane reads whole lines.
template <device::Cached kCached>
__device__ __forceinline__ std::uint64_t warm_up(const TimedArgs& args, int lane) {
  std::uint64_t seen = 0;
  if (args.memory_bytes > kWarmedBytes) return seen;
  const auto lines = static_cast<std::uint32_t>(args.memory_bytes / kLineBytes);
#pragma unroll 4
  for (auto line = static_cast<std::uint32_t>(lane); line < lines; line += 32)
#pragma unroll
    for (std::uint32_t byte = 0; byte < kLineBytes; byte += kSectorBytes)
      seen |= device::load_address<kCached>(ring_address(args, line) + byte);
  return seen;
}

__device__ __forceinline__ std::uint32_t place_of(std::uint64_t address) {
  return reinterpret_cast<const RingLine*>(address)->place;
}

/// A place that differs from run to run: lines that a former run loaded are not likely to be loaded again.
__device__ __forceinline__ std::uint32_t some_place(std::uint32_t lines) {
  return scrambled(static_cast<std::uint32_t>(read_nanoseconds() >> 5), 31) % lines;
}

/// The clock once a word, which is never 0, is there: the reading needs it.
__device__ __forceinline__ std::uint32_t clock_after(std::uint64_t word) {
  std::uint32_t now = 0;
  asm volatile(
      "{\n"
      ".reg .pred never;\n"
      "setp.eq.u64 never, %1, 0;\n"
      "@!never mov.u32 %0, %%clock;\n"
      "}"
      : "+r"(now)
      : "l"(word)
      : "memory");
  return now;
}

inline void fill_with_ring(const TimedArgs& args) { fill_ring<<<1024, 256>>>(args); }

#else
inline constexpr std::nullptr_t fill_with_ring = nullptr;
#endif

/// A chase through a ring of so much memory; each slot writes a Result, which is a ChaseResult or more.
template <typename Result>
Setup chase_setup(std::size_t memory_bytes) {
  const auto lines = static_cast<std::uint32_t>(memory_bytes / kLineBytes);
  return {.slot_bytes = sizeof(Result),
          .memory_bytes = memory_bytes,
          .fill = fill_with_ring,
          .check = each_result<Result>([lines](const Result& found, std::size_t, int steps) {
            return went_round(found, lines, steps);
          })};
}

}  // namespace mmaudit::sweeps
