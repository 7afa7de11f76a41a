#pragma once
// Tile products: in a block, each of `side` tiles of A meets each of `side` tiles of B, so every generated
// tile counts `side` times. One launch per engine of the model. Declarations without CUDA syntax.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "mmaudit/dot.hpp"
#include "model/core_rules.hpp"

namespace mmaudit::device {

/// A difference between hardware and model.
struct Found {
  std::uint64_t element;  ///< of D: tile * m * n + row * n + column
  std::uint64_t model;    ///< raw bits
};

/// Device pointers; the tiles lie as block_indices() says.
struct TileProductArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  ///< null, launch_model() only: every element is +0
  const std::uint8_t* metadata = nullptr;
  const std::uint8_t* scale_a = nullptr;  ///< block-scaled only; null: every scale is 1
  const std::uint8_t* scale_b = nullptr;
  const void* hardware = nullptr;
  std::uint32_t blocks = 0, side = 0;
  std::int32_t m = 0, n = 0, k = 0, stored_k = 0;
  std::int32_t scale_blocks = 0;
  std::int32_t a_bytes = 0, b_bytes = 0, c_bytes = 0, d_bytes = 0;
  unsigned long long* total = nullptr;  ///< differences are added
  Found* found = nullptr;               ///< the first `most` of them
  std::uint32_t most = 0;
  std::uint64_t first_element = 0;  ///< added to what is found
};
/// What the instruction says, and where `operands` lie.
TileProductArgs tile_product_args(const Instruction& instruction, const KernelArgs& operands = {});

/// Operands of the engine `fast`, unpacked (model/unpacked.hpp), one matrix per block.
struct UnpackedPair {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
};

void launch_fast(const CoreRules& rules, const UnpackedPair& words, const TileProductArgs& args);

/// A's rows and B's columns of all blocks, (elements, packed_words()): an element is a byte, a single bit is
/// a bit, depth is padded with zeros.
struct PackedPair {
  std::uint32_t* a = nullptr;
  std::uint32_t* b = nullptr;
};
MMAUDIT_HD constexpr std::int32_t packed_words(bool single_bits, std::int32_t k) {
  return single_bits ? (k + 31) / 32 : (k + 3) / 4;
}
void launch_integer(const DotSpec& spec, const PackedPair& packed, const TileProductArgs& args);

/// By the GPU's own fused multiply-add; by the plain model where that gives a NaN.
void launch_binary64(const DotSpec& spec, const TileProductArgs& args);

/// By the GPU's own binary32 arithmetic on binary16 operands; by the plain model where that gives a NaN.
void launch_binary32(const DotSpec& spec, const TileProductArgs& args);

/// By the plain model, whatever the datapath.
void launch_plain(const DotSpec& spec, const TileProductArgs& args);

/// The plain model's D of blocks of one tile (args.side is 1), compared with nothing. `modifiers`: a byte per
/// tile on the device; null: none.
void launch_model(const DotSpec& spec, const TileProductArgs& args, const std::uint8_t* modifiers, void* d);

}  // namespace mmaudit::device
