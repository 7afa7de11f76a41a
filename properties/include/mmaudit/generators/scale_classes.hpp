#pragma once
// Scale bytes of the input classes: classes whose elements reach an edge reach it with their scales here.
// Included by input classes.hpp, which has the streams and the shape of a tile.
#include <cstdint>

namespace mmaudit::gen::detail {

/// A finite scale with this exponent; the fraction is read from the top bits of `fraction`.
MMAUDIT_HD constexpr std::uint64_t compose_scale(const FormatSpec& format, int exponent,
                                                 std::uint64_t fraction) {
  exponent = clamp(exponent, format.min_exponent(), format.max_exponent());
  const int field = exponent - format.min_exponent() + (format.no_zero ? 0 : 1);
  const std::uint64_t low = format.fraction_bits == 0 ? 0 : fraction >> (64 - format.fraction_bits);
  const std::uint64_t bits = static_cast<std::uint64_t>(field) << format.fraction_bits | low;
  return bits > format.max_finite_bits() ? format.max_finite_bits() : bits;
}

MMAUDIT_HD constexpr std::uint64_t special_scale(const FormatSpec& format, Draws& random) {
  switch (random.in(0, 6)) {
    case 0:
      return 0xFF;  // NaN with every bit set
    case 1:
      return format.conversion_nan_bits();
    case 2:
      return format.max_finite_bits();
    case 3:
      return 0;  // zero, or the least number
    case 4:
      return 1;
    case 5:
      return random.next() >> 56;
    default:
      return one_bits(format) | 0x80U;  // where the top bit is free: 1 with that bit set
  }
}

/// One scale; row and column as in generate(), the block being A's column and B's row.
MMAUDIT_HD constexpr std::uint64_t scale_element(const GeneratorSpec& generator, InputClass input_class,
                                                 std::uint64_t seed, Matrix which, std::uint64_t tile_index,
                                                 int row, int column) {
  const FormatSpec& format = generator.scale;
  Draws random =
      element_stream(key_of(seed, input_class, 20U + static_cast<unsigned>(which), tile_index), row, column);
  Draws tile_random{key_of(seed, input_class, 0, tile_index)};
  const TileShape tile = shape_of(generator, input_class, tile_random);
  const int half = tile.scale / 2;
  const int centre = which == Matrix::scale_a ? half : tile.scale - half;
  const int f = generator.fraction_bits;
  const std::uint64_t fraction = random.next();
  switch (input_class) {
    case InputClass::random_bits:
      return random.next() >> 56;
    case InputClass::random_finite: {
      const std::uint64_t bits = random.next() >> 56;
      const std::uint64_t number = bits & format.magnitude_mask();
      return number > format.max_finite_bits() ? bits - 1 : bits;
    }
    case InputClass::special_values:
      if (random.once_in(3 << (2 * (tile_index % 3)))) return special_scale(format, random);
      return compose_scale(format, random.in(-2, 2), fraction);
    case InputClass::normal:
      // As quantisation to blocks leaves them: the largest element of a block about six.
      return compose_scale(format, random.in(-5, -1), fraction);
    case InputClass::wide_window:
      return compose_scale(format, centre + random.in(-f / 2 - 1, f / 2 + 1), fraction);
    case InputClass::sparse_powers:
      return compose_scale(format, centre + random.in(-f / 3, f / 3), random.once_in(2) ? 0 : fraction);
    case InputClass::cancellation:
      // Elements cancel across blocks only under equal scales; now and then a block is far below.
      return compose_scale(format, random.once_in(6) ? centre - random.in(0, f) : centre, 0);
    case InputClass::floor_edge:
      return compose_scale(format, centre + random.in(-tile.spread, tile.spread),
                           random.once_in(2) ? 0 : fraction);
    default:
      return compose_scale(format, centre + random.in(-1, 1), fraction);
  }
}

}  // namespace mmaudit::gen::detail
