#include "mmaudit/laws/tile.hpp"

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::laws {

Subject::Subject(const Architecture& of, const Instruction& which, const Datapath& rules)
    : architecture(&of),
      instruction(which),
      datapath(rules),
      plan(make_plan(which, rules)),
      step_of(static_cast<std::size_t>(plan.k)) {
  for_each_step(plan, [&](int start, int count) {
    std::vector<int> ks;
    for (int i = start; i < start + count; ++i) ks.push_back(evaluation_k(datapath.order, plan.k, i));
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

Tile tile_at(const TileBatch& batch, std::size_t index) {
  const Instruction& inst = batch.instruction;
  Tile tile(inst, batch.modifiers[index]);
  const auto words = [&](const std::vector<std::byte>& from, Format format, std::vector<std::uint64_t>& to) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = load_bits(from, bytes, index * to.size() + i);
  };
  words(batch.a, inst.a, tile.a);
  words(batch.b, inst.b, tile.b);
  words(batch.c, inst.c, tile.c);
  tile.d.resize(batch.d.empty() ? 0 : tile.c.size());
  words(batch.d, inst.d, tile.d);
  const auto bytes = [&](const std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& to) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(index * to.size()), to.size(), to.begin());
  };
  bytes(batch.metadata, tile.metadata);
  bytes(batch.scale_a, tile.scale_a);
  bytes(batch.scale_b, tile.scale_b);
  return tile;
}

void answer(const Backend& backend, std::span<Tile*> tiles) {
  if (tiles.empty()) return;
  const Instruction& inst = tiles.front()->instruction;
  TileBatch packed(inst, tiles.size());
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const Tile& tile = *tiles[t];
    const auto words = [&](const std::vector<std::uint64_t>& from, Format format,
                           std::vector<std::byte>& to) {
      const std::size_t bytes = spec_of(format).storage_bytes();
      for (std::size_t i = 0; i < from.size(); ++i) store_bits(to, bytes, t * from.size() + i, from[i]);
    };
    words(tile.a, inst.a, packed.a);
    words(tile.b, inst.b, packed.b);
    words(tile.c, inst.c, packed.c);
    packed.modifiers[t] = tile.modifiers;
    const auto bytes = [&](const std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& to) {
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(t * from.size()));
    };
    bytes(tile.metadata, packed.metadata);
    bytes(tile.scale_a, packed.scale_a);
    bytes(tile.scale_b, packed.scale_b);
  }
  backend.run(inst, packed.view());
  for (std::size_t t = 0; t < tiles.size(); ++t) tiles[t]->d = tile_at(packed, t).d;
}

std::uint64_t Random::next() { return splitmix64(state_); }

int Random::in(int low, int high) {
  return low + static_cast<int>(next() % (static_cast<std::uint64_t>(high - low) + 1));
}

}  // namespace mmaudit::laws
