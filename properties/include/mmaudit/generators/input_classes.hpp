#pragma once
// Seeded generators of bit patterns, by input class. Random access: every element is a function of (seed,
// class, matrix, tile, row, column), so host and device make the same tiles in any order and any number of
// threads. Changing what a class makes means raising kGeneratorVersion: recordings state it.
#include <cstdint>
#include <string_view>

#include "mmaudit/dot.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::gen {

inline constexpr std::string_view kGeneratorVersion = "1";

enum class InputClass : std::uint8_t {
  random_bits,     ///< every bit pattern alike
  random_finite,   ///< every finite bit pattern alike
  narrow_window,   ///< exponents within a few units: nothing is lost in alignment, rounding decides
  wide_window,     ///< exponents spread over more than F: alignment decides
  normal,          ///< about N(0, 1), rounded to the format
  near_subnormal,  ///< exponents at the bottom of operands and result
  mostly_zeros,    ///< three of four elements are +0 or -0
  cancellation,    ///< large products cancel exactly, small ones are left
  near_overflow,   ///< sums about the largest finite result
  special_values,  ///< infinities, NaNs with payloads, extremes, among ordinary numbers
  far_addend,      ///< c up to 40 binades from the products
  sparse_powers,   ///< few non-zero products, all powers of two, up to F + 6 binades apart
  floor_edge,      ///< few products about the exponent floor, c mostly zero
  count
};

inline constexpr int kInputClasses = static_cast<int>(InputClass::count);

constexpr std::string_view name_of(InputClass input_class) {
  constexpr std::string_view kNames[] = {"random_bits",   "random_finite",  "narrow_window", "wide_window",
                                         "normal",        "near_subnormal", "mostly_zeros",  "cancellation",
                                         "near_overflow", "special_values", "far_addend",    "sparse_powers",
                                         "floor_edge"};
  return kNames[static_cast<int>(input_class)];
}

enum class Matrix : std::uint8_t { a, b, c, scale_a, scale_b };

/// What the generators need to know of an instruction; plain data, passed to kernels by value.
struct GeneratorSpec {
  FormatSpec a, b, c;
  std::int16_t k = 0;  ///< products, as DotSpec::k
  Sparsity sparsity;
  std::int16_t fraction_bits = 0;  ///< F of the datapath, the width that matters for alignment
  std::int16_t floor = 0;          ///< the datapath's floor
  std::int16_t result_max_exponent = 0;
  FormatSpec scale;              ///< of the scale bytes; id none: there are none
  std::int16_t scale_block = 0;  ///< products per scale
};

constexpr GeneratorSpec make_generator_spec(const Instruction& instruction, const Datapath& datapath) {
  GeneratorSpec generator;
  generator.a = spec_of(instruction.a);
  generator.b = spec_of(instruction.b);
  generator.c = spec_of(instruction.c);
  generator.k = static_cast<std::int16_t>(instruction.stored_k());
  generator.sparsity = sparsity_of(instruction);
  generator.scale = spec_of(instruction.scale);
  generator.scale_block = static_cast<std::int16_t>(products_per_scale(instruction));
  const bool chain = datapath.arithmetic == Arithmetic::fma_chain;
  generator.fraction_bits = chain ? std::int16_t{53} : datapath.fraction_bits;
  generator.floor = chain ? std::int16_t{-1022} : datapath.min_alignment_exponent;
  generator.result_max_exponent = static_cast<std::int16_t>(spec_of(instruction.d).max_exponent());
  return generator;
}

