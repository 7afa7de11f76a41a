#include "sweeps/matrix/images.hpp"

#include <cmath>
#include <cstring>
#include <numbers>

#include "kernels/shared_layout.hpp"
#include "kernels/wmma_layout.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::sweeps {
namespace {

class Draws {
 public:
  std::uint64_t bits() { return splitmix64(state_); }
  double normal() {
    constexpr double kUnit = 1.0 / 9007199254740992.0;
    const double u = (static_cast<double>(bits() >> 11U) + 1) * kUnit;
    const double v = static_cast<double>(bits() >> 11U) * kUnit;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  std::uint64_t state_ = 20220601;
};

constexpr double kDeviation = 0.25;

std::vector<std::byte> draw(Format format, int rows, int cols, int count, Init init, Draws& draws) {
  const FormatSpec spec = spec_of(format);
  const std::size_t bytes = spec.storage_bytes();
  const auto elements =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * static_cast<std::size_t>(count);
  std::vector<std::byte> out(elements * bytes);
  if (init == Init::zero) return out;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t value = spec.integer()
                                    ? draws.bits() & (~std::uint64_t{0} >> (64 - spec.value_bits()))
                                    : encode_nearest_even(kDeviation * draws.normal(), spec);
    store_word(out.data(), bytes, i, value);
  }
  return out;
}

}  // namespace

Tiles make_tiles(const Instruction& is, Init init, int count) {
  Draws draws;
  Tiles tiles{.count = count, .a = {}, .b = {}, .c = {}, .metadata = {}};
  tiles.a = draw(is.a, is.m, is.stored_k(), count, init, draws);
  tiles.b = draw(is.b, is.k, is.n, count, init, draws);
  tiles.c = draw(is.c, is.m, is.n, count, init, draws);
  if (is_sparse(is.op)) {
    const Sparsity sparsity = sparsity_of(is);
    tiles.metadata.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(is.m * is.stored_k()));
    for (std::size_t i = 0; i < tiles.metadata.size(); i += static_cast<std::size_t>(sparsity.kept))
      write_pattern(sparsity, static_cast<int>(draws.bits() % static_cast<unsigned>(patterns(sparsity))),
                    &tiles.metadata[i]);
  }
  return tiles;
}

std::vector<std::byte> metadata_image(const Instruction& is, const Tiles& tiles) {
  const Sparsity sparsity = sparsity_of(is);
  const MetadataLayout layout = metadata_layout(is);
  const int lanes = lanes_of(is), stored = is.stored_k();
  std::vector<std::uint32_t> image;
  for (int tile = 0; tile < tiles.count; ++tile)
    for (int lane = 0; lane < lanes; ++lane) {
      const int word = lane % 4, row = lane / kWarpLanes * 16 + lane % kWarpLanes / 4;
      const auto rows = [&](int half) {
        const int at = (tile * is.m + row + 8 * half) * stored;
        return &tiles.metadata[static_cast<std::size_t>(at)];
      };
      image.push_back(word < layout.words ? pack_word(sparsity, layout, word, rows) : 0);
    }
  std::vector<std::byte> bytes(image.size() * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), image.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> line_image(const Instruction& is, device::WmmaOperand operand,
                                  const std::vector<std::byte>& tiles, int count, bool column_major) {
  const device::WmmaMatrix matrix = device::wmma_matrix(is, operand);
  const std::size_t bytes = spec_of(device::wmma_format(is, operand)).storage_bytes();
  const int size = matrix.bytes(column_major), pitch = matrix.pitch(column_major);
  std::vector<std::byte> image(static_cast<std::size_t>(size * count));
  for (int tile = 0; tile < count; ++tile)
    for (int row = 0; row < matrix.rows; ++row)
      for (int col = 0; col < matrix.cols; ++col) {
        const int line = column_major ? col : row, position = column_major ? row : col;
        const int bit = position * matrix.bits;
        const int index = (tile * matrix.rows + row) * matrix.cols + col;
        const int at = tile * size + line * pitch + bit / 8;
        const std::uint64_t value = load_word(tiles.data(), bytes, static_cast<std::size_t>(index));
        std::byte* to = &image[static_cast<std::size_t>(at)];
        if (matrix.bits < 8)
          *to |= static_cast<std::byte>((value & ((1U << matrix.bits) - 1)) << (bit % 8));
        else
          std::memcpy(to, &value, bytes);
      }
  return image;
}

std::vector<std::byte> register_image(const FragmentMap& map, Format format,
                                      const std::vector<std::byte>& tiles, int count) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  const std::size_t register_bytes = bytes > 4 ? 8 : 4;
  const int registers = map.values / elements_per_register(format);
  std::vector<std::byte> image(static_cast<std::size_t>(count) * static_cast<std::size_t>(registers) *
                               static_cast<std::size_t>(map.lanes) * register_bytes);
  std::size_t at = 0;
  for (int tile = 0; tile < count; ++tile)
    for (int r = 0; r < registers; ++r)
      for (int lane = 0; lane < map.lanes; ++lane) {
        const std::uint64_t word = register_word(map, format, lane, r, [&](Coord where) {
          const int index = (tile * map.rows + where.row) * map.cols + where.col;
          return load_word(tiles.data(), bytes, static_cast<std::size_t>(index));
        });
        std::memcpy(&image[at], &word, register_bytes);
        at += register_bytes;
      }
  return image;
}

std::vector<std::byte> shared_image(Format format, const std::vector<std::byte>& tiles, int count, int rows,
                                    int cols, bool rows_are_k) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  const bool single_bits = format == Format::b1;
  const std::size_t elements = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  const std::size_t size = single_bits ? elements / 8 : elements * bytes;
  std::vector<std::byte> image(size * static_cast<std::size_t>(count));
  const int k_bytes = (rows_are_k ? rows : cols) * static_cast<int>(bytes) / (single_bits ? 8 : 1);
  const int cores = k_bytes / device::kLineBytes;
  for (int tile = 0; tile < count; ++tile) {
    std::byte* to = &image[size * static_cast<std::size_t>(tile)];
    for (int row = 0; row < rows; ++row)
      for (int col = 0; col < cols; ++col) {
        const int mn = rows_are_k ? col : row, k = rows_are_k ? row : col;
        const int index = (tile * rows + row) * cols + col;
        const std::uint64_t value = load_word(tiles.data(), bytes, static_cast<std::size_t>(index));
        if (single_bits)
          to[device::shared_offset(mn, k / 8, 1, false, cores)] |=
              static_cast<std::byte>((value & 1U) << (k % 8));
        else
          std::memcpy(to + device::shared_offset(mn, k, static_cast<int>(bytes), false, cores), &value,
                      bytes);
      }
  }
  return image;
}

}  // namespace mmaudit::sweeps
