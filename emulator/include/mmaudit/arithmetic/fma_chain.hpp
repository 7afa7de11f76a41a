#pragma once
// binary64 multiply-accumulate: fma(a, b, c) with IEEE 754 rounding in exact integers, and the NaN rule of
// DMMA. Written without branches that depend on signs or magnitudes: on random data they cost more than the
// arithmetic.
#include <cstdint>

#include "mmaudit/arithmetic/round.hpp"

namespace mmaudit {

__extension__ using UInt128 = unsigned __int128;

namespace detail {

inline constexpr int kF64MaxField = 0x7FF, kF64LeastExponent = -1022, kF64LeastLsb = -1074;
inline constexpr std::uint64_t kF64Sign = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kF64Infinity = std::uint64_t{kF64MaxField} << 52;
inline constexpr std::uint64_t kF64Fraction = (std::uint64_t{1} << 52) - 1;

MMAUDIT_HD constexpr int field_of(std::uint64_t bits) {
  return static_cast<int>((bits >> 52) & static_cast<std::uint64_t>(kF64MaxField));
}

struct Finite {  // |value| = significand * 2^exponent
  std::uint64_t significand = 0;
  int exponent = 0;
};

MMAUDIT_HD constexpr Finite unpack_finite(std::uint64_t bits) {
  const int field = field_of(bits);
  const std::uint64_t hidden = field != 0 ? kF64Fraction + 1 : 0;
  return {(bits & kF64Fraction) | hidden, (field != 0 ? field : 1) - 1 + kF64LeastLsb};
}

/// The highest set bit moved to position 52; zero stays zero.
MMAUDIT_HD constexpr Finite normalised(Finite x) {
  if (x.significand > kF64Fraction || x.significand == 0) return x;
  const int shift = 52 - floor_log2(x.significand);
  return {x.significand << shift, x.exponent - shift};
}

/// Zeros below the lowest set bit; x must not be zero.
MMAUDIT_HD constexpr int trailing_zeros(std::uint64_t x) { return floor_log2(x & (~x + 1)); }

/// fma() where an operand is NaN or infinite.
MMAUDIT_HD constexpr std::uint64_t special_fma(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                               const Datapath& datapath) {
  constexpr std::uint64_t kDefaultNan = std::uint64_t{0xFFF8} << 48;
  constexpr std::uint64_t kQuietBit = std::uint64_t{1} << 51;
  const std::uint64_t x = a & ~kF64Sign, y = b & ~kF64Sign, z = c & ~kF64Sign;
  const std::uint64_t no_operand = datapath.output.nan == NanRule::canonical ? ~kF64Sign : kDefaultNan;
  if (x > kF64Infinity || y > kF64Infinity || z > kF64Infinity) {
    if (datapath.output.nan == NanRule::canonical) return no_operand;
    for (const char which : datapath.nan_priority) {
      if (which == 'a' && x > kF64Infinity) return a | kQuietBit;
      if (which == 'b' && y > kF64Infinity) return b | kQuietBit;
      if (which == 'c' && z > kF64Infinity) return c | kQuietBit;
    }
  }
  const std::uint64_t product_sign = (a ^ b) & kF64Sign;
  const bool product_infinite = x == kF64Infinity || y == kF64Infinity;
  if (product_infinite && (x == 0 || y == 0)) return no_operand;
  if (product_infinite && z == kF64Infinity && product_sign != (c & kF64Sign)) return no_operand;
  return product_infinite ? product_sign | kF64Infinity : c;
}

/// (negative ? -1 : 1) * x * 2^exponent rounded to binary64; x is not zero.
MMAUDIT_HD constexpr std::uint64_t round_to_double(UInt128 x, int exponent, bool negative,
                                                   Rounding rounding) {
  if ((x >> 64) == 0) {
    x <<= 64;
    exponent -= 64;
  }
  const int shift = 63 - floor_log2(static_cast<std::uint64_t>(x >> 64));
  x <<= shift;
  // 64 significant bits, the last one a sticky bit: rounding keeps at most 53 of them.
  const std::uint64_t narrow =
      static_cast<std::uint64_t>(x >> 64) | (static_cast<std::uint64_t>(x) != 0 ? 1U : 0U);
  const int leading = exponent - shift + 127;
  const int target = leading > kF64LeastExponent ? leading : kF64LeastExponent;
  const std::uint64_t rounded = round_shifted(narrow, 11 + target - leading, rounding, negative);
  // The hidden bit of `rounded` adds one to the exponent field; a carry out of the significand does so again.
  const std::uint64_t bits = (static_cast<std::uint64_t>(target - kF64LeastExponent) << 52) + rounded;
  const std::uint64_t sign = negative ? kF64Sign : 0;
  if (target <= 1023 && bits < kF64Infinity) return sign | bits;
  const bool to_infinity = rounding == Rounding::nearest_even || (rounding == Rounding::up && !negative) ||
                           (rounding == Rounding::down && negative);
  return sign | (to_infinity ? kF64Infinity : kF64Infinity - 1);
}

}  // namespace detail

/// a * b + c of binary64 bits, one IEEE rounding. NaN: the first NaN operand in the order
/// datapath.nan_priority, made quiet with its payload kept; an invalid operation without a NaN operand gives
/// 0xFFF8000000000000. Source: numerics.md, "FP64".
MMAUDIT_HD constexpr std::uint64_t fused_multiply_add(std::uint64_t a_bits, std::uint64_t b_bits,
                                                      std::uint64_t c_bits, const Datapath& datapath) {
  if (detail::field_of(a_bits) == detail::kF64MaxField || detail::field_of(b_bits) == detail::kF64MaxField ||
      detail::field_of(c_bits) == detail::kF64MaxField) {
    return detail::special_fma(a_bits, b_bits, c_bits, datapath);
  }
  const Rounding rounding = datapath.output.rounding;
  const detail::Finite a = detail::normalised(detail::unpack_finite(a_bits));
  const detail::Finite b = detail::normalised(detail::unpack_finite(b_bits));
  const detail::Finite c = detail::unpack_finite(c_bits);
  const bool product_negative = ((a_bits ^ b_bits) & detail::kF64Sign) != 0;
  const bool c_negative = (c_bits & detail::kF64Sign) != 0;
  if (a.significand == 0 || b.significand == 0) {
    if (c.significand != 0) return c_bits;
    const bool minus =
        rounding == Rounding::down ? product_negative || c_negative : product_negative && c_negative;
    return minus ? detail::kF64Sign : 0;
  }

  // The product's 105 or 106 bits and c's 53 start at the top of a 128-bit window with room for sign and
  // carry. Whichever has the finer unit there is shifted down to the other's; what it loses becomes a sticky
  // bit, far below the rounding: the other one is normalised, or it is a subnormal or zero c, whose unit is
  // binary64's least and lies 72 bits above the window's end.
  constexpr int kProductShift = 20, kAddendShift = 72;
  const UInt128 product = (static_cast<UInt128>(a.significand) * b.significand) << kProductShift;
  const UInt128 addend = static_cast<UInt128>(c.significand) << kAddendShift;
  const int product_unit = a.exponent + b.exponent - kProductShift;
  const int addend_unit = c.exponent - kAddendShift;
  const bool c_coarser = addend_unit > product_unit;
  const UInt128 swap = c_coarser ? product ^ addend : 0;
  const UInt128 coarse = product ^ swap;
  const UInt128 fine = addend ^ swap;
  const int gap = c_coarser ? addend_unit - product_unit : product_unit - addend_unit;
  const int shift = gap < 127 ? gap : 127;  // both are below 2^126
  const int zeros = c_coarser ? kProductShift + detail::trailing_zeros(a.significand) +
                                    detail::trailing_zeros(b.significand)
                              : kAddendShift + detail::trailing_zeros(c.significand | detail::kF64Sign);
  const UInt128 shifted = (fine >> shift) | (shift > zeros ? 1U : 0U);

  const UInt128 opposite = product_negative != c_negative ? ~UInt128{0} : UInt128{0};
  UInt128 sum = coarse + ((shifted ^ opposite) - opposite);
  if (sum == 0) return rounding == Rounding::down ? detail::kF64Sign : 0;
  const bool turned = (sum >> 127) != 0;
  const UInt128 turn = turned ? ~UInt128{0} : UInt128{0};
  sum = (sum ^ turn) - turn;
  const bool coarse_negative = c_coarser ? c_negative : product_negative;
  return detail::round_to_double(sum, c_coarser ? addend_unit : product_unit, coarse_negative != turned,
                                 rounding);
}

}  // namespace mmaudit
