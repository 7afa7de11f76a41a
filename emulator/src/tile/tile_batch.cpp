#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

TileBatch::TileBatch(const Instruction& of, std::size_t count, std::uint8_t with_modifiers)
    : instruction(of) {
  grow(count, with_modifiers);
}

std::size_t TileBatch::grow(std::size_t count, std::uint8_t with_modifiers) {
  const std::size_t first = tiles;
  const TileExtents each(instruction);
  tiles += count;
  a.resize(tiles * each.m * each.stored * spec_of(instruction.a).storage_bytes());
  b.resize(tiles * each.k * each.n * spec_of(instruction.b).storage_bytes());
  c.resize(tiles * each.m * each.n * spec_of(instruction.c).storage_bytes());
  modifiers.resize(tiles, with_modifiers);
  scale_a.resize(tiles * each.m * each.blocks);
  scale_b.resize(tiles * each.blocks * each.n);
  if (is_sparse(instruction.op)) metadata.resize(tiles * each.m * each.stored);
  return first;
}

TileView TileBatch::view() {
  const TileExtents each(instruction);
  d.assign(tiles * each.m * each.n * spec_of(instruction.d).storage_bytes(), std::byte{0});
  return filled();
}

TileView TileBatch::filled() const {
  return {.tiles = tiles,
          .a = a.data(),
          .b = b.data(),
          .c = c.data(),
          .d = const_cast<std::byte*>(d.data()),
          .modifiers = modifiers.data(),
          .scale_a = scale_a.data(),
          .scale_b = scale_b.data(),
          .metadata = metadata.empty() ? nullptr : metadata.data()};
}

}  // namespace mmaudit
