#pragma once
// Batches of tiles, filled from input classes and directed cases.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/generators/input_classes.hpp"

namespace mmaudit::gen {

using mmaudit::load_bits;
using mmaudit::store_bits;

/// Appends tiles first_tile .. first_tile + count - 1 of an input class.
void append_class(TileBatch& tiles, const GeneratorSpec& generator, InputClass input_class,
                  std::uint64_t seed, std::uint64_t first_tile, std::size_t count, std::uint8_t modifiers);

/// Appends the directed cases of `instruction`, min(m, n) on the diagonal of a tile; the rows below repeat
/// the same rows of A, so that every case also meets the columns of its neighbours. Of a sparse instruction
/// the patterns go round with group and tile, and the elements of B that no row selects are NaN, infinite or
/// the largest number. Returns the number of tiles appended.
std::size_t append_directed(TileBatch& tiles, const Datapath& datapath, std::uint8_t modifiers);

// Directed dot products: inputs on which similar datapaths give different bits. They scan F and the least
// alignment exponent of a datapath, and settle each open question by the vector that decides it.

/// One dot product. a and b hold the k elements that meet: the stored ones of a sparse instruction.
struct DirectedDot : DotCase {
  std::string question;  ///< what it decides, e.g. "floor", "fraction bits", "order of k"
};

/// Every directed case that `instruction` can express. Deterministic. `datapath` says where to look, not
/// what to expect.
std::vector<DirectedDot> directed_dots(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::gen
