#include "mmaudit/laws/tile.hpp"

#include "mmaudit/arithmetic/block_scale.hpp"

namespace mmaudit::laws {

Subject::Subject(const Architecture& of, const Instruction& which, const Datapath& rules)
    : architecture(&of),
      instruction(which),
      datapath(rules),
      spec(make_dot_spec(which, rules)),
      step_of(static_cast<std::size_t>(spec.k)) {
  for_each_step(spec, [&](int start, int count) {
    std::vector<int> ks;
    for (int i = start; i < start + count; ++i) ks.push_back(evaluation_k(datapath.order, spec.k, i));
    for (const int k : ks) step_of[static_cast<std::size_t>(k)] = static_cast<int>(steps.size());
    steps.push_back(std::move(ks));
  });
}

Tile::Tile(const Instruction& of, std::uint8_t with) : instruction(of), modifiers(with) {
  const TileExtents each(of);
  a.resize(each.m * each.stored);
  b.resize(each.k * each.n);
  c.resize(each.m * each.n);
  if (of.scale != Format::none) {
    const auto one = static_cast<std::uint8_t>(one_bits(spec_of(of.scale)));
    scale_a.assign(each.m * each.blocks, one);
    scale_b.assign(each.blocks * each.n, one);
  }
  if (!is_sparse(of.op)) return;
  metadata.resize(a.size());
  const Sparsity sparsity = sparsity_of(of);
  for (std::size_t at = 0; at < metadata.size(); at += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, 0, &metadata[at]);
}

int Tile::met(int row, int k) const {
  if (metadata.empty()) return k;
  return selected_k(sparsity_of(instruction), MetadataRule::selected, &metadata[index(row, 0, stored())], k);
}

Dot dot_of(const Tile& tile, int row, int col) {
  Dot dot;
  const auto first_a = tile.a.begin() + static_cast<std::ptrdiff_t>(row) * tile.stored();
  dot.a.assign(first_a, first_a + tile.stored());
  dot.b.reserve(static_cast<std::size_t>(tile.instruction.k));
  for (int k = 0; k < tile.instruction.k; ++k) dot.b.push_back(tile.at_b(k, col));
  dot.c = tile.at_c(row, col);
  dot.modifiers = tile.modifiers;
  dot.salt = tile.salt;
  if (!tile.metadata.empty()) {
    const auto first = tile.metadata.begin() + static_cast<std::ptrdiff_t>(row) * tile.stored();
    dot.metadata.assign(first, first + tile.stored());
  }
  if (tile.scale_a.empty()) return dot;
  for (int block = 0; block < tile.blocks(); ++block) {
    dot.scale_a.push_back(tile.at_scale_a(row, block));
    dot.scale_b.push_back(tile.at_scale_b(block, col));
  }
  return dot;
}

Tile tile_of(const Instruction& instruction, const Dot& dot) {
  Tile tile(instruction, dot.modifiers);
  tile.salt = dot.salt;
  for (int k = 0; k < tile.stored(); ++k) tile.at_a(0, k) = dot.a[static_cast<std::size_t>(k)];
  for (int k = 0; k < instruction.k; ++k) tile.at_b(k, 0) = dot.b[static_cast<std::size_t>(k)];
  tile.at_c(0, 0) = dot.c;
  for (std::size_t i = 0; i < tile.metadata.size(); ++i)
    tile.metadata[i] = dot.metadata[i % dot.metadata.size()];
  for (std::size_t block = 0; block < dot.scale_a.size(); ++block) {
    tile.at_scale_a(0, static_cast<int>(block)) = dot.scale_a[block];
    tile.at_scale_b(static_cast<int>(block), 0) = dot.scale_b[block];
  }
  return tile;
}

int nonzero_products(const Subject& subject, const Dot& dot) {
  const Tile tile = tile_of(subject.instruction, dot);
  const auto zero = [](std::uint64_t bits, const FormatSpec& format) {
    if (format.integer()) return bits == 0;
    return (bits & format.magnitude_mask()) >> format.ignored_low_bits == 0;
  };
  int count = 0;
  for (int k = 0; k < tile.stored(); ++k)
    count += !zero(tile.at_a(0, k), subject.a()) && !zero(tile.met_b(0, k, 0), subject.b());
  return count;
}

namespace {

/// Shows `visit` every operand of a tile beside where a batch holds it: (elements, format, batch).
template <typename AnyTile, typename Visit>
void for_each_operand(const Instruction& inst, AnyTile& tile, const TileView& batch, const Visit& visit) {
  visit(tile.a, inst.a, batch.a);
  visit(tile.b, inst.b, batch.b);
  visit(tile.c, inst.c, batch.c);
  visit(tile.metadata, Format::u8, batch.metadata);
  visit(tile.scale_a, Format::u8, batch.scale_a);
  visit(tile.scale_b, Format::u8, batch.scale_b);
}

}  // namespace

Tile tile_at(const Instruction& inst, const TileView& batch, std::size_t index) {
  Tile tile(inst, batch.modifiers[index]);
  const auto load = [&](auto& to, Format format, const void* from) {
    if (from == nullptr) return;  // scales that are 1
    using Element = typename std::decay_t<decltype(to)>::value_type;
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = static_cast<Element>(load_word(from, spec_of(format).storage_bytes(), index * to.size() + i));
  };
  for_each_operand(inst, tile, batch, load);
  tile.d.resize(batch.d == nullptr ? 0 : tile.c.size());
  load(tile.d, inst.d, batch.d);
  return tile;
}

void answer(const Backend& backend, std::span<Tile*> tiles) {
  if (tiles.empty()) return;
  const Instruction& inst = tiles.front()->instruction;
  TileBatch packed(inst, tiles.size());
  const TileView batch = packed.view();
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    packed.modifiers[t] = tiles[t]->modifiers;
    for_each_operand(inst, *tiles[t], batch, [&](const auto& from, Format format, const void* to) {
      for (std::size_t i = 0; i < from.size(); ++i)  // of `packed`, which is not const
        store_word(const_cast<void*>(to), spec_of(format).storage_bytes(), t * from.size() + i, from[i]);
    });
  }
  backend.run(inst, batch);
  for (std::size_t t = 0; t < tiles.size(); ++t) tiles[t]->d = tile_at(inst, batch, t).d;
}

}  // namespace mmaudit::laws
