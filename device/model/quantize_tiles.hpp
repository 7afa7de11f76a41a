#pragma once
// Tiles of an operand through registers, for the formats and layouts that people have. Declarations without
// CUDA syntax.
#include "mmaudit/quantize.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

/// Whether launch_tile_largest() finds the magnitudes that factors come from.
bool tiles_find_largest(const Quantization& work);
/// Adds them to work.factors, which are zero or such magnitudes: bits of binary32.
void launch_tile_largest(const Quantization& work, Stream stream);

/// Whether launch_tile_elements() makes the scales and the elements, from factors that elements are made
/// with.
bool tiles_make_elements(const Quantization& work);
void launch_tile_elements(const Quantization& work, Stream stream);

}  // namespace mmaudit::device
