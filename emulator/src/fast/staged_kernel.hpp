#pragma once
// Sums of two stages: products are aligned without C, then their sum and C. A part of the level's one source,
// not a header of declarations; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "group_vectors.hpp"
#include "tree_kernel.hpp"

namespace mmaudit::fast {
namespace {

/// Numbers of two words: of lanes 0, 1, 4, 5, ... and of lanes 2, 3, 6, 7, ...
struct Joined {
  Doubles of[2];
};
[[gnu::always_inline]] inline Joined joined(Words low, Words high) {
#if MMAUDIT_FAST_BYTES == 64
  return {bits<Doubles>(
              __builtin_shufflevector(low, high, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)),
          bits<Doubles>(__builtin_shufflevector(low, high, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30,
                                                15, 31))};
#elif MMAUDIT_FAST_BYTES == 32
  return {bits<Doubles>(__builtin_shufflevector(low, high, 0, 8, 1, 9, 4, 12, 5, 13)),
          bits<Doubles>(__builtin_shufflevector(low, high, 2, 10, 3, 11, 6, 14, 7, 15))};
#else
  return {bits<Doubles>(__builtin_shufflevector(low, high, 0, 4, 1, 5)),
          bits<Doubles>(__builtin_shufflevector(low, high, 2, 6, 3, 7))};
#endif
}
/// The same lanes to nearest even, in their order.
[[gnu::always_inline]] inline Floats rounded(const Joined& x) {
  const auto low = __builtin_convertvector(x.of[0], HalfFloats),
             high = __builtin_convertvector(x.of[1], HalfFloats);
#if MMAUDIT_FAST_BYTES == 64
  return __builtin_shufflevector(low, high, 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
#elif MMAUDIT_FAST_BYTES == 32
  return __builtin_shufflevector(low, high, 0, 1, 4, 5, 2, 3, 6, 7);
#else
  return __builtin_shufflevector(low, high, 0, 1, 2, 3);
#endif
}

/// Toward minus infinity.
[[gnu::always_inline]] inline Words floored(Floats x) {
#if defined(__AVX512F__)
  return bits<Words>(
      _mm512_maskz_cvt_roundps_epi32(kAll, bits<__m512>(x), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
#elif defined(__AVX2__)
  return bits<Words>(_mm256_cvtps_epi32(_mm256_floor_ps(bits<__m256>(x))));
#else
  const Words toward_zero = truncate(x);
  const auto above = bits<Counts>(__builtin_convertvector(toward_zero, Floats) > x);
  return bits<Words>(bits<Counts>(toward_zero) + above);  // which may be the least integer, of what is larger
#endif
}

/// To kSumFraction bits below the leading one, toward minus infinity.
constexpr int kSumFraction = 31;
[[gnu::always_inline]] inline Doubles floored(Doubles x) {
  constexpr std::uint64_t kBelow = (std::uint64_t{1} << (52 - kSumFraction)) - 1;
  const auto all = bits<Longs>(x);
#if defined(__AVX512DQ__)
  const auto away =
      bits<Longs>(_mm512_mask_add_epi64(bits<__m512i>(all), _mm512_movepi64_mask(bits<__m512i>(all)),
                                        bits<__m512i>(all), bits<__m512i>(Longs{} + kBelow)));
#else
  const Longs away = all + (bits<Longs>(x < Doubles{}) & kBelow);
#endif
  return bits<Doubles>(away & ~kBelow);
}

/// x >> places, of at least 32 places only the sign.
[[gnu::always_inline]] inline Words shifted_down(Words x, Words places) {
#if defined(__AVX512F__)
  return bits<Words>(_mm512_maskz_srav_epi32(kAll, bits<__m512i>(x), bits<__m512i>(places)));
#elif defined(__AVX2__)
  return bits<Words>(_mm256_srav_epi32(bits<__m256i>(x), bits<__m256i>(places)));
#else
  return x >> min(places, splat(31));
#endif
}

/// `sum` moved down `down` places plus `addend`, where kLower more bits are kept, by `mask`; floored.
constexpr int kStagedFraction = 24, kLower = kSumFraction + 1 - kStagedFraction;
[[gnu::always_inline]] inline Joined whole_sum(Words sum, Words down, Words addend, Words mask) {
  constexpr std::int32_t kMiddle = 0x43380000;  // 1.5 * 2^52
  const Words near = min(down, splat(kStagedFraction));
  sum = shifted_down(sum, down - near);
  // Where C stays it may be anything here.
  const auto high = bits<Words>(bits<Counts>(sum >> near) + bits<Counts>(addend));
  const Counts low = ((bits<Counts>(sum) << kLower) >> bits<Counts>(near)) & bits<Counts>(mask);
  Joined x = joined(bits<Words>(bits<Counts>(high) << kLower | low), (high >> (32 - kLower)) + kMiddle);
  for (Doubles& half : x.of) half = floored(half - 0x1.8p52);
  return x;
}

/// C and the sum of a step's products, which is `sum` times 2^(E - kStagedFraction): both are floored below
/// the larger exponent, their sum kSumFraction bits below its leading one, then rounded to nearest even.
/// `field`: E where floats have their exponent, 0 where all products are zeros.
[[gnu::always_inline]] inline Floats second_stage(Words sum, Words field, Floats c,
                                                  const VectorRules& rules) {
  constexpr std::int32_t kOne = 1 << kFloatFraction;
  const Words of_c = max(bits<Words>(c) & rules.exponent_field, splat(kOne)), top = max(field, of_c);
  Words addend = floored(c * bits<Floats>(bits<Counts>(rules.top) - bits<Counts>(top)));
  if (rules.drops_far) addend &= top - of_c <= (kStagedFraction + 1) << kFloatFraction;
  const Joined x = whole_sum(sum, (top - field) >> kFloatFraction, addend, splat((1 << kLower) - 1));
  const Floats scale = bits<Floats>(top - ((kStagedFraction + kLower) << kFloatFraction));
  const Words stays = (field == 0) | (of_c == rules.exponent_field);
  return select(stays, c, rounded(x) * scale);
}

/// One partial sum: of the positions from `first` on, every `Apart`-th.
template <int Rows, int Count, int Apart>
[[gnu::always_inline]] inline void partial_sums(const Operands& in, int first, const Words (&field)[Rows][2],
                                                const VectorRules& rules, Words (&sum)[Rows][2]) {
  Floats scale[Rows][2];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h)
      scale[r][h] = bits<Floats>(bits<Counts>(rules.top) - bits<Counts>(field[r][h]));
  Sums<Rows, Side::none> sums;
  if constexpr (Apart == 1) {
#pragma GCC unroll 1
    for (int k = 0; k < Count; k += 2) sums.template add<2>(in, scale, k);
  } else {
#pragma GCC unroll 8
    for (int k = first; k < Count; k += Apart) sums.add(in, scale, k);
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) sum[r][h] = bits<Words>(sums.of[r][h]);
}

/// One step in place.
template <int Rows, int Count, Staged What>
[[gnu::always_inline]] inline void staged_step(const Operands& in, const Block& sums,
                                               const VectorRules& rules) {
  Maxima<Rows, true, Side::none> maxima(rules);
#pragma GCC unroll 8
  for (int i = 0; i < Count / 2; ++i) maxima.add(in, i);
  Words field[Rows][2], sum[Rows][2];
  if constexpr (What == Staged::one_sum) {
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) field[r][h] = maxima.fields(r, h, in, rules);
    partial_sums<Rows, Count, 1>(in, 0, field, rules, sum);
  } else {
    Words other_field[Rows][2], other[Rows][2];
    for (int r = 0; r < Rows; ++r) {
      for (int h = 0; h < 2; ++h) {
        const Counts bytes = bits<Counts>(maxima.row[r]) >> (16 * h);  // of even positions and of odd ones
        field[r][h] = bits<Words>(bytes << kFloatFraction) & rules.exponent_field;
        other_field[r][h] = bits<Words>(bytes << (kFloatFraction - 8)) & rules.exponent_field;
      }
    }
    partial_sums<Rows, Count, 2>(in, 0, field, rules, sum);
    partial_sums<Rows, Count, 2>(in, 1, other_field, rules, other);
    for (int r = 0; r < Rows; ++r) {
      for (int h = 0; h < 2; ++h) {
        const Words top = max(field[r][h], other_field[r][h]);
        const auto below = [&](Words x) { return (top - x) >> kFloatFraction; };
        sum[r][h] =
            shifted_down(sum[r][h], below(field[r][h])) + shifted_down(other[r][h], below(other_field[r][h]));
        field[r][h] = top;
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h)
      store(sums.at(r, h), second_stage(sum[r][h], field[r][h], load<Floats>(sums.at(r, h)), rules));
}

/// The sums of general operands, E plus kTop in `top`. Where `Small`, the power of two that sums of the least
/// exponents lack comes on top.
constexpr int kLeastTop = kStagedFraction + kFloatBias - kLift;
template <int Rows, int Count, bool Small>
[[gnu::always_inline]] inline void wide_sums(const Operands& in, const Words (&top)[Rows][2],
                                             const VectorRules& rules, Counts (&sum)[Rows][2]) {
  HalfWords cut[Rows];
  Floats lift[Rows][2];
  for (int r = 0; r < Rows; ++r) {
    Words below[2];
    for (int h = 0; h < 2; ++h) {
      sum[r][h] = Counts{};
      below[h] = max(top[r][h] - kLeastTop, Words{});
      lift[r][h] = bits<Floats>((max(kLeastTop - top[r][h], Words{}) + kFloatBias) << kFloatFraction);
    }
    cut[r] = bits<HalfWords>(below[0] << 7 | below[1] << kFloatFraction);
  }
  for (int k = 0; k < Count; ++k) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const float a = in.a_value[static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(k)];
      const float* b = in.b_value + k * kPanel;
      const Words scale = bits<Words>(subtract_to_zero(product_exponents<Side::none>(in, r, k), cut[r]));
      Floats x[2] = {(a * load<Floats>(b)) * bits<Floats>(scale << 16),
                     (a * load<Floats>(b + kLanes)) * bits<Floats>(scale & rules.exponent_field)};
      for (int h = 0; h < 2; ++h) {
        if constexpr (Small) x[h] *= lift[r][h];
        sum[r][h] += bits<Counts>(truncate(x[h]));
      }
    }
  }
}
template <int Rows, int Count>
[[gnu::noinline, gnu::cold]] void small_sums(const Operands& in, const Words (&top)[Rows][2],
                                             const VectorRules& rules, Counts (&sum)[Rows][2]) {
  wide_sums<Rows, Count, true>(in, top, rules, sum);
}

/// What products beyond binary32 add up to: 0, an infinity or a NaN.
template <int Rows, int Count>
[[gnu::noinline, gnu::cold]] void infinite_products(const Operands& in, Floats (&out)[Rows][2]) {
  constexpr int kMost = kTop + kFloatBias;  // the exponent of a product that is infinite from 2 on
  for (int r = 0; r < Rows; ++r) {
    for (int k = 0; k < Count; ++k) {
      const HalfWords exponents = product_exponents<Side::none>(in, r, k);
      for (int h = 0; h < 2; ++h) {
        const Words exponent = h == 0 ? even_exponents(exponents) : odd_exponents(exponents);
        const float a = in.a_value[static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(k)];
        const auto x = bits<Words>(a * load<Floats>(in.b_value + k * kPanel + h * kLanes));
        constexpr std::int32_t kTwo = (kFloatBias + kLift + 1) << kFloatFraction;
        const Words beyond = (exponent > kMost) | ((exponent == kMost) & ((x & INT32_MAX) >= kTwo));
        out[r][h] += bits<Floats>(beyond & (kExponentField | (x & INT32_MIN)));
      }
    }
  }
}

/// second_stage() of any exponents.
[[gnu::always_inline]] inline Floats wide_second_stage(Words sum, Words of_products, Floats c,
                                                       const VectorRules& rules) {
  constexpr int kLeast = kTop - kFloatBias + 1;  // of C
  const Words field = (bits<Words>(c) & rules.magnitude) >> kFloatFraction;
  const Words top = max(of_products, max(field + (kLeast - 1), splat(kLeast)));
  const Words down = top - of_products;
  // A small negative C is less than 0 all the same.
  const Words addend = floored(lifted(c, rules) * addend_scale(c, top, 1, rules));
  Joined x = whole_sum(sum, down, addend, (1 << kLower) - 1 + (top == kLeast));
  const Joined scale = joined(Words{}, (top - (kTop + kStagedFraction + kLower - 1023)) << 20);
  for (int i = 0; i < 2; ++i) x.of[i] *= scale.of[i];
  return select(field == 255, c, rounded(x));
}

/// One step in place. False: all sums are NaN, which they stay.
template <int Rows, int Count>
[[gnu::always_inline]] inline bool wide_step(const Operands& in, const Block& sums,
                                             const VectorRules& rules) {
  HalfWords most[Rows] = {};
  for (int k = 0; k < Count; ++k)
    for (int r = 0; r < Rows; ++r) most[r] = max(most[r], product_exponents<Side::none>(in, r, k));
  Words top[Rows][2], small = {}, large = {};
  for (int r = 0; r < Rows; ++r) {
    top[r][0] = even_exponents(most[r]);
    top[r][1] = odd_exponents(most[r]);
    for (const Words x : top[r]) {
      small |= (x < kLeastTop) & (x != 0);
      large |= x >= kTop + kFloatBias;
    }
  }
  Counts sum[Rows][2];
  if (any(small)) [[unlikely]]
    small_sums<Rows, Count>(in, top, rules, sum);
  else
    wide_sums<Rows, Count, false>(in, top, rules, sum);
  Floats infinite[Rows][2] = {};
  const bool some = any(large);
  Words number = {};
  if (some) [[unlikely]]
    infinite_products<Rows, Count>(in, infinite);
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      const auto c = load<Floats>(sums.at(r, h));
      Floats x = wide_second_stage(bits<Words>(sum[r][h]), top[r][h], c, rules);
      if (some) [[unlikely]] {
        const Words finite = (bits<Words>(c) & INT32_MAX) < kExponentField;
        x = select(bits<Words>(infinite[r][h] == 0), x, infinite[r][h] + select(finite, Floats{}, c));
        number |= bits<Words>(x == x);
      }
      store(sums.at(r, h), x);
    }
  }
  return !some || any(number);
}

/// An addend of -0 is +0.
template <int Rows>
[[gnu::always_inline]] inline void open_sums(const Block& sums) {
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) store(sums.at(r, h), load<Floats>(sums.at(r, h)) + 0.0F);
}
template <int Rows>
[[gnu::always_inline]] inline void close_sums(const Block& sums, const Rules& rules) {
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) store(sums.at(r, h), without_payload(load<Floats>(sums.at(r, h)), rules));
}

