#pragma once
// The steps of kRows x kPanel elements. Included once a level, which has set MMAUDIT_FAST_BYTES.
//
// A step takes the products of each element twice: first the exponents, as 16-bit lanes whose maximum is E;
// then the products, exact floats, scaled by 2^(F - E) and truncated to integers, whose sum is exact. In the
// first pass one vector holds twice as many columns as in the second, so even columns stand in one vector of
// floats and odd ones in the next: widening is a shift, not a permutation.
// A part of the level's one source, not a header of declarations; x != x asks for NaN; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "lane_rounding.hpp"
#include "level.hpp"
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

constexpr int kGroupColumns = 2 * kLanes;  ///< of one vector of exponents
constexpr int kAbove = INT32_MIN;          // the sign bit marks a lane that failed

static_assert(kPanel % kGroupColumns == 0);

/// Rows x kGroupColumns elements in memory, `stride` floats from row to row; even columns, then odd ones.
struct Block {
  float* first;
  std::size_t stride;
  [[nodiscard]] float* at(int r, int h) const {
    return first + static_cast<std::size_t>(r) * stride + h * kLanes;
  }
};

/// Where one step of one block finds its operands.
struct Operands {
  const float* a_value;
  const std::int32_t* a_exponent;
  std::size_t a_stride;
  const float* b_value;
  const std::int16_t* b_exponent;
  int count;
};

/// Largest exponents of products, plus 127, of every element.
template <int Rows>
struct Maxima {
  Shorts row[Rows];

  explicit Maxima(const Rules& rules) {
    for (auto& x : row) x = Shorts{} + static_cast<std::int16_t>(rules.floor + kFloatBias);
  }
  [[gnu::always_inline]] void add(const Operands& in, int k) {
    const auto b = load<Shorts>(in.b_exponent + k * kPanel);
    for (int r = 0; r < Rows; ++r) {
      const std::int32_t a =
          in.a_exponent[static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(k)];
      row[r] = max(row[r], static_cast<Shorts>(b + bits<Shorts>(splat(a))));
    }
  }
};

template <int Rows>
struct Sums {
  Counts of[Rows][2] = {};

  [[gnu::always_inline]] void add(const Operands& in, const Floats (&scale)[Rows][2], int k) {
    const Floats b[2] = {load<Floats>(in.b_value + k * kPanel),
                         load<Floats>(in.b_value + k * kPanel + kLanes)};
    for (int r = 0; r < Rows; ++r) {
      const float a = in.a_value[static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(k)];
      for (int h = 0; h < 2; ++h) of[r][h] += bits<Counts>(truncate((a * b[h]) * scale[r][h]));
    }
  }
};

/// A step between the choice of E and the rounding.
template <int Rows>
struct Running {
  Floats scale[Rows][2];  ///< 2^(F - E)
  Words total[Rows][2];   ///< the addend, then the sum, in units of 2^(E - F)
  Words failed;           ///< sign bit of a lane: some row's sum left 32 bits
  Words largest;          ///< E plus 127: above rules.highest the sum might overflow

  template <Rounds How>
  [[gnu::always_inline]] void begin(int r, int h, Shorts maxima, Floats addend, const Rules& rules) {
    const auto both = bits<Words>(maxima);
    const Words exponent = max(h == 0 ? (both << 16) >> 16 : both >> 16, addend_exponent<How>(addend, rules));
    largest = max(largest, exponent);
    scale[r][h] = bits<Floats>((rules.fraction_bits + 2 * kFloatBias - exponent) << kFloatFraction);
    total[r][h] = truncate(addend * scale[r][h]);
  }

  /// Lanes that leave 32 bits, in the sign bit.
  [[gnu::always_inline]] Words absorb(int r, int h, Counts sum) {
    const Words x = total[r][h];
    total[r][h] = bits<Words>(bits<Counts>(x) + sum);
    return (x ^ total[r][h]) & (bits<Words>(sum) ^ total[r][h]);
  }
};

template <int Rows, Rounds How>
[[gnu::always_inline]] inline void begin_all(Running<Rows>& running, const Maxima<Rows>& maxima,
                                             const Block& addends, const Rules& rules) {
  running.failed = running.largest = Words{};
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h)
      running.template begin<How>(r, h, maxima.row[r], load<Floats>(addends.at(r, h)), rules);
}