namespace detail {

MMAUDIT_HD constexpr std::uint64_t key_of(std::uint64_t seed, InputClass input_class, unsigned purpose,
                                          std::uint64_t tile) {
  return mix(mix(seed + 0x632BE59BD9B4E019U * (static_cast<std::uint64_t>(input_class) + 1)) ^
             (tile * 0xD1342543DE82EF95U + purpose));
}

MMAUDIT_HD constexpr Draws element_stream(std::uint64_t key, int row, int column) {
  return {mix(key ^ (static_cast<std::uint64_t>(static_cast<std::uint32_t>(row)) << 32 |
                     static_cast<std::uint32_t>(column)))};
}

MMAUDIT_HD constexpr int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/// A finite number with the given exponent; below the format's least exponent it becomes subnormal, above the
/// largest it is clamped. `fraction` is read from its top bits; `low` fills bits the hardware should ignore.
MMAUDIT_HD constexpr std::uint64_t compose(const FormatSpec& format, bool negative, int exponent,
                                           std::uint64_t fraction, std::uint64_t low = 0) {
  const int p = format.fraction_bits;
  std::uint64_t significand = (fraction >> (64 - p)) | (std::uint64_t{1} << p);
  exponent = exponent > format.max_exponent() ? format.max_exponent() : exponent;
  std::uint64_t field = 0;
  if (exponent < format.min_exponent()) {
    significand = shift_right(significand, format.min_exponent() - exponent);
  } else {
    field = static_cast<std::uint64_t>(exponent - format.min_exponent());
  }
  std::uint64_t bits = (field << p) + significand;
  const std::uint64_t largest = format.max_finite_bits() >> format.ignored_low_bits;
  bits = bits > largest ? largest : bits;
  bits <<= format.ignored_low_bits;
  bits |= low & ((std::uint64_t{1} << format.ignored_low_bits) - 1);
  return bits | (negative ? format.sign_bit() : 0);
}

MMAUDIT_HD constexpr std::uint64_t random_bits(const FormatSpec& format, Draws& random) {
  const std::uint64_t bits = random.next() >> (64 - format.storage_bits);
  // Elements below a byte lie in its low bits; tf32 keeps the ones it ignores.
  return format.value_bits() < 8 ? bits & (format.sign_bit() | format.magnitude_mask()) : bits;
}

MMAUDIT_HD constexpr std::uint64_t random_finite(const FormatSpec& format, Draws& random) {
  const std::uint64_t bits = random_bits(format, random);
  const std::uint64_t largest =
      format.max_finite_bits() | ((std::uint64_t{1} << format.ignored_low_bits) - 1);
  const std::uint64_t magnitude_bits = bits & ~format.sign_bit();
  if (magnitude_bits <= largest) return bits;
  return (bits & format.sign_bit()) | (magnitude_bits & (largest >> 1));
}

/// About N(0, 1): the sum of twelve uniform variables, rounded once to the format (tf32 keeps dirty low
/// bits).
MMAUDIT_HD constexpr std::uint64_t normal(FormatSpec format, Draws& random) {
  std::int64_t sum = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t word = random.next();
    sum += static_cast<std::int64_t>(word >> 32) + static_cast<std::int64_t>(word & 0xFFFFFFFFU);
  }
  sum -= std::int64_t{6} << 32;
  format.fraction_bits = static_cast<std::uint8_t>(format.fraction_bits + format.ignored_low_bits);
  format.ignored_low_bits = 0;
  OutputRule rule;
  rule.fraction_bits = format.fraction_bits;
  rule.rounding = Rounding::nearest_even;
  return round_to_output(magnitude(sum), sum < 0, -32, rule, format);
}

MMAUDIT_HD constexpr std::uint64_t special(const FormatSpec& format, Draws& random) {
  const std::uint64_t sign = random.once_in(2) ? format.sign_bit() : 0;
  const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
  const std::uint64_t least_normal = unit << format.fraction_bits;
  const std::uint64_t low = random.next() & (unit - 1);
  switch (random.in(0, 9)) {
    case 0:
    case 1:
      return format.specials == Specials::ieee ? sign | format.infinity_bits() | low
                                               : sign | format.max_finite_bits();
    case 2: {
      if (format.specials == Specials::nan_at_minus_zero) return format.sign_bit();
      if (format.specials == Specials::nan_only) return sign | (format.sign_bit() - 1);
      const std::uint64_t payload = random.next() & (least_normal - 1);
      return sign | format.infinity_bits() | (payload == 0 ? 1 : payload);
    }
    case 3:
      return sign | format.max_finite_bits() | low;
    case 4:
      return sign | least_normal | low;
    case 5:
      return sign | unit | low;
    case 6:
      return sign | (least_normal - unit) | low;
    case 7:
      return compose(format, sign != 0, 0, 0, low);
    case 8:
      return sign | low;
    default:
      return sign;
  }
}

/// Exponents a tile is built around.
struct TileShape {
  int a = 0, b = 0, c = 0;  // centres
  int spread = 0;           // half width
  int zeros = 1;            // an element is zero unless once_in(zeros)
  int pair = 1;             // cancellation: k and k ^ pair belong together
  bool dirty = false;       // tf32: fill the ignored bits
  int scale = 0;            // sum of the exponents of the two scales; 0 where there are none
};

