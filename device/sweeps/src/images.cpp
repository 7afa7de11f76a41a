#include "mmaudit/sweeps/images.hpp"

#include <cmath>
#include <cstring>
#include <numbers>

#include "kernels/shared_layout.hpp"
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
  Tiles tiles{.count = count, .a = {}, .b = {}, .c = {}};
  tiles.a = draw(is.a, is.m, is.k, count, init, draws);
  tiles.b = draw(is.b, is.k, is.n, count, init, draws);
  tiles.c = draw(is.c, is.m, is.n, count, init, draws);
  return tiles;
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
  for (int tile = 0; tile < count; ++tile) {
    std::byte* to = &image[size * static_cast<std::size_t>(tile)];
    for (int row = 0; row < rows; ++row)
      for (int col = 0; col < cols; ++col) {
        const int mn = rows_are_k ? col : row, k = rows_are_k ? row : col;
        const int index = (tile * rows + row) * cols + col;
        const std::uint64_t value = load_word(tiles.data(), bytes, static_cast<std::size_t>(index));
        if (single_bits)
          to[device::shared_offset(mn, k / 8, 1, false)] |= static_cast<std::byte>((value & 1U) << (k % 8));
        else
          std::memcpy(to + device::shared_offset(mn, k, static_cast<int>(bytes), false), &value, bytes);
      }
  }
  return image;
}

}  // namespace mmaudit::sweeps
