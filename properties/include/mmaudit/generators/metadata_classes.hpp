#pragma once
// Metadata of sparse instructions, by style: which of the six (tf32: two) patterns each group has. The style
// goes round with class and tile. Included by input classes.hpp, which has the streams.
#include <cstdint>

namespace mmaudit::gen {

enum class MetadataStyle : std::uint8_t {
  random,       ///< every group its own pattern
  one,          ///< one pattern in the whole tile
  alternating,  ///< neighbouring groups differ, rows do not
  first,        ///< the first positions
  last,         ///< the last positions
  unread,       ///< alternating, and what no row of A selects from B is NaN, infinite or the largest number
  count
};

MMAUDIT_HD constexpr MetadataStyle metadata_style(InputClass input_class, std::uint64_t tile_index) {
  constexpr auto kCount = static_cast<std::uint64_t>(MetadataStyle::count);
  return static_cast<MetadataStyle>((tile_index * 5 + static_cast<std::uint64_t>(input_class)) % kCount);
}

namespace detail {

/// Number of the pattern that `group` of `row` has.
MMAUDIT_HD constexpr int metadata_pattern(const GeneratorSpec& generator, InputClass input_class,
                                          std::uint64_t seed, std::uint64_t tile_index, int row, int group,
                                          std::uint64_t shape_index) {
  const int most = patterns(generator.sparsity) - 1;
  Draws shape{key_of(seed, input_class, 4, shape_index)};
  const int base = shape.in(0, most);
  switch (metadata_style(input_class, shape_index)) {
    case MetadataStyle::one:
      return base;
    case MetadataStyle::alternating:
    case MetadataStyle::unread:
      return (base + group) % (most + 1);
    case MetadataStyle::first:
      return 0;
    case MetadataStyle::last:
      return most;
    default: {
      Draws random = element_stream(key_of(seed, input_class, 4, tile_index), row, group);
      return random.in(0, most);
    }
  }
}

/// True when `row` of B is one that no row of A selects, and the tile's style says so in its values.
MMAUDIT_HD constexpr bool never_read(const GeneratorSpec& generator, InputClass input_class,
                                     std::uint64_t seed, std::uint64_t shape_index, int row) {
  const Sparsity& sparsity = generator.sparsity;
  if (sparsity.kept == sparsity.group || metadata_style(input_class, shape_index) != MetadataStyle::unread)
    return false;
  std::uint8_t positions[kMostKept] = {};
  write_pattern(
      sparsity,
      metadata_pattern(generator, input_class, seed, shape_index, 0, row / sparsity.group, shape_index),
      positions);
  for (int i = 0; i < sparsity.kept; ++i)
    if (positions[i] == row % sparsity.group) return false;
  return true;
}

/// An element of B that would show if it were read.
MMAUDIT_HD constexpr std::uint64_t unread(const GeneratorSpec& generator, InputClass input_class,
                                          std::uint64_t seed, std::uint64_t tile_index, int row, int column) {
  const FormatSpec& format = generator.b;
  Draws random = element_stream(key_of(seed, input_class, 5, tile_index), row, column);
  if (format.integer()) {
    const IntegerRange range = range_of(format);
    return integer_bits(format, random.once_in(2) ? range.low : range.high);
  }
  const std::uint64_t sign = random.once_in(2) ? format.sign_bit() : 0;
  switch (random.in(0, 2)) {
    case 0:
      return sign | format.max_finite_bits();
    case 1:
      return sign | (format.specials == Specials::ieee ? format.infinity_bits() : format.magnitude_mask());
    default:
      return sign | format.magnitude_mask();
  }
}

}  // namespace detail

/// The position inside its group of stored element `stored` of a row of A: one byte of canonical metadata.
MMAUDIT_HD constexpr std::uint8_t generate_metadata(const GeneratorSpec& generator, InputClass input_class,
                                                    std::uint64_t seed, std::uint64_t tile_index, int row,
                                                    int stored, std::uint64_t shape_index) {
  std::uint8_t positions[kMostKept] = {};
  const int group = stored / generator.sparsity.kept;
  write_pattern(generator.sparsity,
                detail::metadata_pattern(generator, input_class, seed, tile_index, row, group, shape_index),
                positions);
  return positions[stored % generator.sparsity.kept];
}
MMAUDIT_HD constexpr std::uint8_t generate_metadata(const GeneratorSpec& generator, InputClass input_class,
                                                    std::uint64_t seed, std::uint64_t tile_index, int row,
                                                    int stored) {
  return generate_metadata(generator, input_class, seed, tile_index, row, stored, tile_index);
}

}  // namespace mmaudit::gen