/// Centres whose sum is `target` as nearly as the formats allow.
MMAUDIT_HD constexpr void centre_products_at(const GeneratorSpec& generator, int target, Draws& random,
                                             TileShape& tile) {
  const int low = target - generator.b.max_exponent();
  const int high = target - generator.b.min_exponent();
  const int a_low = clamp(low, generator.a.min_exponent(), generator.a.max_exponent());
  const int a_high = clamp(high, generator.a.min_exponent(), generator.a.max_exponent());
  tile.a = random.in(a_low, a_high);
  tile.b = clamp(target - tile.a, generator.b.min_exponent(), generator.b.max_exponent());
  // What the elements cannot reach the scales can.
  if (generator.scale_block != 0)
    tile.scale = clamp(target - tile.a - tile.b, 2 * generator.scale.min_exponent(),
                       2 * generator.scale.max_exponent());
}

MMAUDIT_HD constexpr TileShape shape_of(const GeneratorSpec& generator, InputClass input_class,
                                        Draws random) {
  TileShape tile;
  tile.dirty = random.once_in(2);
  const int f = generator.fraction_bits;
  switch (input_class) {
    case InputClass::narrow_window:
    case InputClass::mostly_zeros:
    case InputClass::cancellation:
    case InputClass::far_addend:
      // Centred so that the result stays in range in most tiles.
      centre_products_at(generator,
                         random.in(generator.c.min_exponent() + 4, generator.result_max_exponent - 8), random,
                         tile);
      tile.spread = 2;
      tile.c = tile.a + tile.b + tile.scale +
               (input_class == InputClass::far_addend ? random.in(-40, 40) : random.in(-6, 6));
      tile.zeros = input_class == InputClass::mostly_zeros ? 4 : 1;
      tile.pair = 1 << random.in(0, floor_log2(static_cast<std::uint64_t>(generator.k)) - 1);
      break;
    case InputClass::wide_window:
      centre_products_at(generator,
                         random.in(generator.c.min_exponent() + 4, generator.result_max_exponent - 8), random,
                         tile);
      tile.spread = 2 + f / 4;
      tile.c = tile.a + tile.b + tile.scale + random.in(-f, f);
      break;
    case InputClass::near_subnormal:
      centre_products_at(generator, generator.floor + random.in(-30, 30), random, tile);
      if (random.once_in(2)) tile.a = generator.a.min_exponent() - random.in(0, 2);
      if (random.once_in(2)) tile.b = generator.b.min_exponent() - random.in(0, 2);
      tile.spread = 3;
      tile.c = generator.c.min_exponent() - random.in(-4, generator.c.fraction_bits);
      break;
    case InputClass::near_overflow:
      centre_products_at(generator, generator.result_max_exponent - random.in(-1, 5), random, tile);
      tile.spread = 1;
      tile.c = generator.result_max_exponent - random.in(0, 3);
      break;
    case InputClass::sparse_powers:
      centre_products_at(generator,
                         random.in(generator.c.min_exponent() + f, generator.result_max_exponent - 2), random,
                         tile);
      tile.spread = f / 4 + 2;
      tile.c = tile.a + tile.b + tile.scale + random.in(-f - 2, f + 2);
      tile.zeros = generator.k > 8 ? generator.k / 4 : 2;
      break;
    case InputClass::floor_edge:
      centre_products_at(generator, generator.floor + random.in(-f - 4, 2), random, tile);
      tile.spread = random.in(1, f / 4 + 2);
      tile.c = generator.c.min_exponent() - random.in(0, generator.c.fraction_bits);
      tile.zeros = generator.k > 8 ? generator.k / 4 : 2;
      break;
    default:
      break;
  }
  return tile;
}

MMAUDIT_HD constexpr std::uint64_t element_of(const FormatSpec& format, InputClass input_class, Matrix which,
                                              int centre, const TileShape& tile, Draws& random) {
  const bool negative = random.once_in(2);
  const std::uint64_t low = tile.dirty ? random.next() : 0;
  const bool zero =
      which == Matrix::c
          ? (input_class == InputClass::floor_edge && !random.once_in(4)) ||
                ((input_class == InputClass::mostly_zeros || input_class == InputClass::near_subnormal) &&
                 random.once_in(2))
          : !random.once_in(tile.zeros);
  if (zero)
    return (negative ? format.sign_bit() : 0) | (low & ((std::uint64_t{1} << format.ignored_low_bits) - 1));
  const int exponent = centre + random.in(-tile.spread, tile.spread);
  std::uint64_t fraction = random.next();
  if (input_class == InputClass::sparse_powers || input_class == InputClass::floor_edge) {
    // Powers of two, their neighbours, and half-way patterns: the inputs on which two rules differ.
    const int pattern = random.in(0, 7);
    fraction = pattern < 4    ? 0
               : pattern == 4 ? std::uint64_t{1} << 63
               : pattern == 5 ? ~std::uint64_t{0}
                              : fraction;
  }
  return compose(format, negative, exponent, fraction, low);
}

