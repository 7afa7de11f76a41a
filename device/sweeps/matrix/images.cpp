#include "sweeps/matrix/images.hpp"

#include <cmath>
#include <numbers>

#include "kernels/shared_layout.hpp"
#include "kernels/wmma_layout.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::sweeps {
namespace {

double normal(Draws& draws) {
  constexpr double kUnit = 1.0 / 9007199254740992.0;
  const double u = (static_cast<double>(draws.next() >> 11U) + 1) * kUnit;
  const double v = static_cast<double>(draws.next() >> 11U) * kUnit;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

constexpr double kDeviation = 0.25;

void draw(Format format, Bytes& elements, Draws& draws) {
  const FormatSpec spec = spec_of(format);
  const std::size_t bytes = spec.storage_bytes();
  for (std::size_t i = 0; i < elements.size() / bytes; ++i)
    store_bits(elements, bytes, i,
               spec.integer() ? draws.next() & (~std::uint64_t{0} >> (64 - spec.value_bits()))
                              : encode_nearest_even(kDeviation * normal(draws), spec));
}

/// Tiles of elements on their way to places in an image.
class Image {
 public:
  /// `bits` per element, `tile_bits` per tile of the image.
  Image(Format format, const Bytes& elements, int rows, int cols, int bits, int tile_bits)
      : elements_(elements),
        width_(spec_of(format).storage_bytes()),
        cols_(cols),
        bits_(bits),
        tile_bits_(tile_bits) {
    tile_elements_ = rows * cols;
    tiles = static_cast<int>(elements.size() / width_) / tile_elements_;
    bytes.resize(static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tile_bits) / 8);
  }
  /// Element (row, col) to a bit of its tile, a multiple of 8 or of the element's bits.
  void put(int tile, Coord at, int bit) {
    const int index = tile * tile_elements_ + at.row * cols_ + at.col;
    const std::uint64_t value =
        load_bits(elements_, width_, static_cast<std::size_t>(index)) & ~std::uint64_t{0} >> (64 - bits_);
    const int to = tile * tile_bits_ + bit;
    for (int i = 0; i < bits_; i += 8)
      bytes[static_cast<std::size_t>((to + i) / 8)] |= static_cast<std::byte>(value >> i << to % 8);
  }

  int tiles;
  Bytes bytes;

 private:
  const Bytes& elements_;
  std::size_t width_;
  int cols_, bits_, tile_bits_, tile_elements_;
};

}  // namespace

TileBatch make_tiles(const Instruction& is, Init init, int count) {
  Draws draws{20220601};
  TileBatch tiles(is, static_cast<std::size_t>(count));
  if (init == Init::random) {
    draw(is.a, tiles.a, draws);
    draw(is.b, tiles.b, draws);
    draw(is.c, tiles.c, draws);
  }
  if (is_sparse(is.op)) {
    const Sparsity sparsity = sparsity_of(is);
    for (std::size_t i = 0; i < tiles.metadata.size(); i += static_cast<std::size_t>(sparsity.kept))
      write_pattern(sparsity, static_cast<int>(draws.next() % static_cast<unsigned>(patterns(sparsity))),
                    &tiles.metadata[i]);
  }
  return tiles;
}

Bytes register_image(const FragmentMap& map, Format format, const Bytes& elements) {
  const int bits = register_bits(format), width = bits > 32 ? 64 : 32, each = width / bits;
  Image image(format, elements, map.rows, map.cols, bits, map.values / each * map.lanes * width);
  for (int tile = 0; tile < image.tiles; ++tile)
    for (int lane = 0; lane < map.lanes; ++lane)
      for (int value = 0; value < map.values; ++value)
        image.put(tile, map.at(lane, value), (value / each * map.lanes + lane) * width + value % each * bits);
  return image.bytes;
}

Bytes metadata_image(const TileBatch& tiles) {
  const Instruction& is = tiles.instruction;
  const MetadataLayout layout = metadata_layout(is);
  const int lanes = lanes_of(is), stored = is.stored_k();
  Bytes image(tiles.tiles * static_cast<std::size_t>(lanes) * sizeof(std::uint32_t));
  for (int tile = 0; tile < static_cast<int>(tiles.tiles); ++tile)
    for (int lane = 0; lane < lanes; ++lane) {
      const int word = lane % 4, row = lane / kWarpLanes * 16 + lane % kWarpLanes / 4;
      const auto rows = [&](int half) {
        const int first = (tile * is.m + row + 8 * half) * stored;
        return &tiles.metadata[static_cast<std::size_t>(first)];
      };
      const int place = tile * lanes + lane;
      if (word < layout.words)
        store_bits(image, sizeof(std::uint32_t), static_cast<std::size_t>(place),
                   pack_word(sparsity_of(is), layout, word, rows));
    }
  return image;
}

Bytes line_image(const Instruction& is, device::WmmaOperand operand, const Bytes& elements,
                 bool column_major) {
  const device::WmmaMatrix matrix = device::wmma_matrix(is, operand);
  const int pitch = 8 * matrix.pitch(column_major);
  Image image(device::wmma_format(is, operand), elements, matrix.rows, matrix.cols, matrix.bits,
              8 * matrix.bytes(column_major));
  for (int tile = 0; tile < image.tiles; ++tile)
    for (int row = 0; row < matrix.rows; ++row)
      for (int col = 0; col < matrix.cols; ++col)
        image.put(tile, {row, col},
                  column_major ? col * pitch + row * matrix.bits : row * pitch + col * matrix.bits);
  return image.bytes;
}

Bytes shared_image(Format format, const Bytes& elements, int rows, int cols, bool rows_are_k) {
  const int bits = register_bits(format), cores = (rows_are_k ? rows : cols) * bits / 8 / device::kLineBytes;
  const int each = bits < 8 ? 8 / bits : 1;  // elements of a byte
  Image image(format, elements, rows, cols, bits, rows * cols * bits);
  for (int tile = 0; tile < image.tiles; ++tile)
    for (int row = 0; row < rows; ++row)
      for (int col = 0; col < cols; ++col) {
        const int mn = rows_are_k ? col : row, k = rows_are_k ? row : col;
        const int byte = device::shared_offset(mn, k / each, bits * each / 8, false, cores);
        image.put(tile, {row, col}, 8 * byte + k % each * bits);
      }
  return image.bytes;
}

}  // namespace mmaudit::sweeps
