#pragma once
// Elements of a problem by their place.
#include "mmaudit/convolution/convolve.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::conv {

inline std::uint64_t activation(const Problem& problem, const Pixel& pixel, int channel) {
  const Shape& shape = problem.shape;
  if (pixel.padding() || channel >= shape.channels) return 0;
  const int row = pixel.image * shape.height + pixel.y;
  const std::size_t place = index_at(row, shape.width, pixel.x) * static_cast<std::size_t>(shape.channels) +
                            static_cast<std::size_t>(channel);
  return load_bits(problem.activations, spec_of(problem.instruction.a).storage_bytes(), place);
}

inline std::uint64_t weight(const Problem& problem, int filter, int r, int s, int channel) {
  const Shape& shape = problem.shape;
  if (channel >= shape.channels) return 0;
  const int row = filter * shape.rows + r;
  const std::size_t place = index_at(row, shape.columns, s) * static_cast<std::size_t>(shape.channels) +
                            static_cast<std::size_t>(channel);
  return load_bits(problem.weights, spec_of(problem.instruction.b).storage_bytes(), place);
}

}  // namespace mmaudit::conv
