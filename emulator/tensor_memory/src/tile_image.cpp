// What a host gives a tile kernel and takes from it.
#include <algorithm>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/scale_layout.hpp"
#include "tile_text.hpp"

namespace mmaudit::tmem {
namespace {

/// Elements (row, k) of a matrix whose element lies at `index(row, k)` of `from`.
template <typename Index>
void write_matrix(const MatrixDescriptor& matrix, Format format, bool dense4, bool transposed, int rows,
                  int depth, const void* from, const Index& index, std::span<std::uint8_t> image) {
  const Packing packing = packing_of(format, dense4);
  const std::size_t bytes = spec_of(format).storage_bytes();
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; ++k) {
      const ElementPlace place = element_place(matrix, packing, transposed, row, k);
      put_bits(image, place.byte, place.bit, packing.width, load_word(from, bytes, index(row, k)));
    }
  }
}

/// Scales of `rows` rows of A or columns of B as part `part` of `parts` of an image.
void write_scales(const std::vector<std::uint8_t>& scales, ScaleOwner owner, int rows, int vec, int part,
                  int parts, std::span<std::uint8_t> image) {
  const std::vector<std::uint8_t> blocked = blocked_scales(
      scales.data(), owner, 1, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(vec));
  for (std::size_t byte = 0; byte < blocked.size(); ++byte) {
    const std::size_t tile =
        byte / kScaleTile * static_cast<std::size_t>(parts) + static_cast<std::size_t>(part);
    image[tile * kScaleTile + byte % kScaleTile] = blocked[byte];
  }
}

/// `count` scales from `first` on, ones where there are none; scale i is at `index(i)`.
template <typename Index>
std::vector<std::uint8_t> scales_from(const Instruction& inst, const std::uint8_t* scales, std::size_t count,
                                      const Index& index) {
  std::vector<std::uint8_t> out(count, static_cast<std::uint8_t>(one_bits(spec_of(inst.scale))));
  for (std::size_t i = 0; scales != nullptr && i < count; ++i) out[i] = scales[index(i)];
  return out;
}

/// Of the rows from `first_row` on; B's scales are the same in every block of the grid.
void write_all_scales(const TileKernel& kernel, const TileView& batch, std::size_t tile, int first_row,
                      std::span<std::uint8_t> image) {
  const Mma& mma = kernel.mma;
  const Instruction& inst = mma.instruction;
  const TileExtents size(inst);
  const int vec = scales_of(inst), width = mma.d_columns(), parts = mma.layout.blocks;
  const std::size_t from = tile * size.m * size.blocks + index_at(first_row, vec, 0);
  write_scales(
      scales_from(inst, batch.scale_a, index_at(mma.rows(), vec, 0), [&](std::size_t i) { return from + i; }),
      ScaleOwner::a, mma.rows(), vec, 0, 1, image.subspan(kernel.scale_a));
  for (int part = 0; part < parts; ++part) {
    const auto columns = static_cast<std::size_t>(width);
    const auto index = [&](std::size_t i) {
      return (tile * size.blocks + i / columns) * size.n + index_at(part, width, 0) + i % columns;
    };
    write_scales(scales_from(inst, batch.scale_b, index_at(vec, width, 0), index), ScaleOwner::b, width, vec,
                 part, parts, image.subspan(kernel.scale_b));
  }
}

/// In the lanes of every block of D's columns: no source says which of them are read.
void write_metadata(const Mma& mma, const std::uint8_t* metadata, std::span<std::uint8_t> image) {
  const Instruction& inst = mma.instruction;
  const Sparsity sparsity = sparsity_of(inst);
  const int stored = inst.stored_k(), groups = stored / sparsity.kept;
  for (int row = 0; row < mma.rows(); ++row) {
    for (int group = 0; group < groups; ++group) {
      const MetadataPlace at = metadata_place(groups, row, group);
      const std::uint32_t bits =
          encode_group(sparsity, metadata + index_at(row, stored, group * sparsity.kept));
      for (int block = 0; block < mma.layout.blocks; ++block) {
        const int lane = at.lane + block * mma.layout.block_stride;
        put_bits(image, static_cast<std::uint32_t>(16 * lane + 4 * at.column), at.shift, 4, bits);
      }
    }
  }
}

}  // namespace

void write_image(const TileKernel& kernel, const TileView& batch, std::size_t tile,
                 std::span<std::uint8_t> images) {
  const Mma& mma = kernel.mma;
  const Instruction& inst = mma.instruction;
  const TileExtents size(inst);
  const int stored = inst.stored_k();
  std::fill(images.begin(), images.end(), std::uint8_t{0});
  for (int block = 0; block < kernel.blocks(); ++block) {
    const std::span<std::uint8_t> image =
        images.subspan(static_cast<std::size_t>(block) * kernel.image_bytes, kernel.image_bytes);
    const int first_row = block * mma.rows(), first_column = block * kernel.b_columns();
    const std::size_t stored_before = tile * size.m * size.stored + index_at(first_row, stored, 0);
    write_matrix(
        kernel.a, inst.a, mma.dense4(), mma.transpose_a, mma.rows(), stored, batch.a,
        [&](int row, int k) { return stored_before + index_at(row, stored, k); }, image);
    write_matrix(
        kernel.b, inst.b, mma.dense4(), mma.transpose_b, kernel.b_columns(), inst.k, batch.b,
        [&](int column, int k) {
          return tile * size.k * size.n + index_at(k, inst.n, first_column + column);
        },
        image);
    if (mma.form.block_scale) write_all_scales(kernel, batch, tile, first_row, image);
    if (mma.form.sparse) write_metadata(mma, batch.metadata + stored_before, image.subspan(kernel.metadata));
  }
}

void write_addends(const TileKernel& kernel, const TileView& batch, std::size_t tile,
                   std::span<std::uint32_t> words) {
  const std::size_t bytes = spec_of(kernel.mma.instruction.c).storage_bytes();
  for (std::size_t i = 0; i < kernel.words(); ++i)
    words[i] = batch.c == nullptr
                   ? 0
                   : static_cast<std::uint32_t>(load_word(batch.c, bytes, tile * kernel.words() + i));
}

void read_results(const TileKernel& kernel, std::span<const std::uint32_t> words, const TileView& batch,
                  std::size_t tile) {
  const std::size_t bytes = spec_of(kernel.mma.instruction.d).storage_bytes();
  for (std::size_t i = 0; i < kernel.words(); ++i)
    store_word(batch.d, bytes, tile * kernel.words() + i, words[i]);
}

}  // namespace mmaudit::tmem