/// The k at which a factor stands in its products, for classes whose factors belong together: A's column; of
/// a sparse generator all rows of B that one group selects from count as its first.
MMAUDIT_HD constexpr int factor_k(const GeneratorSpec& generator, Matrix which, int row, int column) {
  return which == Matrix::a ? column : row / generator.sparsity.group * generator.sparsity.kept;
}

}  // namespace detail
}  // namespace mmaudit::gen

#include "mmaudit/generators/integer_classes.hpp"
#include "mmaudit/generators/metadata_classes.hpp"
#include "mmaudit/generators/scale_classes.hpp"

namespace mmaudit::gen {

/// What an input class decides once for all tiles of one `shape_index`; integers decide it element by
/// element.
MMAUDIT_HD constexpr detail::TileShape tile_shape(const GeneratorSpec& generator, InputClass input_class,
                                                  std::uint64_t seed, std::uint64_t shape_index) {
  const Draws random{detail::key_of(seed, input_class, 0, shape_index)};
  return generator.c.integer() ? detail::TileShape{} : detail::shape_of(generator, input_class, random);
}

/// Raw bits of one element. A is (m, stored k): row i, column k. B is (k, n): row k, column j. C is (m, n).
/// The scales are (m, k / scale_block) and (k / scale_block, n). `tile` is tile_shape() of `shape_index`:
/// tiles that share it can be multiplied with each other.
MMAUDIT_HD constexpr std::uint64_t generate(const GeneratorSpec& generator, InputClass input_class,
                                            std::uint64_t seed, Matrix which, std::uint64_t tile_index,
                                            int row, int column, std::uint64_t shape_index,
                                            const detail::TileShape& tile) {
  if (which == Matrix::scale_a || which == Matrix::scale_b)
    return detail::scale_element(generator, input_class, seed, which, tile_index, row, column);
  const FormatSpec& format = which == Matrix::a   ? generator.a
                             : which == Matrix::b ? generator.b
                                                  : generator.c;
  if (which == Matrix::b && detail::never_read(generator, input_class, seed, shape_index, row))
    return detail::unread(generator, input_class, seed, tile_index, row, column);
  if (format.integer())
    return detail::integer_element(generator, input_class, seed, which, tile_index, row, column, shape_index);
  const std::uint64_t key = detail::key_of(seed, input_class, 1U + static_cast<unsigned>(which), tile_index);
  Draws random = detail::element_stream(key, row, column);
  if (input_class == InputClass::random_bits) return detail::random_bits(format, random);
  if (input_class == InputClass::random_finite) return detail::random_finite(format, random);
  if (input_class == InputClass::normal) return detail::normal(format, random);

  const int centre = which == Matrix::a ? tile.a : which == Matrix::b ? tile.b : tile.c;

  if (input_class == InputClass::special_values) {
    const int rarity = 4 << (2 * (tile_index % 3));  // from crowded tiles to a lone special value
    if (random.once_in(rarity)) return detail::special(format, random);
    return detail::normal(format, random);
  }
  if (input_class == InputClass::cancellation && which != Matrix::c) {
    const int k = detail::factor_k(generator, which, row, column);
    const int other = which == Matrix::a ? row : column;
    const int pair = tile.pair < generator.sparsity.kept ? generator.sparsity.kept : tile.pair;
    const int first = k & ~pair;
    // One pair in eight is left alone and far smaller: it is what remains. The choice is the pair's, not the
    // row's.
    Draws pair_random = detail::element_stream(detail::key_of(seed, input_class, 9, shape_index),
                                               first & -generator.sparsity.kept, 0);
    if (pair_random.once_in(8)) {
      const int drop = pair_random.in(0, generator.fraction_bits / 2 + 4);
      return detail::element_of(format, input_class, which, centre - drop, tile, random);
    }
    Draws shared = which == Matrix::a ? detail::element_stream(key, other, first)
                                      : detail::element_stream(key, first, other);
    const std::uint64_t bits = detail::element_of(format, input_class, which, centre, tile, shared);
    return which == Matrix::a && k != first ? bits ^ format.sign_bit() : bits;
  }
  return detail::element_of(format, input_class, which, centre, tile, random);
}

MMAUDIT_HD constexpr std::uint64_t generate(const GeneratorSpec& generator, InputClass input_class,
                                            std::uint64_t seed, Matrix which, std::uint64_t tile_index,
                                            int row, int column) {
  return generate(generator, input_class, seed, which, tile_index, row, column, tile_index,
                  tile_shape(generator, input_class, seed, tile_index));
}

}  // namespace mmaudit::gen
