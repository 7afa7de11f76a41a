#pragma once
// The input classes for integer formats, under the names of the floating ones: where those lose bits, these
// wrap, clamp or read a sign. Included by input classes.hpp, which has the streams.
#include <cstdint>

namespace mmaudit::gen::detail {

/// Value range of an element: [low, high], both small unless the format is s32.
struct IntegerRange {
  int low = 0, high = 0;
};

MMAUDIT_HD constexpr IntegerRange range_of(const FormatSpec& format) {
  const int bits = format.value_bits() < 32 ? format.value_bits() : 31;
  if (format.encoding == Encoding::unsigned_integer) return {0, (1 << bits) - 1};
  return {-(1 << (bits - 1)), (1 << (bits - 1)) - 1};
}

MMAUDIT_HD constexpr std::uint64_t integer_bits(const FormatSpec& format, std::int64_t value) {
  const std::uint64_t top = std::uint64_t{1} << (format.value_bits() - 1);
  return static_cast<std::uint64_t>(value) & (top | (top - 1));
}

/// Beside an end of the range of s32, at most `reach` inside it.
MMAUDIT_HD constexpr std::int64_t beside_an_end(int reach, Draws& random) {
  const std::int64_t inside = random.in(0, reach);
  return random.once_in(2) ? 0x7FFFFFFF - inside : -0x80000000LL + inside;
}

/// The largest magnitude that the products of one instruction reach together.
MMAUDIT_HD constexpr int product_reach(const GeneratorSpec& generator) {
  const IntegerRange a = range_of(generator.a), b = range_of(generator.b);
  return generator.k * (-a.low > a.high ? -a.low : a.high) * (-b.low > b.high ? -b.low : b.high);
}

MMAUDIT_HD constexpr std::int64_t any_size(Draws& random) {
  const int shift = random.in(1, 31);
  const auto value = static_cast<std::int64_t>(random.next() >> 33 >> (shift - 1));
  return random.once_in(2) ? -value : value;
}

MMAUDIT_HD constexpr std::int64_t integer_addend(const GeneratorSpec& generator, InputClass input_class,
                                                 Draws& tile, Draws& random) {
  const int reach = product_reach(generator);
  switch (input_class) {
    case InputClass::random_bits:
    case InputClass::wide_window:
      return static_cast<std::int64_t>(random.next() >> 32);
    case InputClass::near_subnormal:
      return random.in(-1, 1);
    case InputClass::mostly_zeros:
      return random.once_in(2) ? 0 : random.in(-reach, reach);
    case InputClass::near_overflow:
    case InputClass::floor_edge:
      return beside_an_end(random.once_in(2) ? reach / 4 + 1 : 8, random);
    case InputClass::cancellation: {
      // Where no pair of products can cancel, all of them are alike and c takes them back.
      const int a = tile.in(1, range_of(generator.a).high), b = tile.in(1, range_of(generator.b).high);
      return -static_cast<std::int64_t>(generator.k) * a * b + random.in(-2, 2);
    }
    case InputClass::special_values: {
      constexpr std::int64_t kEnds[] = {0x7FFFFFFF, -0x80000000LL, 0x7FFFFFFE, -0x7FFFFFFFLL, 0, 1,
                                        -1,         0xFFFF};
      return kEnds[random.in(0, 7)];
    }
    case InputClass::far_addend:
      return any_size(random);
    case InputClass::sparse_powers:
      return std::int64_t{1} << random.in(0, 31);
    default:
      return random.in(-reach, reach);
  }
}

/// True when products of this generator cancel in pairs: one operand has a sign to flip.
MMAUDIT_HD constexpr bool has_sign(const FormatSpec& format) {
  return format.encoding == Encoding::signed_integer;
}

MMAUDIT_HD constexpr std::int64_t cancelling_factor(const GeneratorSpec& generator, std::uint64_t key,
                                                    Matrix which, int row, int column, Draws& tile) {
  const FormatSpec& format = which == Matrix::a ? generator.a : generator.b;
  const bool flips_a = has_sign(generator.a), flips_b = !flips_a && has_sign(generator.b);
  const int alike = which == Matrix::a ? tile.in(1, range_of(generator.a).high)
                                       : (tile.next(), tile.in(1, range_of(generator.b).high));
  if (!flips_a && !flips_b) return alike;
  const int k = factor_k(generator, which, row, column), other = which == Matrix::a ? row : column;
  // The partner is the neighbour; of a sparse generator the same place of the neighbouring group.
  const int partner = generator.sparsity.kept;
  Draws pair = which == Matrix::a ? element_stream(key, other, k & ~partner)
                                  : element_stream(key, k & ~partner, other);
  const IntegerRange range = range_of(format);
  const int value = pair.in(has_sign(format) ? -range.high : range.low, range.high);  // -low does not exist
  const bool flipped = (k & partner) != 0 && (which == Matrix::a ? flips_a : flips_b);
  return flipped ? -value : value;
}

MMAUDIT_HD constexpr std::int64_t integer_factor(const GeneratorSpec& generator, InputClass input_class,
                                                 std::uint64_t key, Matrix which, std::uint64_t tile_index,
                                                 int row, int column, Draws& tile, Draws& random) {
  const FormatSpec& format = which == Matrix::a ? generator.a : generator.b;
  const IntegerRange range = range_of(format);
  const int any = random.in(range.low, range.high);
  const int k = factor_k(generator, which, row, column);
  switch (input_class) {
    case InputClass::narrow_window:
      return has_sign(format) ? random.in(-2, 1) : random.in(0, range.high < 3 ? range.high : 3);
    case InputClass::wide_window:
      return any / (1 << random.in(0, format.value_bits() - 1));
    case InputClass::normal: {
      int sum = any;
      for (int i = 0; i < 3; ++i) sum += random.in(range.low, range.high);
      return sum / 4;
    }
    case InputClass::near_subnormal:
      return random.in(has_sign(format) ? -1 : 0, 1);
    case InputClass::mostly_zeros:
      return random.once_in(4) ? any : 0;
    case InputClass::cancellation:
      return range.high == 1 ? any : cancelling_factor(generator, key, which, row, column, tile);
    case InputClass::special_values: {
      const int rarity = 1 << (2 * (tile_index % 3));
      if (!random.once_in(rarity)) return any;
      switch (random.in(0, 5)) {
        case 0:
        case 1:
          return range.low;
        case 2:
        case 3:
          return range.high;
        case 4:
          return range.low < 0 ? -1 : 0;
        default:
          return random.in(0, 1);
      }
    }
    case InputClass::sparse_powers: {
      if (!random.once_in(generator.k > 8 ? generator.k / 4 : 2)) return 0;
      const int power = 1 << random.in(0, format.value_bits() - 1);
      return has_sign(format) && random.once_in(2) ? -power : power;
    }
    case InputClass::floor_edge: {
      // Up to some k the products push one way, from there on the other: where a sum is clamped shows.
      const int turn = tile.in(1, generator.k - 1);
      const bool first = (k < turn) != ((tile.next() & 1) != 0);
      const bool pushes =
          which == Matrix::a ? has_sign(generator.a) : !has_sign(generator.a) && has_sign(generator.b);
      if (!pushes) return random.in(range.high / 2, range.high);
      return first ? range.high - random.in(0, 3) : range.low + random.in(0, 3);
    }
    default:
      return any;
  }
}

/// Raw bits of one element of an integer matrix; arguments as generate().
MMAUDIT_HD constexpr std::uint64_t integer_element(const GeneratorSpec& generator, InputClass input_class,
                                                   std::uint64_t seed, Matrix which, std::uint64_t tile_index,
                                                   int row, int column, std::uint64_t shape_index) {
  const std::uint64_t key = key_of(seed, input_class, 1U + static_cast<unsigned>(which), tile_index);
  Draws random = element_stream(key, row, column);
  Draws tile{key_of(seed, input_class, 0, shape_index)};
  if (which == Matrix::c)
    return integer_bits(generator.c, integer_addend(generator, input_class, tile, random));
  const FormatSpec& format = which == Matrix::a ? generator.a : generator.b;
  return integer_bits(
      format, integer_factor(generator, input_class, key, which, tile_index, row, column, tile, random));
}

}  // namespace mmaudit::gen::detail
