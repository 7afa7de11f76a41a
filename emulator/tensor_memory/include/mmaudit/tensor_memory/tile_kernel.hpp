#pragma once
// A whole kernel around one tcgen05.mma, and what a host gives it and takes from it. Its text is run by the
// interpreter of interpreter.hpp, assembled by ptxas and loaded by a driver: one text for all three.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mmaudit/tensor_memory/mma.hpp"
#include "mmaudit/tensor_memory/mma_shape.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::tmem {

inline constexpr const char* kTileKernelName = "mmaudit_tcgen05";

/// What a tcgen05.mma may say beside its instruction: the numbers are the same, the lanes of D are not.
struct TileForm {
  std::string_view name;
  bool weight_stationary = false;  ///< .ws
  int cta_group = 1;
  bool a_in_tensor_memory = false;  ///< 128 rows per block
};
inline constexpr TileForm kTileForms[] = {
    {"plain"}, {"ws", true}, {"pair", false, 2}, {"tmem", false, 1, true}};
/// Null where there is none of that name.
const TileForm* find_tile_form(std::string_view name);

/// D = A * B + C of one tile per block of kThreads threads, or per cluster of blocks() blocks. Its
/// parameters, all .u64 addresses of global memory: images (tile_bytes() bytes per tile), addends and results
/// (m x n words of 32 bits per tile, row-major, an element of 16 bits in the lower half).
struct TileKernel {
  Mma mma;  ///< its layout of D gives every thread its row and columns
  bool read_c = true, a_in_tensor_memory = false;
  /// Of a block's image, which the block copies into shared memory; addresses count from its first byte.
  MatrixDescriptor a, b;
  std::uint32_t scale_a = 0, scale_b = 0, metadata = 0, image_bytes = 0;
  /// In tensor memory, where D begins at column 0.
  int scale_a_column = 0, scale_b_column = 0, metadata_column = 0, a_column = 0, columns = 0;
  std::string text;

  /// Of the grid per tile: each has rows of A and D, and a share of B's columns.
  [[nodiscard]] int blocks() const { return mma.form.cta_group; }
  [[nodiscard]] int b_columns() const { return mma.instruction.n / blocks(); }
  [[nodiscard]] std::size_t tile_bytes() const {
    return static_cast<std::size_t>(blocks()) * static_cast<std::size_t>(image_bytes);
  }
  [[nodiscard]] std::size_t words() const {  ///< of C and D per tile
    return static_cast<std::size_t>(mma.instruction.m) * static_cast<std::size_t>(mma.instruction.n);
  }
};

/// What: the kernel of `instruction` in `form` for `target`, sm_100a or sm_103a. `instruction` is a tcgen05
/// with m and n of Table 39 of the PTX ISA. `modifiers`: kScaleDZero, kNegateA, kNegateB, kTransposeA,
/// kTransposeB. Errors: the refusal; empty when `kernel` was filled.
std::string make_tile_kernel(const Instruction& instruction, std::uint8_t modifiers, std::string_view target,
                             TileKernel& kernel, const TileForm& form = kTileForms[0]);

/// A, B, scales and metadata of tile `tile` as the kernel wants them; `image` has tile_bytes().
void write_image(const TileKernel& kernel, const TileView& batch, std::size_t tile,
                 std::span<std::uint8_t> image);
/// C of tile `tile`, words() words.
void write_addends(const TileKernel& kernel, const TileView& batch, std::size_t tile,
                   std::span<std::uint32_t> words);
/// D of tile `tile` out of words() words; of an element of 16 bits the upper half is not looked at.
void read_results(const TileKernel& kernel, std::span<const std::uint32_t> words, const TileView& batch,
                  std::size_t tile);

}  // namespace mmaudit::tmem
