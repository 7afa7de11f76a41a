#include "mmaudit/dot_case.hpp"

namespace mmaudit {
namespace {

std::uint64_t word(const void* buffer, Format format, std::size_t index) {
  return load_word(buffer, spec_of(format).storage_bytes(), index);
}

std::size_t element_of_d(const Instruction& inst, std::size_t tile, int row, int column) {
  const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n);
  return (tile * m + static_cast<std::size_t>(row)) * n + static_cast<std::size_t>(column);
}

}  // namespace

DotCase dot_at(const Instruction& inst, const TileView& batch, std::size_t tile, int row, int column) {
  const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n),
             k = static_cast<std::size_t>(inst.k), stored = static_cast<std::size_t>(inst.stored_k()),
             blocks = static_cast<std::size_t>(scales_of(inst)), i = static_cast<std::size_t>(row),
             j = static_cast<std::size_t>(column);
  DotCase dot;
  dot.tile = tile;
  dot.row = row;
  dot.column = column;
  const std::size_t first_a = (tile * m + i) * stored;
  for (std::size_t e = 0; e < stored; ++e) dot.a.push_back(word(batch.a, inst.a, first_a + e));
  for (std::size_t e = 0; e < k; ++e) dot.b.push_back(word(batch.b, inst.b, (tile * k + e) * n + j));
  if (batch.c != nullptr) dot.c = word(batch.c, inst.c, element_of_d(inst, tile, row, column));
  if (batch.modifiers != nullptr) dot.modifiers = batch.modifiers[tile];
  if (is_sparse(inst.op) && batch.metadata != nullptr)
    dot.metadata.assign(batch.metadata + first_a, batch.metadata + first_a + stored);
  for (std::size_t e = 0; e < blocks; ++e) {
    if (batch.scale_a != nullptr) dot.scale_a.push_back(batch.scale_a[(tile * m + i) * blocks + e]);
    if (batch.scale_b != nullptr) dot.scale_b.push_back(batch.scale_b[(tile * blocks + e) * n + j]);
  }
  return dot;
}

std::uint64_t d_at(const Instruction& inst, const TileView& batch, std::size_t tile, int row, int column) {
  return word(batch.d, inst.d, element_of_d(inst, tile, row, column));
}

void store_d_at(const Instruction& inst, const TileView& batch, std::size_t tile, int row, int column,
                std::uint64_t bits) {
  store_word(batch.d, spec_of(inst.d).storage_bytes(), element_of_d(inst, tile, row, column), bits);
}

}  // namespace mmaudit
