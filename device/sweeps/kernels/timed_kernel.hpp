#pragma once
// What a timed kernel is told, what it writes, and the table of timed kernels. Operands are register and
// shared-memory images made on the host (images.hpp): a kernel only copies them.
#include <cstdint>
#include <span>
#include <string_view>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::sweeps {

/// Written by the first lane of every warp (wgmma: warpgroup).
struct Stamp {
  std::int64_t clock_enter = 0;                 ///< %clock64 beside time_begin
  std::int64_t clock_begin = 0, clock_end = 0;  ///< %clock64, cycles of this multiprocessor, around the loop
  std::uint64_t time_begin = 0, time_end = 0;   ///< %globaltimer, nanoseconds
  std::uint32_t multiprocessor = 0;             ///< %smid
  std::uint32_t chains_differ = 0;              ///< not 0: the independent chains ended in different bits
};

struct TimedArgs {
  const void* a = nullptr;  ///< (tiles) images of A; loads: unused
  const void* b = nullptr;
  const void* c = nullptr;
  const void* metadata = nullptr;  ///< sparse: a register for every lane of a tile's warp or warpgroup
  void* d = nullptr;               ///< an image of D for every warp or warpgroup of the grid
  Stamp* stamps = nullptr;
  int tiles = 0;       ///< warp w of a block takes tile w % tiles
  int iterations = 0;  ///< steps of every chain, a multiple of kStepMultiple
  int stride = 0;      ///< loads: bytes between the addresses of neighbouring lanes
};

/// Steps are unrolled so often at most.
inline constexpr int kStepMultiple = 8;

struct TimedKernel {
  Instruction instruction;        ///< n filled in
  int ilp = 1;                    ///< independent chains of a warp
  bool a_from_registers = false;  ///< wgmma only
  int group = 1;                  ///< wgmma only: instructions between two commits
  int promote = 0;                ///< k after which the sum is added to a binary32 total; 0: never
  void (*launch)(const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) = nullptr;
  const void* function = nullptr;  ///< to ask the runtime about it
};

/// A load or store of shared memory, ldmatrix or wmma's.
struct TimedLoad {
  std::string_view name;  ///< of the subject
  int ilp = 1;
  void (*launch)(const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared) = nullptr;
  const void* function = nullptr;
};

inline constexpr int kMostIlp = 6;

/// Of a line of ptx/ or a chain; evaluated here because device code can't call the function.
template <typename Line>
inline constexpr bool kSparse = is_sparse(Line::kInstruction.op);

std::span<const TimedKernel> timed_mma_f16();
std::span<const TimedKernel> timed_mma_tf32();
std::span<const TimedKernel> timed_mma_fp8();
std::span<const TimedKernel> timed_mma_f64();
std::span<const TimedKernel> timed_mma_i8();
std::span<const TimedKernel> timed_mma_i4();
std::span<const TimedKernel> timed_mma_b1();
std::span<const TimedKernel> timed_mma_sp_f16();  // tf32 too
std::span<const TimedKernel> timed_mma_sp_narrow();
std::span<const TimedKernel> timed_wmma();
std::span<const TimedKernel> timed_wgmma_f16();
std::span<const TimedKernel> timed_wgmma_half();  // binary16 accumulators
std::span<const TimedKernel> timed_wgmma_bf16();
std::span<const TimedKernel> timed_wgmma_tf32();
std::span<const TimedKernel> timed_wgmma_fp8();
std::span<const TimedKernel> timed_wgmma_int();
std::span<const TimedKernel> timed_wgmma_promoted();
std::span<const TimedKernel> timed_wgmma_sp_f16();  // tf32 too
std::span<const TimedKernel> timed_wgmma_sp_narrow();

std::span<const TimedLoad> timed_loads();
std::span<const TimedLoad> timed_wmma_loads();

}  // namespace mmaudit::sweeps
