#pragma once
// One tile by the plain core.
#include "mmaudit/dot.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

/// D of every element of one tile, each by dot(), which serves every rule: nothing is unpacked ahead.
void plain_dots(const DotPlan& plan, const Instruction& instruction, const TileView& batch, std::size_t tile);

}  // namespace mmaudit
