#pragma once
// What the campaign runs on the GPU besides the instruction itself. Declarations without CUDA syntax.
#include <cstdint>

#include "kernels/arguments.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/families.hpp"

namespace mmaudit::device {

/// Extents of a tile.
struct TileExtents {
  int m = 0, n = 0, k = 0;
  int stored_k = 0;  ///< of A
};
inline TileExtents extents_of(const Instruction& instruction) {
  return {instruction.m, instruction.n, instruction.k, instruction.stored_k()};
}

/// Fills args.tiles tiles of A, B, C and, if not null, metadata with the generator's tiles from `first_tile`
/// on. `tiles_of_shape` neighbours share what a family decides once a tile; both counts of tiles are
/// multiples of it.
void launch_generate(const gen::GeneratorPlan& plan, gen::Family family, std::uint64_t seed,
                     std::uint64_t first_tile, const TileExtents& extents, const KernelArgs& args, void* a,
                     void* b, void* c, std::uint8_t* metadata, unsigned tiles_of_shape = 1);

/// D of every tile by the model. `modifiers`: a byte a tile on the device; null: args.modifiers for all.
void launch_model(const DotPlan& plan, const TileExtents& extents, const KernelArgs& args,
                  const std::uint8_t* modifiers);

/// Where two outputs of `count` elements of `bytes` differ: *total counts, `found` takes the first `most`
/// indices.
void launch_compare(const void* x, const void* y, int bytes, std::uint64_t count, unsigned long long* total,
                    std::uint64_t* found, unsigned most);

}  // namespace mmaudit::device
