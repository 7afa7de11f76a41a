#pragma once
// Host buffers of tiles, filled from families and directed cases.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/emulator.hpp"
#include "mmaudit/generators/families.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::gen {

/// Operands of consecutive tiles, as TileBatch wants them, with room for D.
struct HostTiles {
  explicit HostTiles(const Instruction& of) : instruction(of) {}

  Instruction instruction;
  std::size_t tiles = 0;
  std::vector<std::byte> a, b, c, d;
  std::vector<std::uint8_t> modifiers;
  std::vector<std::uint8_t> scale_a, scale_b;  ///< empty unless block-scaled
  std::vector<std::uint8_t> metadata;          ///< empty unless the instruction is sparse

  /// A batch over these buffers; D is resized to fit.
  TileBatch batch();
};

inline std::uint64_t load_bits(const std::vector<std::byte>& buffer, std::size_t bytes, std::size_t index) {
  return load_word(buffer.data(), bytes, index);
}
inline void store_bits(std::vector<std::byte>& buffer, std::size_t bytes, std::size_t index,
                       std::uint64_t bits) {
  store_word(buffer.data(), bytes, index, bits);
}

/// Appends tiles first_tile .. first_tile + count - 1 of a family.
void append_family(HostTiles& tiles, const GeneratorPlan& plan, Family family, std::uint64_t seed,
                   std::uint64_t first_tile, std::size_t count, std::uint8_t modifiers);

/// Appends the directed cases of `instruction`, min(m, n) on the diagonal of a tile; the rows below repeat
/// the same rows of A, so that every case also meets the columns of its neighbours. Of a sparse instruction
/// the patterns go round with group and tile, and the elements of B that no row selects are NaN, infinite or
/// the largest number. Returns the number of tiles appended.
std::size_t append_directed(HostTiles& tiles, const AccumulatorModel& row, std::uint8_t modifiers);

}  // namespace mmaudit::gen
