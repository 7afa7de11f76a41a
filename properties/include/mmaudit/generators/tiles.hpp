#pragma once
// Batches of tiles, filled from input classes and directed cases.
#include <cstddef>
#include <cstdint>

#include "mmaudit/generators/input_classes.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::gen {

using mmaudit::load_bits;
using mmaudit::store_bits;

/// Appends tiles first_tile .. first_tile + count - 1 of an input class.
void append_class(TileBatch& tiles, const GeneratorPlan& plan, InputClass input_class, std::uint64_t seed,
                  std::uint64_t first_tile, std::size_t count, std::uint8_t modifiers);

/// Appends the directed cases of `instruction`, min(m, n) on the diagonal of a tile; the rows below repeat
/// the same rows of A, so that every case also meets the columns of its neighbours. Of a sparse instruction
/// the patterns go round with group and tile, and the elements of B that no row selects are NaN, infinite or
/// the largest number. Returns the number of tiles appended.
std::size_t append_directed(TileBatch& tiles, const Datapath& datapath, std::uint8_t modifiers);

}  // namespace mmaudit::gen