/// Finishes one step into `results` and begins the one after it, whose maxima it makes on the way: the work
/// of the one fills the gaps of the other. False when some lane failed. With OneGroup, no step has more than
/// rules.group products.
template <int Rows, Rounds How, bool OneGroup>
[[gnu::always_inline]] inline bool one_step(const Operands& in, const Operands& next, Running<Rows>& running,
                                            Maxima<Rows>& maxima, const Rules& rules, const Block& results) {
  Maxima<Rows> coming(rules);
  Sums<Rows> sum;
  if (OneGroup && in.count == next.count) {
#pragma GCC unroll 2
    for (int i = 0; i < in.count; ++i) {
      coming.add(next, i);
      sum.add(in, running.scale, i);
    }
  } else {
    for (int i = 0; i < next.count; ++i) coming.add(next, i);
    const int group = OneGroup ? in.count : rules.group;
    for (int k = 0; k < in.count; k += group) {
      if (!OneGroup && k > 0) {
        for (int r = 0; r < Rows; ++r)
          for (int h = 0; h < 2; ++h) running.failed |= running.absorb(r, h, sum.of[r][h]);
        sum = {};
      }
      const int end = OneGroup || k + group > in.count ? in.count : k + group;
      for (int i = k; i < end; ++i) sum.add(in, running.scale, i);
    }
  }
  Words failed = running.failed | ((rules.highest + kFloatBias) - running.largest);
  running.failed = running.largest = Words{};
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      failed |= running.absorb(r, h, sum.of[r][h]);
      const Floats x = round_sum<How>(running.total[r][h], running.scale[r][h], rules);
      store(results.at(r, h), x);
      running.template begin<How>(r, h, coming.row[r], x, rules);
    }
  }
  maxima = coming;
  return !any(failed & kAbove);
}

/// Where a block stands in the work, for the plain core.
struct Place {
  int row, column, step;
};

/// One step in place: by vectors, if they can be, and the lanes that fail by the plain core.
template <int Rows, Rounds How>
[[gnu::noinline]] void careful_step(const Multiply& work, const Operands& in, const Block& sums,
                                    const Place& place, bool vectors) {
  const Rules& rules = *work.rules;
  Words failed[Rows][2];
  Floats before[Rows][2];
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      before[r][h] = load<Floats>(sums.at(r, h));
      failed[r][h] = vectors ? tiny(before[r][h], rules) | huge(before[r][h], rules) : splat(-1);
    }
  }
  if (vectors) {
    Maxima<Rows> maxima(rules);
    for (int k = 0; k < in.count; ++k) maxima.add(in, k);
    Running<Rows> running;
    begin_all<Rows, How>(running, maxima, sums, rules);
    for (int k = 0; k < in.count; k += rules.group) {
      Sums<Rows> sum;
      for (int i = k; i < in.count && i < k + rules.group; ++i) sum.add(in, running.scale, i);
      for (int r = 0; r < Rows; ++r)
        for (int h = 0; h < 2; ++h) failed[r][h] |= running.absorb(r, h, sum.of[r][h]);
    }
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h)
        store(sums.at(r, h), round_sum<How>(running.total[r][h], running.scale[r][h], rules));
  }
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      for (int lane = 0; lane < kLanes; ++lane) {
        if (failed[r][h][lane] >= 0) continue;
        sums.at(r, h)[lane] = work.plain(work.context, place.row + r, place.column + 2 * lane + h, place.step,
                                         before[r][h][lane]);
      }
    }
  }
}

template <int Rows>
inline bool any_tiny(const Block& sums, const Rules& rules) {
  Words some = {};
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) some |= tiny(load<Floats>(sums.at(r, h)), rules);
  return any(some);
}

