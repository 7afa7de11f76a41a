#pragma once
// Inputs, images and expected checksums of all that a screen runs.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/screen/images.hpp"
#include "screen/kernel.hpp"

namespace mmaudit::screen {

/// What is the same on every GPU: made once.
struct Prepared {
  ScreenKernel kernel;
  WorkResult result;  ///< nothing counted yet
  Images images;
  std::size_t a_bytes = 0, b_bytes = 0;  ///< of a tile
  std::vector<std::uint64_t> expected;
};

/// What: the works of this kind of GPU, input set by input set, computed on all cores.
std::vector<Prepared> prepare_all(const device::DeviceInfo& gpu, const Options& options);

}  // namespace mmaudit::screen
