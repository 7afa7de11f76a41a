#include "mmaudit/generators/tiles.hpp"

#include <algorithm>

namespace mmaudit::gen {
void append_class(TileBatch& tiles, const GeneratorSpec& generator, InputClass input_class,
                  std::uint64_t seed, std::uint64_t first_tile, std::size_t count, std::uint8_t modifiers) {
  const Instruction& inst = tiles.instruction;
  const TileExtents shape(inst);
  const std::size_t first = tiles.grow(count, modifiers);
  const auto for_each = [&](Matrix which, std::size_t rows, std::size_t columns, auto&& put) {
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
          put(((first + t) * rows + i) * columns + j,
              generate(generator, input_class, seed, which, first_tile + t, static_cast<int>(i),
                       static_cast<int>(j)));
  };
  const auto fill = [&](std::vector<std::byte>& buffer, Format format, Matrix which, std::size_t rows,
                        std::size_t columns) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    for_each(which, rows, columns,
             [&](std::size_t at, std::uint64_t bits) { store_bits(buffer, bytes, at, bits); });
  };
  fill(tiles.a, inst.a, Matrix::a, shape.m, shape.stored);
  fill(tiles.b, inst.b, Matrix::b, shape.k, shape.n);
  fill(tiles.c, inst.c, Matrix::c, shape.m, shape.n);
  const auto fill_scales = [&](std::vector<std::uint8_t>& scales, Matrix which, std::size_t rows,
                               std::size_t columns) {
    for_each(which, rows, columns,
             [&](std::size_t at, std::uint64_t bits) { scales[at] = static_cast<std::uint8_t>(bits); });
  };
  fill_scales(tiles.scale_a, Matrix::scale_a, shape.m, shape.blocks);
  fill_scales(tiles.scale_b, Matrix::scale_b, shape.blocks, shape.n);
  const std::size_t each = shape.m * shape.stored;
  for (std::size_t i = 0; i < tiles.metadata.size() / tiles.tiles * count; ++i)
    tiles.metadata[first * each + i] =
        generate_metadata(generator, input_class, seed, first_tile + i / each,
                          static_cast<int>(i % each / shape.stored), static_cast<int>(i % shape.stored));
}

namespace {

/// Column j of a sparse tile: the case's elements of B where the rows' metadata select, beside them what
/// would show if it were read.
void place_sparse_column(TileBatch& tiles, const TileExtents& shape, std::size_t tile, std::size_t j,
                         const DirectedDot& one) {
  const Sparsity sparsity = sparsity_of(tiles.instruction);
  const FormatSpec format = spec_of(tiles.instruction.b);
  const std::uint64_t shown[] = {format.integer() ? 0x7FU : format.magnitude_mask(),
                                 format.integer() ? 0x80U : format.infinity_bits(),
                                 format.integer() ? 0x55U : format.sign_bit() | format.max_finite_bits()};
  const std::uint8_t* metadata = &tiles.metadata[tile * shape.m * shape.stored];
  const auto put = [&](std::size_t k, std::uint64_t bits) {
    store_bits(tiles.b, spec_of(tiles.instruction.b).storage_bytes(), (tile * shape.k + k) * shape.n + j,
               bits);
  };
  for (std::size_t k = 0; k < shape.k; ++k) put(k, shown[(k + j) % 3]);
  for (std::size_t k = 0; k < shape.stored; ++k)
    put(static_cast<std::size_t>(selected_k(sparsity, MetadataRule::selected, metadata, static_cast<int>(k))),
        one.b[k]);
}

}  // namespace

std::size_t append_directed(TileBatch& tiles, const Datapath& datapath, std::uint8_t modifiers) {
  const std::vector<DirectedDot> cases = directed_dots(tiles.instruction, datapath);
  const TileExtents shape(tiles.instruction);
  const std::size_t per_tile = std::min(shape.m, shape.n);
  const std::size_t count = (cases.size() + per_tile - 1) / per_tile;
  const std::size_t first = tiles.grow(count, modifiers);
  if (is_sparse(tiles.instruction.op)) {
    const Sparsity sparsity = sparsity_of(tiles.instruction);
    const auto kept = static_cast<std::size_t>(sparsity.kept);
    const std::size_t groups = shape.stored / kept;
    for (std::size_t g = first * shape.m * groups; g < tiles.tiles * shape.m * groups; ++g) {
      const std::size_t t = g / (shape.m * groups);
      write_pattern(sparsity,
                    static_cast<int>((t + g % groups) % static_cast<std::size_t>(patterns(sparsity))),
                    &tiles.metadata[g * kept]);
    }
  }
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t here = std::min(per_tile, cases.size() - t * per_tile);
    for (std::size_t i = 0; i < shape.m; ++i) {
      const DirectedDot& one = cases[t * per_tile + i % here];
      for (std::size_t k = 0; k < shape.stored; ++k)
        store_bits(tiles.a, spec_of(tiles.instruction.a).storage_bytes(),
                   ((first + t) * shape.m + i) * shape.stored + k, one.a[k]);
      for (std::size_t block = 0; block < shape.blocks; ++block)
        tiles.scale_a[((first + t) * shape.m + i) * shape.blocks + block] = one.scale_a[block];
      for (std::size_t j = 0; j < shape.n; ++j)
        store_bits(tiles.c, spec_of(tiles.instruction.c).storage_bytes(),
                   ((first + t) * shape.m + i) * shape.n + j, one.c);
    }
    for (std::size_t j = 0; j < shape.n; ++j) {
      const DirectedDot& one = cases[t * per_tile + j % here];
      for (std::size_t block = 0; block < shape.blocks; ++block)
        tiles.scale_b[((first + t) * shape.blocks + block) * shape.n + j] = one.scale_b[block];
      if (is_sparse(tiles.instruction.op)) {
        place_sparse_column(tiles, shape, first + t, j, one);
        continue;
      }
      for (std::size_t k = 0; k < shape.k; ++k)
        store_bits(tiles.b, spec_of(tiles.instruction.b).storage_bytes(),
                   ((first + t) * shape.k + k) * shape.n + j, one.b[k]);
    }
  }
  return count;
}

}  // namespace mmaudit::gen
