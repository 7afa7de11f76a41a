#pragma once
// A whole kernel, walked: which instructions each warp of a block executes, in order, and which addresses its
// loads and stores meet. Integers, predicates and branches are computed from the disassembly, for all 32
// lanes; floating point, matrices and loaded values are not, so a branch that depends on one is refused.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/sass/text.hpp"

namespace mmaudit::timing {

/// How a kernel is started. Grids are two-dimensional, blocks one-dimensional.
struct Grid {
  int x = 1, y = 1;
  int threads = 32;
  /// The bytes of the parameters, from c[0x0][0x210] on.
  std::vector<std::uint8_t> parameters;
};

/// Bits above 2^32 of the addresses of registers that the compiler puts aside.
inline constexpr std::uint64_t kLocalOperand = 7;
/// Sectors of 32 bytes that an access to global memory touches, and its passes through the pipe of memory.
struct MemoryAccess {
  std::uint16_t wavefronts = 1;
  bool partial = false;                ///< more sectors than the bytes fill
  bool generic = false;                ///< of shared memory, by an address that could be of any
  std::uint16_t lines = 0;             ///< of 128 bytes
  std::vector<std::uint64_t> sectors;  ///< by number: address / 32
};

/// One executed instruction: of the program, and of the accesses; -1: none.
struct Executed {
  std::int32_t op = 0, access = -1;
};

struct WalkedWarp {
  std::vector<Executed> steps;
};

/// What the warps of one block execute.
struct WalkedBlock {
  std::vector<WalkedWarp> warps;
  std::vector<MemoryAccess> accesses;
  std::uint64_t instructions = 0;
  int trips = 0;  ///< of the loop that is taken most often, before any was left out
};

/// What: walks block (`x`, `y`). `most_trips`: of a loop that goes round more often, the trips in the middle
/// are left out, so that so many stay. Errors: InputError with the line for an address, a branch
/// or a number of copies that depends on what is not computed; std::runtime_error after 2^26 instructions of
/// a warp.
WalkedBlock walk(const sass::Function& function, const Grid& grid, int x, int y, int most_trips);
/// What: the same for several numbers of trips, walked once.
std::vector<WalkedBlock> walk(const sass::Function& function, const Grid& grid, int x, int y,
                              std::span<const int> most_trips);

}  // namespace mmaudit::timing
