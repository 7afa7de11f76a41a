#pragma once
// Rows of numbers to elements of at most 32 bits, in binary64. A part of the level's one source, not a header
// of declarations. NOLINTBEGIN(misc-definitions-in-headers)
#include "group_vectors.hpp"
#include "mmaudit/detail/quantize_rows.hpp"

namespace mmaudit::fast {
namespace {

constexpr int kDoubleLanes = MMAUDIT_FAST_BYTES / 8;
constexpr std::uint64_t kDoubleSign = std::uint64_t{1} << 63, kDoubleInfinity = std::uint64_t{0x7FF} << 52;

inline Longs where(Longs mask, Longs x, Longs y) { return (x & mask) | (y & ~mask); }

/// Codes of the numbers x; lanes of `bad` that are not 0 have none.
template <bool Integer>
[[gnu::always_inline]] inline Longs codes_of(Doubles x, const detail::RowCast& how, Longs& bad) {
  const Longs sign = bits<Longs>(x) & kDoubleSign, size = bits<Longs>(x) ^ sign;
  bad |= bits<Longs>(size >= kDoubleInfinity);
  const auto magnitude = bits<Doubles>(size);
  if constexpr (Integer) {
    const Longs negative = bits<Longs>(bits<Longs>(sign) != 0);
    const Doubles most = bits<Doubles>(
        where(negative, bits<Longs>(Doubles{} + (how.most + 1)), bits<Longs>(Doubles{} + how.most)));
    const auto small = bits<Doubles>(where(bits<Longs>(magnitude > most), bits<Longs>(most), size));
    const Longs whole = bits<Longs>(small + 0x1p52) & 0xFF;
    return ((whole ^ negative) - negative) & 0xFF;
  } else {
    // A number of 2^52 units of the element: adding it rounds to them.
    const Longs exponent = size & kDoubleInfinity;
    const Longs base = where(bits<Longs>(exponent > how.least), exponent, Longs{} + how.least);
    const int shift = 52 - how.fraction_bits;
    const auto start = bits<Doubles>(base + (static_cast<std::uint64_t>(shift) << 52));
    const Doubles rounded = (magnitude + start) - start;
    const Longs subnormal = bits<Longs>(bits<Longs>(rounded) < how.least);
    const Doubles lifted = rounded + bits<Doubles>(subnormal & (Longs{} + how.least));
    const std::uint64_t of_least = how.least >> shift, unit = std::uint64_t{1} << how.fraction_bits;
    Longs code = (bits<Longs>(lifted) >> shift) - (of_least - unit) - (subnormal & unit);
    const Longs beyond = bits<Longs>(rounded > how.most);
    if (how.saturate)
      code = where(beyond, Longs{} + how.most_code, code);
    else
      bad |= beyond;
    Longs signs = bits<Longs>(sign != 0) & how.sign;
    if (how.plain_zero) signs &= bits<Longs>(size != 0);
    return code << how.ignored | signs;
  }
}

template <detail::RowScale How>
[[gnu::always_inline]] inline Doubles scaled(HalfFloats x, double by) {
  if constexpr (How == detail::RowScale::multiplied_f32)
    return __builtin_convertvector(x * static_cast<float>(by), Doubles);
  else if constexpr (How == detail::RowScale::divided_f32)
    return __builtin_convertvector(x / static_cast<float>(by), Doubles);
  else if constexpr (How == detail::RowScale::multiplied)
    return __builtin_convertvector(x, Doubles) * by;
  else
    return __builtin_convertvector(x, Doubles) / by;
}

using HalfCounts __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = std::uint32_t;

template <detail::RowScale How, bool Integer>
[[gnu::noinline]] std::uint32_t cast_kind(const detail::RowWork& work, const detail::RowCast& how) {
  const FloatMode nearest;
  std::uint32_t failed = 0;
  const float* x = work.x;
  std::uint32_t* out = work.codes;
  for (int row = 0; row < work.rows; ++row, x += detail::kRowLength, out += detail::kRowLength) {
    Longs bad = {};
    for (int i = 0; i < detail::kRowLength; i += kDoubleLanes)
      store(out + i,
            __builtin_convertvector(
                codes_of<Integer>(scaled<How>(load<HalfFloats>(x + i), work.by[row]), how, bad), HalfCounts));
    failed |= static_cast<std::uint32_t>(any(bits<Words>(bad))) << row;
  }
  return failed;
}

std::uint32_t cast_rows(const detail::RowWork& work, const detail::RowCast& how) {
  using detail::RowScale;
  const auto of = [&]<RowScale How>() {
    return how.integer ? cast_kind<How, true>(work, how) : cast_kind<How, false>(work, how);
  };
  if (work.how == RowScale::divided) return of.operator()<RowScale::divided>();
  if (work.how == RowScale::multiplied) return of.operator()<RowScale::multiplied>();
  if (work.how == RowScale::divided_f32) return of.operator()<RowScale::divided_f32>();
  return of.operator()<RowScale::multiplied_f32>();
}

void largest_of_rows(const float* x, int rows, std::uint32_t* out) {
  for (int row = 0; row < rows; ++row, x += detail::kRowLength) {
    Words most = {};
    for (int i = 0; i < detail::kRowLength; i += kLanes) most = max(most, load<Words>(x + i) & 0x7FFFFFFF);
    std::int32_t largest = 0;
    for (int i = 0; i < kLanes; ++i) largest = most[i] > largest ? most[i] : largest;
    out[row] = static_cast<std::uint32_t>(largest);
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
