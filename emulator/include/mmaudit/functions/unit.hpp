#pragma once
// The special function unit: MUFU as tables of segments and one evaluation, the same on host and device.
#include <cstdint>

#include "mmaudit/arithmetic/bits.hpp"
#include "mmaudit/functions/binary32.hpp"
#include "mmaudit/functions/segments.hpp"

namespace mmaudit::functions {

enum class Op : std::uint8_t { ex2, lg2, rcp, rsq, sqrt, sin, cos, tanh };

inline constexpr int kFractionBits = 23;
inline constexpr std::uint32_t kFractionMask = (1U << kFractionBits) - 1;
/// The multiplier's operand has this many bits; columns of the square below the least one are in no sum.
inline constexpr int kOperandBits = 17, kLeastColumn = 19;

/// x * x / 2^19 of 17 bits without the low columns: of the partial products x_i x_j, column 2 i or, for two
/// equal ones, i + j + 1, those from column 19 on. With x = 512 h + l they are the square of h (without the
/// bit that its lowest column drops) and, per bit of h, the bits of l that reach column 19.
[[gnu::always_inline]] MMAUDIT_HD constexpr std::int64_t square_of(std::uint32_t x) {
  const std::uint32_t high = x >> 9, low = x & 511;
  std::uint32_t sum = (high * high - (high & 1)) >> 1;
  for (int bit = 1; bit < 8; ++bit) sum += (0U - (high >> bit & 1U)) & (low >> (9 - bit));
  return sum;
}

/// A sum and what it was made of.
struct Parts {
  int segment;
  std::uint32_t at, squared;
  std::int64_t sum;
};

/// `fraction`: where the operand lies in the table's range, kFractionBits bits unless the table says more.
MMAUDIT_HD constexpr Parts parts_of(TableName name, std::uint32_t fraction, const Tables& tables) {
  const Quadratic& table = tables.quadratics[static_cast<int>(name)];
  const int segment = table.first + static_cast<int>(fraction >> table.inside);
  const Segment& row = tables.segments[segment];
  const std::uint32_t at = (fraction & ((1U << table.inside) - 1)) >> table.dropped;
  const auto squared =
      static_cast<std::uint32_t>(square_of(at << (kOperandBits - table.inside + table.dropped)));
  const std::int64_t sum =
      row.constant * (std::int64_t{1} << (kBelow - table.constant_places)) +
      row.linear * static_cast<std::int64_t>(at) * (std::int64_t{1} << (kBelow - table.linear_places)) +
      row.square * static_cast<std::int64_t>(squared) * (std::int64_t{1} << (kBelow - table.square_places)) +
      table.offset;
  return {segment, at, squared, sum & -(std::int64_t{1} << table.cut)};
}

/// The number sum / 2^kBelow in units of 2^(exponent - 23), cut to 24 bits; too small ones are 0, too large
/// ones Inf.
MMAUDIT_HD constexpr std::uint32_t packed(std::int64_t sum, int exponent) {
  if (sum <= 0) return 0;
  const int top = floor_log2(static_cast<std::uint64_t>(sum));
  const int biased = exponent - kFractionBits - kBelow + top + 127;
  if (biased <= 0) return 0;
  if (biased >= 255) return kInfinity;
  const std::uint64_t fraction = top > kFractionBits
                                     ? static_cast<std::uint64_t>(sum) >> (top - kFractionBits)
                                     : static_cast<std::uint64_t>(sum) << (kFractionBits - top);
  return (static_cast<std::uint32_t>(biased) << kFractionBits) |
         (static_cast<std::uint32_t>(fraction) & kFractionMask);
}
/// The low 32 bits of |x| in units of 2^-bits, cut.
MMAUDIT_HD constexpr std::uint32_t fixed_point(std::uint32_t x, int bits) {
  const int shift = static_cast<int>(size_of(x) >> kFractionBits) - 127 - kFractionBits + bits;
  const std::uint32_t significand = (x & kFractionMask) | (1U << kFractionBits);
  if (shift >= 0) return shift < 32 ? significand << shift : 0;
  return shift < -31 ? 0 : significand >> -shift;
}

/// An operand as the tables take it, or the result where no table is asked.
struct Reduced {
  bool special = false;
  std::uint32_t bits = 0;  ///< special: the result; else its sign
  TableName table = TableName::ex2;
  std::uint32_t fraction = 0;
  int exponent = 0;       ///< of the sum's place 2^23
  std::int64_t plus = 0;  ///< added to the sum
};
MMAUDIT_HD constexpr Reduced special(std::uint32_t bits) { return {.special = true, .bits = bits}; }
inline constexpr std::int64_t kOne = std::int64_t{1} << (kFractionBits + kBelow);

MMAUDIT_HD constexpr int exponent_of(std::uint32_t x) {
  return static_cast<int>(size_of(x) >> kFractionBits) - 127;
}

MMAUDIT_HD constexpr Reduced reduced_ex2(std::uint32_t x) {
  const bool negative = (x & kSign) != 0;
  if (size_of(x) >= 0x43000000U) return special(negative ? 0 : kInfinity);  // 128
  const std::uint32_t size = fixed_point(x, kFractionBits);
  // A negative number in ones' complement, except whole ones.
  const std::uint32_t point = !negative ? size : (size & kFractionMask) == 0 ? 0U - size : ~size;
  return {.table = TableName::ex2,
          .fraction = point & kFractionMask,
          .exponent = static_cast<std::int32_t>(point) >> kFractionBits};
}

MMAUDIT_HD constexpr Reduced reduced_lg2(std::uint32_t x) {
  if (size_of(x) < kLeastNormal) return special(kInfinity | kSign);
  if ((x & kSign) != 0) return special(kNan);
  if (x == kInfinity) return special(kInfinity);
  if (x == bits_of(1.0F)) return special(0);
  return {.table = TableName::lg2, .fraction = x & kFractionMask, .plus = exponent_of(x) * kOne};
}

MMAUDIT_HD constexpr Reduced reduced_rcp(std::uint32_t x) {
  const std::uint32_t sign = x & kSign, size = size_of(x), fraction = x & kFractionMask;
  if (size < kLeastNormal) return special(sign | kInfinity);
  if (size == kInfinity) return special(sign);
  const int exponent = exponent_of(x);
  if (fraction == 0) return special(sign | packed(kOne, -exponent));
  return {.bits = sign, .table = TableName::rcp, .fraction = fraction, .exponent = -exponent - 1};
}

MMAUDIT_HD constexpr Reduced reduced_rsq(std::uint32_t x) {
  if (size_of(x) < kLeastNormal) return special((x & kSign) | kInfinity);
  if ((x & kSign) != 0) return special(kNan);
  if (x == kInfinity) return special(0);
  const int exponent = exponent_of(x), odd = exponent & 1, half = (exponent - odd) / 2;
  const std::uint32_t fraction = x & kFractionMask;
  if (fraction == 0 && odd == 0) return special(packed(kOne, -half));
  return {.table = odd != 0 ? TableName::rsq_odd : TableName::rsq_even,
          .fraction = fraction,
          .exponent = -half - 1};
}

MMAUDIT_HD constexpr Reduced reduced_sqrt(std::uint32_t x) {
  if (size_of(x) < kLeastNormal) return special(x & kSign);
  if ((x & kSign) != 0) return special(kNan);
  if (x == kInfinity) return special(kInfinity);
  const int exponent = exponent_of(x), odd = exponent & 1;
  return {.table = odd != 0 ? TableName::sqrt_odd : TableName::sqrt_even,
          .fraction = x & kFractionMask,
          .exponent = (exponent - odd) / 2};
}

/// x in turns: two bits say the quarter, the rest where in it; quarters that fall are read in ones'
/// complement.
MMAUDIT_HD constexpr Reduced reduced_sine(std::uint32_t x, bool cosine) {
  if (size_of(x) == kInfinity) return special(kNan);
  const std::uint32_t point = fixed_point(x, kFractionBits + 2);
  const std::uint32_t quarter = (point >> kFractionBits) + (cosine ? 1 : 0);
  const std::uint32_t falls = 0U - (quarter & 1), negative = (quarter >> 1 & 1) << 31;
  return {.bits = negative ^ (cosine ? 0 : x & kSign),
          .table = TableName::sine,
          .fraction = (point ^ falls) & kFractionMask};
}

MMAUDIT_HD constexpr Reduced reduced_tanh(std::uint32_t x) {
  const std::uint32_t sign = x & kSign, size = size_of(x);
  if (size < 0x3B800000U) return special(x);                      // 2^-8
  if (size >= 0x41000000U) return special(sign | bits_of(1.0F));  // 8
  const int exponent = exponent_of(x);
  return {.bits = sign,
          .table = static_cast<TableName>(static_cast<int>(TableName::tanh) + exponent + 8),
          .fraction = size & kFractionMask,
          .exponent = exponent < 0 ? exponent : -1};
}

MMAUDIT_HD constexpr Reduced reduced(Op op, std::uint32_t x) {
  if (is_nan(x)) return special(kNan);
  switch (op) {
    case Op::ex2:
      return reduced_ex2(x);
    case Op::lg2:
      return reduced_lg2(x);
    case Op::rcp:
      return reduced_rcp(x);
    case Op::rsq:
      return reduced_rsq(x);
    case Op::sqrt:
      return reduced_sqrt(x);
    case Op::sin:
      return reduced_sine(x, false);
    case Op::cos:
      return reduced_sine(x, true);
    case Op::tanh:
      return reduced_tanh(x);
  }
  return special(kNan);
}

/// MUFU of binary32; subnormal operands and results are zeros.
MMAUDIT_HD constexpr std::uint32_t mufu(Op op, std::uint32_t x, const Tables& tables) {
  const Reduced at = reduced(op, x);
  if (at.special) return at.bits;
  const std::int64_t sum = at.plus + parts_of(at.table, at.fraction, tables).sum;
  if (sum >= 0) return packed(sum, at.exponent) | at.bits;
  // A negative sum's size in ones' complement of the places that are kept.
  const std::int64_t unit = std::int64_t{1} << tables.quadratics[static_cast<int>(at.table)].cut;
  return packed(-sum - unit, at.exponent) | kSign;
}

/// MUFU.F16: the result for the same number in binary32, towards zero.
MMAUDIT_HD constexpr std::uint32_t mufu_f16(Op op, std::uint32_t x, const auto& tables) {
  const std::uint32_t sign = (x & 0x8000U) << 16, size = x & 0x7FFFU;
  // A binary16 number as binary32: the exponents differ by 112, which a product does for subnormal ones, too.
  const std::uint32_t wide =
      size >= 0x7C00U ? kInfinity | (size & 0x3FFU) << 13 : bits_of(as_float(size << 13) * 0x1p112F);
  const std::uint32_t y = mufu(op, sign | wide, tables);
  if (is_nan(y)) return 0x7FFFU;
  const std::uint32_t out = (y & kSign) >> 16, large = size_of(y);
  if (large >= 0x47800000U) return out | 0x7C00U;                                  // 2^16
  if (large >= 0x38800000U) return out | (large - (112U << kFractionBits)) >> 13;  // 2^-14
  return out | fixed_point(y, 24);
}
/// MUFU.BF16: the high half of the result for the same number in binary32.
MMAUDIT_HD constexpr std::uint32_t mufu_bf16(Op op, std::uint32_t x, const auto& tables) {
  return mufu(op, x << 16, tables) >> 16;
}

}  // namespace mmaudit::functions
