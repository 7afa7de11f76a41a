#pragma once
// What a screening kernel is told and what it writes, and the list of kernels.
#include <cstdint>
#include <vector>

#include "mmaudit/config.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/screen/checksum.hpp"
#include "mmaudit/screen/screen.hpp"
#include "mmaudit/sweeps/timed_kernel.hpp"

namespace mmaudit::screen {

/// One thread's accumulators after a chain, where their checksum was wrong.
struct Caught {
  std::uint32_t multiprocessor = 0, warp = 0, lane = 0;  ///< warp: of the block; lane: of the slot
  std::uint32_t tile = 0;
  std::uint64_t nanoseconds = 0;  ///< %globaltimer
  std::uint32_t words[kMostWords] = {};
};

inline constexpr std::uint32_t kMostCaught = 256;  ///< kept of one launch; all are counted

/// Copies of all tiles, A before B, that a kernel with a streaming feed reads one after another.
struct Stream {
  const void* tiles = nullptr;  ///< copy after copy; behind the last one that a fault would deliver
  const void* map = nullptr;    ///< the same as a tensor of lines of kStreamLine bytes; null: copied as bytes
  std::uint32_t copies = 0;     ///< of all tiles
};
inline constexpr int kStreamLine = 128;

/// Which tile a slot's copy of this number brings where the feed streams. Each chain has another tile than
/// the chain before, and a stage is free again after one chain: so each copy replaces another tile, and one
/// that brings nothing, or not all, leaves a wrong tile.
MMAUDIT_HD constexpr std::uint32_t streamed_tile(std::uint32_t slot, std::uint32_t copy,
                                                 std::uint32_t copies_per_chain) {
  return (slot + copy / copies_per_chain) % std::uint32_t{kTiles};
}

struct ScreenArgs {
  sweeps::TimedArgs operands;               ///< steps, stamps; a, b, metadata of `tiles` tiles; c: zeros
  Stream stream;                            ///< instead of a and b where the kernel streams
  std::uint32_t a_bytes = 0, b_bytes = 0;   ///< of a tile
  std::uint32_t slot_bytes = 0;             ///< shared memory of a slot
  const std::uint64_t* expected = nullptr;  ///< checksums, (tiles, lanes of a slot)
  Caught* caught = nullptr;                 ///< the first kMostCaught
  std::uint32_t* count = nullptr;           ///< of wrong checksums
  int rounds = 0, chains = 0;  ///< each round runs so many chains, and loads the next tile before
  std::uint64_t burst_nanoseconds =
      0;                          ///< busy in the first half of each period, idle in the second; 0: busy
  std::uint64_t first_chain = 0;  ///< chains of a slot in earlier launches
  Injection injection;
};

/// One block per multiprocessor.
struct ScreenKernel {
  Instruction instruction;
  bool registers = false;  ///< A of a wgmma
  Feed feed = Feed::loads;
  int threads = 0, slots = 0;  ///< per block; a slot: the lanes that run an instruction together
  int copies = 1;              ///< equal chains that a slot runs beside each other
  int slot_bytes = 0;          ///< shared memory of a slot
  int copied_bytes = 0, steps_per_copy = 1, stages = 0;  ///< of a slot, where the feed streams
  void (*launch)(const ScreenArgs& args, unsigned blocks, unsigned threads, unsigned shared) = nullptr;
  const void* function = nullptr;
};

std::vector<ScreenKernel> wgmma_kernels();
std::vector<ScreenKernel> fed_wgmma_kernels();
std::vector<ScreenKernel> mma_kernels();
/// All of them.
std::vector<ScreenKernel> kernels();

}  // namespace mmaudit::screen
