#pragma once
// Generated tiles in device memory. Declarations without CUDA syntax.
#include <cstdint>

#include "mmaudit/generators/input_classes.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::device {

/// Device buffers of `tiles` tiles of each operand; null metadata: the instruction is dense; null scales: it
/// is not block-scaled. Runs of `tiles_of_shape` tiles share what an input class decides once per tile.
struct GeneratedTiles {
  void* a = nullptr;
  void* b = nullptr;
  void* c = nullptr;
  std::uint8_t* metadata = nullptr;
  std::uint8_t* scale_a = nullptr;
  std::uint8_t* scale_b = nullptr;
  std::uint32_t tiles = 0, tiles_of_shape = 1;  ///< the former a multiple of the latter
};

/// Fills the buffers with the generator's tiles from `first_tile` on, also a multiple of `tiles_of_shape`.
void launch_generate(const gen::GeneratorSpec& generator, const Instruction& instruction,
                     gen::InputClass input_class, std::uint64_t seed, std::uint64_t first_tile,
                     const GeneratedTiles& to);

/// Flips the sign bits of `count` elements in device memory.
void launch_negate(const FormatSpec& format, void* elements, std::uint64_t count);

}  // namespace mmaudit::device
