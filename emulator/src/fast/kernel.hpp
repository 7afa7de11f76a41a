#pragma once
// The steps of kRows x kPanel elements. Included once a level, which has set MMAUDIT_FAST_BYTES.
//
// A step takes the products of each element twice: first the exponents, as 16-bit lanes whose maximum is E;
// then the products, exact floats, scaled by 2^(F - E) and truncated to integers, whose sum is exact. In the
// first pass one vector holds twice as many columns as in the second, so even columns stand in one vector of
// floats and odd ones in the next: widening is a shift, not a permutation.
#include "level.hpp"
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

constexpr int kGroupColumns = 2 * kLanes;  ///< of one vector of exponents
constexpr int kNoProduct = 2 * kZero;
constexpr int kLeastReal = -4000;  ///< below every exponent of a number, above every sum with a zero's

static_assert(kPanel % kGroupColumns == 0);

/// E of one vector of elements, and 2^(F - E).
struct Alignment {
  Words exponent;
  Floats scale;
};

/// Masks of lanes that the plain core must do go to `failed`.
inline Alignment align(Words maximum, Floats addend, const Rules& rules, Words& failed) {
  const Words magnitude = bits<Words>(addend) & 0x7FFFFFFF;
  Words exponent = max((magnitude >> 23) - 127, splat(rules.addend_min_exponent));
  exponent = select(magnitude == 0, splat(kNoProduct), exponent);
  maximum = max(maximum, exponent);
  failed |= (maximum > rules.highest) | ((maximum < rules.lowest) & (maximum > kLeastReal));
  maximum = max(maximum, splat(rules.floor));
  return {maximum, bits<Floats>((rules.fraction_bits + 127 - maximum) << 23)};
}

/// To `fraction_bits` below the leading bit, or below 2^min_exponent, to nearest even.
inline Floats round_nearest(Floats x, const Rules& rules) {
  const Words magnitude = bits<Words>(x) & 0x7FFFFFFF;
  const Words exponent = max((magnitude >> 23) - 127, splat(rules.addend_min_exponent));
  // 1.5 * 2^n, whose last place is the last place to keep.
  const Floats magic = bits<Floats>(((exponent + (127 + 23 - rules.nearest_bits)) << 23) | 0x400000);
  const Floats rounded = (x + magic) - magic;
  const Floats infinity = bits<Floats>((bits<Words>(x) & INT32_MIN) | 0x7F800000);
  const Words beyond =
      bits<Words>(rounded >= rules.overflow_from) | bits<Words>(rounded <= -rules.overflow_from);
  return select(beyond, infinity, rounded);
}

/// sum * 2^(E - F) rounded to the output.
template <bool Nearest>
inline Floats round_sum(Words sum, Words exponent, const Rules& rules) {
  Floats x = to_float_toward_zero(sum);
  if constexpr (Nearest) {
    // An odd last bit stands for what was cut off, so that the second rounding sees it.
    const Words inexact = (truncate(x) != sum) & 1;
    x = bits<Floats>(bits<Words>(x) | inexact);
  }
  x = x * bits<Floats>((exponent + (127 - rules.fraction_bits)) << 23);
  if constexpr (Nearest) return round_nearest(x, rules);
  return bits<Floats>(bits<Words>(x) & static_cast<std::int32_t>(rules.keep_mask));
}

/// x + y to nearest even in the output's format.
template <bool Nearest>
inline Floats add_nearest(Floats x, Floats y, const Rules& rules) {
  const Floats sum =
      x + y;  // binary32 holds twice the digits of binary16 and two: rounding again is harmless
  Floats result = sum;
  if constexpr (Nearest) {
    const Words as_is = bits<Words>(sum == 0.0F) | ((bits<Words>(sum) & 0x7F800000) == 0x7F800000);
    result = select(as_is, sum, round_nearest(sum, rules));
  }
  return select(bits<Words>(sum != sum), splat(__builtin_bit_cast(float, rules.nan)), result);
}

/// Rows x kGroupColumns elements.
template <int Rows>
struct Sums {
  Floats half[Rows][2];  // even columns, odd columns
};

template <int Rows>
inline void do_plain(const Multiply& work, int row, int column, int step, const Words (&failed)[Rows][2],
                     const Sums<Rows>& before, Sums<Rows>& after) {
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      for (int lane = 0; lane < kLanes; ++lane) {
        if (failed[r][h][lane] == 0) continue;
        after.half[r][h][lane] =
            work.plain(work.context, work.row + row + r, work.column + column + 2 * lane + h, step,
                       before.half[r][h][lane]);
      }
    }
  }
}

