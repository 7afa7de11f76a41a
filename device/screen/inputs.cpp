#include "mmaudit/screen/inputs.hpp"

#include <algorithm>
#include <cstring>

#include "mmaudit/convert.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/splitmix64.hpp"
#include "sweeps/matrix/images.hpp"

namespace mmaudit::screen {
namespace {

constexpr std::uint64_t kSeed = 24;

/// Element (row, column) of an operand: a function of both, so that neighbours can differ in every bit.
template <typename Value>
void fill(Format format, int rows, int cols, std::vector<std::byte>& elements, const Value& value) {
  const FormatSpec spec = spec_of(format);
  const std::size_t bytes = spec.storage_bytes();
  std::size_t index = 0;
  for (int tile = 0; tile < kTiles; ++tile)
    for (int row = 0; row < rows; ++row)
      for (int col = 0; col < cols; ++col) store_bits(elements, bytes, index++, value(spec, tile, row, col));
}

/// 0101... and its complement; of a float also the sign, and the exponents 0 and 1, which have no bit in
/// common.
std::uint64_t toggling_bits(const FormatSpec& spec, int tile, int row, int col) {
  const bool odd = ((tile + row + col) & 1) != 0;
  const std::uint64_t value_mask = ~std::uint64_t{0} >> (64 - spec.value_bits());
  if (spec.integer()) return (odd ? 0xAAAAAAAAAAAAAAAAU : 0x5555555555555555U) & value_mask;
  const int p = spec.fraction_bits + spec.ignored_low_bits;
  const std::uint64_t fraction_mask = (std::uint64_t{1} << p) - 1;
  const auto field = static_cast<std::uint64_t>(spec.bias) + (odd ? 1 : 0);
  return (odd ? spec.sign_bit() : 0) | field << p |
         ((odd ? 0xAAAAAAAAAAAAAAAAU : 0x5555555555555555U) & fraction_mask);
}

std::uint64_t drawn(int tile, int line, int position) {
  return mixed(static_cast<std::uint64_t>(tile) << 40U | static_cast<std::uint64_t>(line) << 20U |
               static_cast<std::uint64_t>(position));
}

/// -3 to 3; of unsigned integers 0 to 6, of single bits 0 and 1.
std::uint64_t integer_bits(const FormatSpec& spec, int tile, int row, int col) {
  const int value = static_cast<int>(drawn(tile, row, col) % 7) - 3;
  if (!spec.integer()) return encode_nearest_even(value, spec);
  const std::uint64_t value_mask = ~std::uint64_t{0} >> (64 - spec.value_bits());
  return static_cast<std::uint64_t>(value + (spec.encoding == Encoding::signed_integer ? 0 : 3)) & value_mask;
}

/// Eight binades up to 8, both factors alike; the sign is +.
std::uint64_t magnitude_bits(const FormatSpec& spec, std::uint64_t random) {
  const int p = spec.fraction_bits + spec.ignored_low_bits;
  const std::uint64_t fraction = (std::uint64_t{1} << spec.fraction_bits) - 1;
  const std::uint64_t field = static_cast<std::uint64_t>(spec.bias) + 2 - random % 8;
  return field << p | (random >> 3U & fraction) << spec.ignored_low_bits;
}

/// Near the largest magnitude: the upper three bits are those of the least signed or of the largest unsigned
/// value; a single bit is 1.
std::uint64_t large_integer_bits(const FormatSpec& spec, int tile, int row, int col) {
  const std::uint64_t value_mask = ~std::uint64_t{0} >> (64 - spec.value_bits());
  if (spec.encoding == Encoding::signed_integer)
    return spec.sign_bit() | (drawn(tile, row, col) & value_mask >> 3U);
  return value_mask & ~(drawn(tile, row, col) & value_mask >> 3U);
}

/// B has one magnitude over four elements along k, and its sign alternates. Two stored elements of A that
/// follow each other meet two of these four: their products have opposite signs, and are equal where the
/// elements of A are. In half of the pairs the last bits of A differ.
void fill_cancelling_pairs(const Instruction& is, TileBatch& tiles) {
  fill(is.b, is.k, is.n, tiles.b, [](const FormatSpec& spec, int tile, int k, int col) {
    return magnitude_bits(spec, drawn(tile, k / 4, col)) | (k % 2 != 0 ? spec.sign_bit() : 0);
  });
  const int stored = is.stored_k();
  const Sparsity sparsity = sparsity_of(is);
  const auto is_odd = [&](int tile, int row, int i) {  // k of the element of B that it meets
    if (tiles.metadata.empty()) return i % 2 != 0;
    const auto at =
        (static_cast<std::size_t>(tile) * static_cast<std::size_t>(is.m) + static_cast<std::size_t>(row)) *
            static_cast<std::size_t>(stored) +
        static_cast<std::size_t>(i);
    return (i / sparsity.kept * sparsity.group + tiles.metadata[at]) % 2 != 0;
  };
  fill(is.a, is.m, stored, tiles.a, [&](const FormatSpec& spec, int tile, int row, int i) {
    const std::uint64_t random = drawn(tile, row, i / 2), bits = magnitude_bits(spec, random);
    if (i % 2 == 0) return bits;
    const bool same_sign = is_odd(tile, row, i) == is_odd(tile, row, i - 1);
    const std::uint64_t last = (random >> 61U & 3U) << spec.ignored_low_bits;
    return (random >> 63U != 0 ? bits ^ last : bits) ^ (same_sign ? spec.sign_bit() : 0);
  });
}

gen::InputClass class_of(InputSet set) {
  switch (set) {
    case InputSet::wide_window:
      return gen::InputClass::wide_window;
    case InputSet::cancellation:
      return gen::InputClass::cancellation;
    case InputSet::near_subnormal:
      return gen::InputClass::near_subnormal;
    default:
      return gen::InputClass::special_values;
  }
}

/// `count` times one after another.
void repeat_bytes(const std::byte* from, std::size_t bytes, int count, std::vector<std::byte>& to) {
  for (int i = 0; i < count; ++i) to.insert(to.end(), from, from + bytes);
}

}  // namespace

std::string_view name_of(InputSet set) {
  constexpr std::string_view kNames[] = {"normal",       "toggling",       "integers",       "wide_window",
                                         "cancellation", "near_subnormal", "special_values", "adder_width"};
  return kNames[static_cast<int>(set)];
}

TileBatch make_operands(const Instruction& is, const Datapath& datapath, InputSet set) {
  if (set == InputSet::normal || set == InputSet::toggling || set == InputSet::integers) {
    TileBatch tiles = sweeps::make_tiles(is, sweeps::Init::random, kTiles);
    std::fill(tiles.c.begin(), tiles.c.end(), std::byte{0});
    if (set == InputSet::normal) return tiles;
    const auto value = set == InputSet::toggling ? toggling_bits : integer_bits;
    fill(is.a, is.m, is.stored_k(), tiles.a, value);
    fill(is.b, is.k, is.n, tiles.b, value);
    return tiles;
  }
  if (set == InputSet::adder_width) {
    TileBatch tiles = sweeps::make_tiles(is, sweeps::Init::random, kTiles);
    std::fill(tiles.c.begin(), tiles.c.end(), std::byte{0});
    if (spec_of(is.a).integer()) {
      fill(is.a, is.m, is.stored_k(), tiles.a, large_integer_bits);
      fill(is.b, is.k, is.n, tiles.b, large_integer_bits);
    } else {
      fill_cancelling_pairs(is, tiles);
    }
    return tiles;
  }
  TileBatch tiles(is);
  gen::append_class(tiles, gen::make_generator_spec(is, datapath), class_of(set), kSeed, 0, kTiles, 0);
  std::fill(tiles.c.begin(), tiles.c.end(), std::byte{0});
  return tiles;
}

std::vector<std::byte> chain_results(const TileBatch& tiles, const Datapath& datapath, int steps) {
  const Instruction& is = tiles.instruction;
  const TileExtents extents(is);
  const std::size_t row_of_a = tiles.a.size() / tiles.tiles / extents.m,
                    b_tile = tiles.b.size() / tiles.tiles;
  std::vector<std::byte> d(tiles.tiles * extents.m * extents.n * spec_of(is.d).storage_bytes());
  std::vector<std::byte> a, b;
  std::vector<std::uint8_t> metadata;
  a.reserve(tiles.a.size() * static_cast<std::size_t>(steps));
  b.reserve(tiles.b.size() * static_cast<std::size_t>(steps));
  for (std::size_t row = 0; row < tiles.tiles * extents.m; ++row) {
    repeat_bytes(&tiles.a[row * row_of_a], row_of_a, steps, a);
    for (int i = 0; i < steps && !tiles.metadata.empty(); ++i) {
      const std::uint8_t* first = &tiles.metadata[row * extents.stored];
      metadata.insert(metadata.end(), first, first + extents.stored);
    }
  }
  for (std::size_t tile = 0; tile < tiles.tiles; ++tile)
    repeat_bytes(&tiles.b[tile * b_tile], b_tile, steps, b);
  Matmul problem;
  problem.batch = tiles.tiles;
  problem.m = extents.m;
  problem.n = extents.n;
  problem.k = extents.k * static_cast<std::uint64_t>(steps);
  problem.a = a.data();
  problem.b = b.data();
  problem.d = d.data();
  problem.metadata = metadata.empty() ? nullptr : metadata.data();
  matmul(is, datapath, problem);
  return d;
}

std::vector<std::uint32_t> words_of_lane(const Instruction& is, const std::vector<std::byte>& image, int tile,
                                         int lane) {
  const FragmentMap map = fragment_d(is);
  const std::size_t width = register_bits(is.d) > 32 ? 8 : 4;
  const auto registers = static_cast<std::size_t>(map.values / elements_per_register(is.d));
  const auto lanes = static_cast<std::size_t>(map.lanes);
  std::vector<std::uint32_t> words(registers * width / 4);
  for (std::size_t r = 0; r < registers; ++r)
    std::memcpy(
        &words[r * width / 4],
        &image[((static_cast<std::size_t>(tile) * registers + r) * lanes + static_cast<std::size_t>(lane)) *
               width],
        width);
  return words;
}

}  // namespace mmaudit::screen
