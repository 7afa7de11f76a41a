#pragma once
// The model at the level of one instruction: tiles in, tiles out, raw bits on both sides.
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

/// What: D = A * B + C for every tile, with the bits `datapath` says the hardware produces.
/// Shapes: as TileView; the caller guarantees that `datapath` serves `instruction` (find_datapath()).
/// Range and rounding: any bit pattern is valid input; rounding is the datapath's. Errors: none.
/// Source: docs/numerics.md.
void emulate(const Instruction& instruction, const Datapath& datapath, const TileView& batch);

}  // namespace mmaudit
