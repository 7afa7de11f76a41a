#pragma once
// What a timed kernel is told and what it writes.
#include <cstddef>
#include <cstdint>
#include <string>

namespace mmaudit::sweeps {

/// Written by the first lane of each slot: a warp, or the warps that run one instruction together.
struct Stamp {
  std::int64_t clock_enter = 0;                 ///< %clock64 beside time_begin
  std::int64_t clock_begin = 0, clock_end = 0;  ///< %clock64, cycles of this multiprocessor, around the loop
  std::uint64_t time_begin = 0, time_end = 0;   ///< %globaltimer, nanoseconds
  std::uint32_t multiprocessor = 0;             ///< %smid
  std::uint32_t chains_differ = 0;              ///< not 0: the independent chains ended in different bits
};

/// Operands are images made on the host: a kernel only copies them.
struct TimedArgs {
  const void* a = nullptr;  ///< `tiles` images of A; null where a benchmark has no operands
  const void* b = nullptr;
  const void* c = nullptr;
  const void* metadata = nullptr;  ///< of a sparse instruction: a register for each lane of a slot
  void* d = nullptr;               ///< the result of each slot of the grid
  Stamp* stamps = nullptr;         ///< of each slot of the grid
  int tiles = 0;                   ///< slot s of a block takes tile s % tiles
  int steps = 0;                   ///< of each chain, a multiple of 128
  int parameter = 0;               ///< whatever the benchmark passes to its kernel
  void* memory = nullptr;          ///< global memory that Setup asks for
  std::size_t memory_bytes = 0;
  std::uint32_t launch = 0;  ///< number of this launch since memory was filled, from 1
};

/// A kernel of a point. A build without CUDA knows its symbol alone.
struct TimedKernel {
  /// The template arguments of timed<...>, as a demangled symbol spells them: "Mma<Mma_m16n8k8>, 1, 16".
  /// Body, chains, and steps per turn of the loop. Empty: there is no such kernel.
  std::string symbol;
  void (*launch)(const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) = nullptr;
  const void* function = nullptr;  ///< to ask the runtime about it
};

}  // namespace mmaudit::sweeps