/// Rows [row, end) through the steps of a chunk, whatever their exponents.
template <int Count>
[[gnu::noinline]] void wide_rows(const Multiply& work, int row, int end, int column) {
  const VectorRules rules(*work.rules);
  for (; row < end; row += kRowsAtOnce) {
    General general = work.general;
    general.prepare(general.context, row / kRows, general);
    Operands in = general_operands(work, general, row, column);
    const Block sums = sums_of(work, row, column);
    in.count = Count;
    open_sums<kRowsAtOnce>(sums);
    for (int index = 0; index < work.chunk.step_count; ++index) {
      if (!wide_step<kRowsAtOnce, Count>(in, sums, rules)) break;
      in = behind<Compiled<Rounds::nearest, false, Fits::always, false, Side::none>>(in, Count);
    }
    close_sums<kRowsAtOnce>(sums, rules);
  }
}

/// The same of rows whose products are normal floats, of all columns.
template <Staged What, int Count>
[[gnu::noinline]] void narrow_rows(const Multiply& work, int first, int end) {
  VectorRules rules(*work.rules);
  for (int column = 0; column < kPanel; column += kGroupColumns) {
    for (int row = first; row < end; row += kRowsAtOnce) {
      const Block sums = sums_of(work, row, column);
      Operands in = first_operands(work, row, column);
      open_sums<kRowsAtOnce>(sums);
      in.count = Count;
      for (int index = 0; index < work.chunk.step_count; ++index) {
        staged_step<kRowsAtOnce, Count, What>(in, sums, rules);
        in = behind<Compiled<Rounds::nearest, false, Fits::always, true, Side::none>>(in, Count);
        rules.leave_registers();
      }
      close_sums<kRowsAtOnce>(sums, rules);
    }
  }
}

template <Staged What, int Count>
void multiply_sums(const Multiply& work) {
  const FloatMode nearest;
  const VectorRules rules(*work.rules);
  const auto is_narrow = [&](int row) { return all_by_vectors(work, bounds_of(work, row), rules); };
  for (int row = 0, end = 0; row < work.groups * kRows; row = end) {
    const bool narrow = is_narrow(row);
    for (end = row + kRows; end < work.groups * kRows && is_narrow(end) == narrow;) end += kRows;
    if (narrow) narrow_rows<What, Count>(work, row, end);
    for (int column = 0; !narrow && column < kPanel; column += kGroupColumns)
      wide_rows<Count>(work, row, end, column);
  }
}

void multiply_any(const Multiply& work) {
  switch (work.rules->staged) {
    case Staged::none:
      return multiply(work);
    case Staged::trees:
      return work.rules->block == 2 ? multiply_trees<2>(work) : multiply_trees<4>(work);
    case Staged::one_sum:
      return work.chunk.steps[0].count == 4 ? multiply_sums<Staged::one_sum, 4>(work)
                                            : multiply_sums<Staged::one_sum, 8>(work);
    case Staged::two_sums:
      return multiply_sums<Staged::two_sums, 16>(work);
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