template <int Rows, Rounds How, bool AddendLast, bool OneGroup>
inline void multiply_block(const Multiply& work, int row, int column) {
  const Rules rules = *work.rules;  // a copy: stores can't change it, so it stays in registers
  const Block out{
      work.sum + static_cast<std::size_t>(row) * work.sum_stride + static_cast<std::size_t>(column),
      work.sum_stride};
  // A step reads one and writes the other, so that a step that failed can be done again.
  alignas(MMAUDIT_FAST_BYTES) float buffer[2][Rows * kGroupColumns];
  Block sums{buffer[0], kGroupColumns}, results{buffer[1], kGroupColumns};
  const auto copy = [](const Block& from, const Block& to) {
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) store(to.at(r, h), load<Floats>(from.at(r, h)));
  };
  const auto clear = [](const Block& block) {
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) store(block.at(r, h), Floats{});
  };
  if constexpr (AddendLast) {
    clear(sums);
  } else {
    copy(out, sums);
  }
  const auto operands_of = [&](int index) {
    const Step& step = work.chunk.steps[index];
    const std::size_t a =
        static_cast<std::size_t>(row) * work.a_stride + static_cast<std::size_t>(step.start);
    const int b = step.start * kPanel + column;
    return Operands{work.a_value + a, work.a_exponent + a, work.a_stride,
                    work.b_value + b, work.b_exponent + b, step.count};
  };
  bool careful = any_tiny<Rows>(sums, rules);
  Operands in = operands_of(0);
  Maxima<Rows> maxima(rules);
  for (int k = 0; k < in.count; ++k) maxima.add(in, k);
  Running<Rows> running;
  begin_all<Rows, How>(running, maxima, sums, rules);
  for (int index = 0; index < work.chunk.step_count; ++index) {
    Operands next = in;
    next.count = 0;
    if (index + 1 < work.chunk.step_count) next = operands_of(index + 1);
    const Bounds& a = work.a_bounds[index];
    const Bounds& b = work.b_bounds[index];
    const bool vectors = a.low + b.low >= rules.product_low && a.high + b.high <= rules.product_high;
    if (!careful && vectors && one_step<Rows, How, OneGroup>(in, next, running, maxima, rules, results)) {
      const Block written = results;
      results = sums;
      sums = written;
    } else {
      careful_step<Rows, How>(work, in, sums, {work.row + row, work.column + column, index}, vectors);
      careful = any_tiny<Rows>(sums, rules);
      maxima = Maxima<Rows>(rules);
      for (int k = 0; k < next.count; ++k) maxima.add(next, k);
      begin_all<Rows, How>(running, maxima, sums, rules);
    }
    in = next;
    if constexpr (AddendLast) {
      if (!work.chunk.steps[index].closes) continue;
      for (int r = 0; r < Rows; ++r) {
        for (int h = 0; h < 2; ++h) {
          const auto sum = load<Floats>(sums.at(r, h));
          store(out.at(r, h), add_nearest<How>(load<Floats>(out.at(r, h)), sum, rules));
        }
      }
      clear(sums);
      careful = false;
      begin_all<Rows, How>(running, maxima, sums, rules);
    }
  }
  if constexpr (!AddendLast) copy(sums, out);
}

/// Rows at once. More than AVX2 has registers for, and still the fastest there.
constexpr int kRowsAtOnce = 4;
static_assert(kRows % kRowsAtOnce == 0);

template <Rounds How, bool AddendLast, bool OneGroup>
[[gnu::noinline]] void multiply_panel(const Multiply& work) {
  for (int column = 0; column < kPanel; column += kGroupColumns)
    for (int row = 0; row < kRows; row += kRowsAtOnce)
      multiply_block<kRowsAtOnce, How, AddendLast, OneGroup>(work, row, column);
}

template <Rounds How, bool AddendLast>
void multiply_by(const Multiply& work) {
  if (work.rules->group >= work.rules->block) {
    multiply_panel<How, AddendLast, true>(work);
  } else {
    multiply_panel<How, AddendLast, false>(work);
  }
}

void multiply(const Multiply& work) {
  const bool nearest = work.rules->nearest_bits > 0, addend_last = work.rules->addend_last;
  const FloatMode mode(!nearest && !addend_last);  // an addend that comes last is added to nearest
  if (nearest) {
    addend_last ? multiply_by<Rounds::nearest, true>(work) : multiply_by<Rounds::nearest, false>(work);
  } else {
    addend_last ? multiply_by<Rounds::toward_zero_here, true>(work)
                : multiply_by<Rounds::toward_zero, false>(work);
  }
}

void fold(float* total, float* sum, std::size_t count, std::uint32_t nan) {
  const FloatMode nearest;
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
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
