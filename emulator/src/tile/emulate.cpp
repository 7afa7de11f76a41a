#include "mmaudit/emulate.hpp"

#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/raw_words.hpp"
#include "tile/plain_dots.hpp"

namespace mmaudit {
namespace {

/// Operands of one tile in evaluation order: every row of A and column of B is unpacked once for all outputs.
struct UnpackedTile {
  std::vector<Operand> a;                 // (m, k)
  std::vector<Operand> b;                 // (n, k)
  std::vector<Operand> scale_a, scale_b;  // the same, of grouped specs; else empty
};

/// The scales at `bytes`, or 1 where there are none.
void apply_bytes(const DotSpec& spec, const std::uint8_t* bytes, std::int64_t stride, Operand* elements,
                 Operand* kept) {
  const Strided<std::uint8_t> given{bytes, stride};
  const auto load = [&](int block) { return bytes == nullptr ? one_bits(spec.scale) : given(block); };
  apply_scales(spec, load, elements, kept);
}

void scale_tile(const DotSpec& spec, const TileExtents& shape, const TileView& batch, std::size_t tile,
                UnpackedTile& out) {
  const std::size_t blocks = shape.k / static_cast<std::size_t>(spec.scale_block);
  const auto kept = [&](std::vector<Operand>& scales, std::size_t i) {
    return spec.grouped ? &scales[i * shape.k] : nullptr;
  };
  for (std::size_t i = 0; i < shape.m; ++i)
    apply_bytes(spec, batch.scale_a == nullptr ? nullptr : batch.scale_a + (tile * shape.m + i) * blocks, 1,
                &out.a[i * shape.k], kept(out.scale_a, i));
  for (std::size_t j = 0; j < shape.n; ++j)
    apply_bytes(spec, batch.scale_b == nullptr ? nullptr : batch.scale_b + tile * blocks * shape.n + j,
                static_cast<std::int64_t>(shape.n), &out.b[j * shape.k], kept(out.scale_b, j));
}

void unpack_tile(const DotSpec& spec, const TileExtents& shape, const TileView& batch, std::size_t tile,
                 unsigned modifiers, UnpackedTile& out) {
  const std::size_t a_bytes = spec.a.storage_bytes();
  const std::size_t b_bytes = spec.b.storage_bytes();
  for (std::size_t position = 0; position < shape.k; ++position) {
    const auto k = static_cast<std::size_t>(
        evaluation_k(spec.datapath.order, static_cast<int>(shape.k), static_cast<int>(position)));
    for (std::size_t i = 0; i < shape.m; ++i) {
      const std::uint64_t bits = load_word(batch.a, a_bytes, (tile * shape.m + i) * shape.k + k);
      out.a[i * shape.k + position] = unpack_factor(spec.a, spec, bits, (modifiers & kNegateA) != 0);
    }
    for (std::size_t j = 0; j < shape.n; ++j) {
      const std::uint64_t bits = load_word(batch.b, b_bytes, (tile * shape.k + k) * shape.n + j);
      out.b[j * shape.k + position] = unpack_factor(spec.b, spec, bits, (modifiers & kNegateB) != 0);
    }
  }
}

/// D of every element of one tile of integers. A and B are bytes and need no unpacking.
void emulate_integer_tile(const DotSpec& spec, const TileExtents& shape, const TileView& batch,
                          std::size_t tile, bool read_c) {
  const auto* a = static_cast<const std::uint8_t*>(batch.a) + tile * shape.m * shape.k;
  const auto* b = static_cast<const std::uint8_t*>(batch.b) + tile * shape.k * shape.n;
  const auto n = static_cast<std::int64_t>(shape.n);
  for (std::size_t i = 0; i < shape.m; ++i) {
    for (std::size_t j = 0; j < shape.n; ++j) {
      const std::size_t element = (tile * shape.m + i) * shape.n + j;
      const std::uint64_t c = read_c ? load_word(batch.c, 4, element) : 0;
      store_word(
          batch.d, 4, element,
          integer_dot(spec, Strided<std::uint8_t>{a + i * shape.k}, Strided<std::uint8_t>{b + j, n}, c));
    }
  }
}

/// D of every element of one tile of a sparse instruction. Every row of A chooses the rows of B it meets: all
/// of B is unpacked once, then gathered per row of A.
void emulate_sparse_tile(const DotSpec& spec, const TileExtents& shape, const TileView& batch,
                         std::size_t tile, unsigned modifiers, bool read_c) {
  const std::size_t stored = static_cast<std::size_t>(spec.k), depth = shape.k;
  const std::size_t a_bytes = spec.a.storage_bytes(), b_bytes = spec.b.storage_bytes(),
                    c_bytes = spec.step.addend.storage_bytes(), d_bytes = spec.d.storage_bytes();
  std::vector<Operand> all_b(depth * shape.n), a(stored), b(stored);
  std::vector<std::size_t> met(stored);
  for (std::size_t e = 0; e < all_b.size(); ++e)
    all_b[e] = unpack_factor(spec.b, spec, load_word(batch.b, b_bytes, tile * depth * shape.n + e),
                             (modifiers & kNegateB) != 0);
  for (std::size_t i = 0; i < shape.m; ++i) {
    const std::size_t row = (tile * shape.m + i) * stored;
    for (std::size_t position = 0; position < stored; ++position) {
      const int k = evaluation_k(spec.datapath.order, spec.k, static_cast<int>(position));
      a[position] =
          unpack_factor(spec.a, spec, load_word(batch.a, a_bytes, row + static_cast<std::size_t>(k)),
                        (modifiers & kNegateA) != 0);
      met[position] = static_cast<std::size_t>(
          selected_k(spec.sparsity, spec.datapath.metadata, batch.metadata + row, k));
    }
    for (std::size_t j = 0; j < shape.n; ++j) {
      const std::size_t element = (tile * shape.m + i) * shape.n + j;
      for (std::size_t position = 0; position < stored; ++position)
        b[position] = all_b[met[position] * shape.n + j];
      const std::uint64_t c = read_c ? load_word(batch.c, c_bytes, element) : 0;
      store_word(batch.d, d_bytes, element, chain(spec, a.data(), b.data(), c));
    }
  }
}

}  // namespace

void emulate(const Instruction& instruction, const Datapath& datapath, const TileView& batch) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  const TileExtents shape(instruction);
  const std::size_t c_bytes = spec.step.addend.storage_bytes();
  const std::size_t d_bytes = spec.d.storage_bytes();
  UnpackedTile unpacked;
  if (spec.unpacks() && !is_sparse(instruction.op)) {
    unpacked.a.resize(shape.m * shape.k);
    unpacked.b.resize(shape.n * shape.k);
  }
  if (spec.grouped && !is_sparse(instruction.op)) {
    unpacked.scale_a.resize(shape.m * shape.k);
    unpacked.scale_b.resize(shape.n * shape.k);
  }
  // Sparse operands are unpacked where an index alone says which elements of B a row of A meets.
  const bool sparse = is_sparse(instruction.op);
  const bool plain = spec.binary64 || spec.staged ||
                     (sparse && (!spec.unpacks() || spec.block_scaled() ||
                                 spec.datapath.metadata == MetadataRule::whole_group));
  for (std::size_t tile = 0; tile < batch.tiles; ++tile) {
    if (plain) {
      plain_dots(spec, instruction, batch, tile);
      continue;
    }
    const unsigned modifiers = batch.modifiers != nullptr ? batch.modifiers[tile] : 0U;
    const bool read_c = batch.c != nullptr && (modifiers & kScaleDZero) == 0;
    if (sparse) {
      emulate_sparse_tile(spec, shape, batch, tile, modifiers, read_c);
      continue;
    }
    if (spec.integer) {
      emulate_integer_tile(spec, shape, batch, tile, read_c);
      continue;
    }
    unpack_tile(spec, shape, batch, tile, modifiers, unpacked);
    if (spec.block_scaled()) scale_tile(spec, shape, batch, tile, unpacked);
    for (std::size_t i = 0; i < shape.m; ++i) {
      for (std::size_t j = 0; j < shape.n; ++j) {
        const std::size_t element = (tile * shape.m + i) * shape.n + j;
        const std::uint64_t c = read_c ? load_word(batch.c, c_bytes, element) : 0;
        const Operand* scale_a = spec.grouped ? &unpacked.scale_a[i * shape.k] : nullptr;
        const Operand* scale_b = spec.grouped ? &unpacked.scale_b[j * shape.k] : nullptr;
        store_word(batch.d, d_bytes, element,
                   chain(spec, &unpacked.a[i * shape.k], &unpacked.b[j * shape.k], c, scale_a, scale_b));
      }
    }
  }
}

}  // namespace mmaudit