template <int Rows, bool Nearest>
inline void one_step(const Multiply& work, int row, int column, int index, Sums<Rows>& sums) {
  const Rules& rules = *work.rules;
  const Step& step = work.chunk.steps[index];
  const std::size_t first_a =
      static_cast<std::size_t>(row) * work.a_stride + static_cast<std::size_t>(step.start);
  const float* a_value = work.a_value + first_a;
  const std::int32_t* a_exponent = work.a_exponent + first_a;
  const float* b_value = work.b_value + step.start * kPanel + column;
  const std::int16_t* b_exponent = work.b_exponent + step.start * kPanel + column;

  Shorts maximum[Rows];
  for (int r = 0; r < Rows; ++r) maximum[r] = Shorts{} + static_cast<std::int16_t>(kNoProduct);
  for (int k = 0; k < step.count; ++k) {
    const auto b = load<Shorts>(b_exponent + k * kPanel);
    for (int r = 0; r < Rows; ++r) {
      const std::int32_t a =
          a_exponent[static_cast<std::size_t>(r) * work.a_stride + static_cast<std::size_t>(k)];
      maximum[r] = max(maximum[r], static_cast<Shorts>(b + bits<Shorts>(splat(a))));
    }
  }

  Words failed[Rows][2] = {};
  Words exponent[Rows][2], total[Rows][2];
  Floats scale[Rows][2];
  for (int r = 0; r < Rows; ++r) {
    const Words wide[2] = {(bits<Words>(maximum[r]) << 16) >> 16, bits<Words>(maximum[r]) >> 16};
    for (int h = 0; h < 2; ++h) {
      const Alignment aligned = align(wide[h], sums.half[r][h], rules, failed[r][h]);
      exponent[r][h] = aligned.exponent;
      scale[r][h] = aligned.scale;
      total[r][h] = truncate(sums.half[r][h] * aligned.scale);
    }
  }

  for (int k = 0; k < step.count; k += rules.group) {
    const int end = k + rules.group < step.count ? k + rules.group : step.count;
    Counts sum[Rows][2] = {};
    for (int i = k; i < end; ++i) {
      const Floats b[2] = {load<Floats>(b_value + i * kPanel), load<Floats>(b_value + i * kPanel + kLanes)};
      for (int r = 0; r < Rows; ++r) {
        const float a = a_value[static_cast<std::size_t>(r) * work.a_stride + static_cast<std::size_t>(i)];
        for (int h = 0; h < 2; ++h) sum[r][h] += bits<Counts>(truncate((a * b[h]) * scale[r][h]));
      }
    }
    for (int r = 0; r < Rows; ++r) {
      for (int h = 0; h < 2; ++h) {
        const Words x = total[r][h], more = bits<Words>(sum[r][h]);
        const auto y = bits<Words>(bits<Counts>(x) + sum[r][h]);
        failed[r][h] |= (((x ^ y) & (more ^ y)) >> 31) | (y == INT32_MIN);  // left 32 bits
        total[r][h] = y;
      }
    }
  }

  const Sums<Rows> before = sums;
  Words any_failed = {};
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      sums.half[r][h] = round_sum<Nearest>(total[r][h], exponent[r][h], rules);
      any_failed |= failed[r][h];
    }
  }
  if (any(any_failed)) do_plain<Rows>(work, row, column, index, failed, before, sums);
}

template <int Rows, bool Nearest, bool AddendLast>
inline void multiply_group(const Multiply& work, int row, int column) {
  Sums<Rows> sums, last;
  const auto at = [&](int r) {
    return work.sum + static_cast<std::size_t>(row + r) * work.sum_stride + static_cast<std::size_t>(column);
  };
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) sums.half[r][h] = load<Floats>(at(r) + h * kLanes);
  if constexpr (AddendLast) {
    last = sums;
    sums = {};
  }
  for (int index = 0; index < work.chunk.step_count; ++index) {
    const Bounds& a = work.a_bounds[index];
    const Bounds& b = work.b_bounds[index];
    if (a.low + b.low >= work.rules->product_low && a.high + b.high <= work.rules->product_high) {
      one_step<Rows, Nearest>(work, row, column, index, sums);
    } else {
      Words all[Rows][2];
      for (int r = 0; r < Rows; ++r) all[r][0] = all[r][1] = splat(-1);
      const Sums<Rows> before = sums;
      do_plain<Rows>(work, row, column, index, all, before, sums);
    }
    if constexpr (AddendLast) {
      if (!work.chunk.steps[index].closes) continue;
      for (int r = 0; r < Rows; ++r)
        for (int h = 0; h < 2; ++h)
          last.half[r][h] = add_nearest<Nearest>(last.half[r][h], sums.half[r][h], *work.rules);
      sums = {};
    }
  }
  if constexpr (AddendLast) sums = last;
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) store(at(r) + h * kLanes, sums.half[r][h]);
}

/// Rows at once: as many as the registers hold.
constexpr int kRowsAtOnce = MMAUDIT_FAST_BYTES == 64 ? 4 : 2;
static_assert(kRows % kRowsAtOnce == 0);

template <bool Nearest, bool AddendLast>
void multiply_panel(const Multiply& work) {
  for (int column = 0; column < kPanel; column += kGroupColumns)
    for (int row = 0; row < kRows; row += kRowsAtOnce)
      multiply_group<kRowsAtOnce, Nearest, AddendLast>(work, row, column);
}

void multiply(const Multiply& work) {
  const DefaultFloats floats;
  const bool nearest = work.rules->nearest_bits > 0;
  if (work.rules->addend_last) {
    nearest ? multiply_panel<true, true>(work) : multiply_panel<false, true>(work);
  } else {
    nearest ? multiply_panel<true, false>(work) : multiply_panel<false, false>(work);
  }
}

void fold(float* total, float* sum, std::size_t count, std::uint32_t nan) {
  const DefaultFloats floats;
  const Floats not_a_number = splat(__builtin_bit_cast(float, nan));
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Floats x = load<Floats>(total + i) + load<Floats>(sum + i);
    store(total + i, select(bits<Words>(x != x), not_a_number, x));
    store(sum + i, Floats{});
  }
}

int place(int j) {
  const int in_group = j % kGroupColumns;
  return j - in_group + (in_group % 2) * kLanes + in_group / 2;
}

}  // namespace
}  // namespace mmaudit::fast
