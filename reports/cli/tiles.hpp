#pragma once
// Tiles of one instruction: the case of `mmaudit matmul` that a GPU computes too.
#include <string>

#include "common.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {

/// Values of --on.
inline constexpr const char *kOnModel = "model", *kOnGpu = "gpu", *kOnBoth = "both";

struct TilesOptions {
  std::string architecture, instruction, out, on = kOnModel;
  corpus::TileFiles files;
  ModifierOptions modifiers;
  Outputs outputs;
};

/// What: D = A * B + C of every tile, by the model or on the GPU; with --on both what they differ in.
/// Returns: the exit code.
int compute_tiles(const TilesOptions& options, const Context& context);

}  // namespace mmaudit::cli
