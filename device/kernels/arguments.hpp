#pragma once
// What a kernel is told, and the table of kernels.
#include <cstdint>
#include <span>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::device {

/// Device pointers to row-major tiles, as in TileView; one set of modifiers for all of them.
struct KernelArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  ///< null: every element is +0
  void* d = nullptr;
  const std::uint8_t* metadata = nullptr;     ///< sparse instructions only
  const std::uint32_t* tile_index = nullptr;  ///< which tiles to run, null: 0, 1, 2, ...
  std::uint32_t tiles = 0;                    ///< how many of them
  int n = 0;                                  ///< wgmma only; mma kernels know theirs
  int repetitions = 1;  ///< times the instruction runs; from the second on, C is the last D
  std::uint8_t modifiers = 0;
  bool swap_offsets = false;  ///< exchange the two offsets of M- and N-major descriptors
  std::uint32_t cross = 0;    ///< not 0: the side of a square, see square_indices()
};

/// Where the operands of one tile lie, counted in tiles.
struct TileIndices {
  std::size_t a, b, c, d;
};

/// Of tile (a, b) of a square: `side` tiles of A, B and C, a power of two, make side * side of D, each tile
/// of A with each of B; where both are the i-th, so is C's.
MMAUDIT_HD constexpr TileIndices square_indices(std::size_t side, std::size_t square, std::size_t a,
                                                std::size_t b) {
  constexpr std::size_t kStride = 5;  // odd: every tile of C comes up in every row and column
  return {square * side + a, square * side + b, square * side + ((a + (b + side - a) * kStride) & (side - 1)),
          (square * side + a) * side + b};
}

/// Of a batch with args.cross: the squares one after another. Without: the tile itself.
MMAUDIT_HD constexpr TileIndices tile_indices(const KernelArgs& args, std::uint32_t tile) {
  if (args.cross == 0) return {tile, tile, tile, tile};
  const std::uint32_t side = args.cross;
  return square_indices(side, tile / side / side, tile / side & (side - 1), tile & (side - 1));
}

/// One warp's registers of one operand of wmma, and the matrix in memory; `column_major` says how that lies.
struct FragmentArgs {
  int operand = 0;  ///< a WmmaOperand; d goes from registers to memory, the others from memory to registers
  bool column_major = false;
  unsigned char* image = nullptr;
  int image_bytes = 0;
  void* registers = nullptr;  ///< (lanes, registers of a lane)
};

/// One kernel; the instruction has n = 0 where the kernel serves every n.
struct KernelRow {
  Instruction instruction;
  int tiles_per_block = 1;
  void (*launch)(const KernelArgs& args, unsigned blocks) = nullptr;
  const void* function = nullptr;                        ///< the kernel, to ask the runtime about it
  void (*fragment)(const FragmentArgs& args) = nullptr;  ///< wmma only
};

std::span<const KernelRow> mma_f16_kernels();
std::span<const KernelRow> mma_tf32_kernels();
std::span<const KernelRow> mma_fp8_kernels();
std::span<const KernelRow> mma_f64_kernels();
std::span<const KernelRow> wgmma_f16_kernels();
std::span<const KernelRow> wgmma_tf32_kernels();
std::span<const KernelRow> wgmma_fp8_kernels();       // binary32 accumulators
std::span<const KernelRow> wgmma_fp8_half_kernels();  // binary16 accumulators
std::span<const KernelRow> mma_i8_kernels();
std::span<const KernelRow> mma_i4_kernels();
std::span<const KernelRow> mma_b1_kernels();
std::span<const KernelRow> wgmma_i8_kernels();
std::span<const KernelRow> wgmma_i8_satfinite_kernels();
std::span<const KernelRow> wgmma_b1_kernels();
std::span<const KernelRow> mma_sp_f16_kernels();  // tf32 too
std::span<const KernelRow> mma_sp_fp8_kernels();
std::span<const KernelRow> mma_sp_int_kernels();
std::span<const KernelRow> wgmma_sp_f16_kernels();  // tf32 too
std::span<const KernelRow> wgmma_sp_fp8_kernels();
std::span<const KernelRow> wgmma_sp_i8_kernels();
std::span<const KernelRow> wmma_f16_kernels();
std::span<const KernelRow> wmma_wide_kernels();  // bf16, tf32, f64
std::span<const KernelRow> wmma_int_kernels();   // and single bits

}  // namespace mmaudit::device
