#pragma once
// One tile by the plain core.
#include "mmaudit/dot.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

/// Multiplies the scales of one row of A or column of B into its spec.k elements, or keeps them apart in
/// `kept` where they belong to groups. `load(i)` gives the i-th byte; elements stand in evaluation order.
template <typename Load>
void apply_scales(const DotSpec& spec, const Load& load, Operand* elements, Operand* kept) {
  for (int position = 0; position < spec.k; ++position) {
    const Operand scale = scale_at(spec, load, evaluation_k(spec.datapath.order, spec.k, position));
    if (spec.grouped)
      kept[position] = scale;
    else
      elements[position] = scaled(elements[position], scale, spec.datapath);
  }
}

/// D of every element of one tile, each by dot(), which serves every rule: nothing is unpacked ahead.
void plain_dots(const DotSpec& spec, const Instruction& instruction, const TileView& batch, std::size_t tile);

}  // namespace mmaudit
