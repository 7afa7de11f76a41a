#include "mmaudit/tile_batch.hpp"

namespace mmaudit {
namespace {

/// Elements per tile of each buffer.
struct Extents {
  std::size_t a, b, c, scale_a, scale_b;
};

Extents extents_of(const Instruction& inst) {
  const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n),
             k = static_cast<std::size_t>(inst.k), stored = static_cast<std::size_t>(inst.stored_k()),
             blocks = static_cast<std::size_t>(scales_of(inst));
  return {.a = m * stored, .b = k * n, .c = m * n, .scale_a = m * blocks, .scale_b = blocks * n};
}

}  // namespace

TileBatch::TileBatch(const Instruction& of, std::size_t count, std::uint8_t with_modifiers)
    : instruction(of) {
  grow(count, with_modifiers);
}

std::size_t TileBatch::grow(std::size_t count, std::uint8_t with_modifiers) {
  const std::size_t first = tiles;
  const Extents each = extents_of(instruction);
  tiles += count;
  a.resize(tiles * each.a * spec_of(instruction.a).storage_bytes());
  b.resize(tiles * each.b * spec_of(instruction.b).storage_bytes());
  c.resize(tiles * each.c * spec_of(instruction.c).storage_bytes());
  modifiers.resize(tiles, with_modifiers);
  scale_a.resize(tiles * each.scale_a);
  scale_b.resize(tiles * each.scale_b);
  if (is_sparse(instruction.op)) metadata.resize(tiles * each.a);
  return first;
}

TileView TileBatch::view() {
  d.assign(tiles * extents_of(instruction).c * spec_of(instruction.d).storage_bytes(), std::byte{0});
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
