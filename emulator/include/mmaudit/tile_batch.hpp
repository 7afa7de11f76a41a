#pragma once
// The operands and results of many tiles of one instruction.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/model/instruction.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {

/// Operand modifiers of one tile, one bit each; recordings store the same byte per tile.
inline constexpr std::uint8_t kScaleDZero =
    1;  ///< wgmma scale-d = 0, tcgen05 enable-input-d = false: C is not read
inline constexpr std::uint8_t kNegateA = 2;         ///< wgmma imm-scale-a = -1
inline constexpr std::uint8_t kNegateB = 4;         ///< wgmma imm-scale-b = -1
inline constexpr std::uint8_t kAFromRegisters = 8;  ///< where A came from; no effect on the result
/// Layouts in memory, without effect on the result: A M-major (wmma: .col), B N-major (wmma: .row), C and D
/// of wmma .col.
inline constexpr std::uint8_t kTransposeA = 16;
inline constexpr std::uint8_t kTransposeB = 32;
inline constexpr std::uint8_t kTransposeC = 64;
inline constexpr std::uint8_t kModifierBits = 127;  ///< all of them

/// Index of (row, column) in a row-major matrix; every argument is 0 or more.
constexpr std::size_t index_at(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column);
}

/// Sizes of one tile, as indices into the buffers of a batch need them.
struct TileExtents {
  explicit constexpr TileExtents(const Instruction& of)
      : m(static_cast<std::size_t>(of.m)),
        n(static_cast<std::size_t>(of.n)),
        k(static_cast<std::size_t>(of.k)),
        stored(static_cast<std::size_t>(of.stored_k())),
        blocks(static_cast<std::size_t>(scales_of(of))) {}

  std::size_t m, n, k;
  std::size_t stored;  ///< elements of a row of A
  std::size_t blocks;  ///< scales of a row of A or a column of B
};

/// Pointers to the buffers of a batch: row-major, contiguous, elements as raw bits in their format's storage
/// width.
struct TileView {
  std::size_t tiles = 0;
  const void* a = nullptr;                  ///< (tiles, m, stored k)
  const void* b = nullptr;                  ///< (tiles, k, n)
  const void* c = nullptr;                  ///< (tiles, m, n) in C's format; null: every element is +0
  void* d = nullptr;                        ///< (tiles, m, n) in D's format, written
  const std::uint8_t* modifiers = nullptr;  ///< (tiles); null: none
  const std::uint8_t* scale_a =
      nullptr;  ///< block-scaled: (tiles, m, k / scale_block); null: every scale is 1
  const std::uint8_t* scale_b =
      nullptr;  ///< block-scaled: (tiles, k / scale_block, n); null: every scale is 1
  const std::uint8_t* metadata =
      nullptr;  ///< sparse: (tiles, m, stored k), valid: why_bad_metadata() has no reason
};

/// A batch that owns its buffers. All elements are zero until set.
struct TileBatch {
  explicit TileBatch(const Instruction& of, std::size_t count = 0, std::uint8_t with_modifiers = 0);

  Instruction instruction;
  std::size_t tiles = 0;
  std::vector<std::byte> a, b, c, d;
  std::vector<std::uint8_t> modifiers;
  std::vector<std::uint8_t> scale_a, scale_b;  ///< empty unless block-scaled
  std::vector<std::uint8_t> metadata;          ///< empty unless the instruction is sparse

  /// Appends `count` tiles of zeros; returns the index of the first.
  std::size_t grow(std::size_t count, std::uint8_t with_modifiers = 0);

  /// The buffers, with D zeroed and resized to fit.
  TileView view();
  /// The buffers as they are, to be read only: what dot_at() and d_at() take.
  [[nodiscard]] TileView filled() const;
};

inline std::uint64_t load_bits(const std::vector<std::byte>& buffer, std::size_t bytes, std::size_t index) {
  return load_word(buffer.data(), bytes, index);
}
inline void store_bits(std::vector<std::byte>& buffer, std::size_t bytes, std::size_t index,
                       std::uint64_t bits) {
  store_word(buffer.data(), bytes, index, bits);
}

}  // namespace mmaudit
