#pragma once
// One tile by the plain core.
#include "mmaudit/dot.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

/// Multiplies the scales of one row of A or column of B into its plan.k elements, or keeps them apart in
/// `kept` where they belong to groups. `load(i)` gives the i-th byte; elements stand in evaluation order.
template <typename Load>
void apply_scales(const DotPlan& plan, const Load& load, Operand* elements, Operand* kept) {
  for (int position = 0; position < plan.k; ++position) {
    const Operand scale = scale_at(plan, load, evaluation_k(plan.datapath.order, plan.k, position));
    if (plan.grouped)
      kept[position] = scale;
    else
      elements[position] = scaled(elements[position], scale, plan.datapath);
  }
}

/// D of every element of one tile, each by dot(), which serves every rule: nothing is unpacked ahead.
void plain_dots(const DotPlan& plan, const Instruction& instruction, const TileView& batch, std::size_t tile);

}  // namespace mmaudit
