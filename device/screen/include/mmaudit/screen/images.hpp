#pragma once
// Operands and D as the screening kernels hold them, in registers and in shared memory.
#include <cstddef>
#include <vector>

#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {

/// One tile after another. Registers: word r of lane l at (r, l), words of 64 bits where an element has 64.
struct Images {
  std::vector<std::byte> a;         ///< registers; shared memory where a wgmma reads A there
  std::vector<std::byte> b;         ///< registers; of a wgmma shared memory
  std::vector<std::byte> metadata;  ///< registers; empty where the instruction is dense
  std::vector<std::byte> d;         ///< registers, after kSteps
};

/// What: the images of `inputs`, which were made for work.instruction.
Images make_images(const Work& work, const Inputs& inputs);

/// What: makes `a` the image of both operands, tile after tile with A before B, and `b` empty: what streaming
/// feeds copy.
void join_tiles(Images& images);

}  // namespace mmaudit::screen
