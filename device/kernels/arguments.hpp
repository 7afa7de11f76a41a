#pragma once
// What a kernel is told, and its entry in the table of its family.
#include <cstdint>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::device {

/// Device pointers to row-major tiles, as in TileView; one set of modifiers for all of them.
struct KernelArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  ///< null: every element is +0
  void* d = nullptr;
  const std::uint8_t* scale_a = nullptr;      ///< block-scaled instructions only; null: every scale is 1
  const std::uint8_t* scale_b = nullptr;      ///< the same
  const std::uint8_t* metadata = nullptr;     ///< sparse instructions only
  const std::uint32_t* tile_index = nullptr;  ///< which tiles to run, null: 0, 1, 2, ...
  std::uint32_t tiles = 0;                    ///< how many of them
  int n = 0;                                  ///< wgmma only; mma kernels know theirs
  int repetitions = 1;  ///< times the instruction runs; from the second on, C is the last D
  std::uint8_t modifiers = 0;
  bool swap_offsets = false;  ///< exchange the two offsets of M- and N-major descriptors
  std::uint32_t side = 0;     ///< of blocks of tile products, see block_indices(); 0: there are none
};

/// Where the operands of one tile lie, counted in tiles.
struct TileIndices {
  std::size_t a, b, c, d;
};

/// Of tile (a, b) of a block: `side` tiles of A, B and C, a power of two, make side * side tiles of D,
/// because each tile of A meets each tile of B. The i-th of both meet the i-th of C.
MMAUDIT_HD constexpr TileIndices block_indices(std::size_t side, std::size_t block, std::size_t a,
                                               std::size_t b) {
  constexpr std::size_t kStride = 5;  // odd: every tile of C comes up in every row and column
  return {block * side + a, block * side + b, block * side + ((a + (b + side - a) * kStride) & (side - 1)),
          (block * side + a) * side + b};
}

/// Of a batch: its blocks one after another, or, without blocks, the tile itself.
MMAUDIT_HD constexpr TileIndices tile_indices(const KernelArgs& args, std::uint32_t tile) {
  if (args.side == 0) return {tile, tile, tile, tile};
  const std::uint32_t side = args.side;
  return block_indices(side, tile / side / side, tile / side & (side - 1), tile & (side - 1));
}

/// One warp's registers of one operand of wmma, and the matrix in memory; `column_major` says how that lies.
struct FragmentArgs {
  int operand = 0;  ///< a WmmaOperand; d goes from registers to memory, the others from memory to registers
  bool column_major = false;
  unsigned char* image = nullptr;
  int image_bytes = 0;
  void* registers = nullptr;  ///< (lanes, registers of a lane)
};

/// One kernel; the instruction has n = 0 where the kernel serves every n. families.cmake lists the families.
struct KernelEntry {
  Instruction instruction;
  int tiles_per_block = 1;
  void (*launch)(const KernelArgs& args, unsigned blocks) = nullptr;
  const void* function = nullptr;                        ///< the kernel, to ask the runtime about it
  void (*fragment)(const FragmentArgs& args) = nullptr;  ///< wmma only
};

}  // namespace mmaudit::device
