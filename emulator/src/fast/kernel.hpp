#pragma once
// Chunks of some rows x kPanel elements: straight on, where exponents and sums keep their preconditions, else
// by general_step.hpp. Included once per level, which has set MMAUDIT_FAST_BYTES. A part of the level's one
// source, not a header of declarations; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "compiled.hpp"
#include "general_step.hpp"

namespace mmaudit::fast {
namespace {

/// Whether there are sums whose quick scaling fails, or might come to fail in this chunk.
template <int Rows>
inline bool needs_care(const Block& sums, const VectorRules& rules) {
  Words some = {};
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      const auto x = load<Floats>(sums.at(r, h));
      some |= tiny(x, rules) | above(x, rules.highest - 1);
    }
  }
  return any(some);
}

/// Whether the products of a chunk are too small to lift a sum below 2^highest above 2^(highest + 1).
inline bool stays_low(const Multiply& work, const Bounds* a_bounds) {
  constexpr int kGrowth = 10;  // a product is below 2^(E + 2), and a chunk has at most 2^8 of them
  int most = kNoOperand.high;
  for (int i = 0; i < work.chunk.step_count; ++i) {
    const int high = a_bounds[i].high + work.b_bounds[i].high;
    most = high > most ? high : most;
  }
  return most <= work.rules->highest - kGrowth;
}

template <int Rows>
inline void copy(const Block& from, const Block& to) {
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) store(to.at(r, h), load<Floats>(from.at(r, h)));
}

template <int Rows>
inline void clear(const Block& block) {
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h) store(block.at(r, h), Floats{});
}

/// Null where the product has none of these.
template <typename T>
inline T* moved(T* from, std::size_t by) {
  return from == nullptr ? from : from + by;
}

/// Rows from `row` on, columns from `column` on, at the first step of the chunk.
inline Operands first_operands(const Multiply& work, int row, int column) {
  const auto rows = static_cast<std::size_t>(row);
  return {work.a_value + rows * work.a_stride,
          work.a_exponent + rows * work.a_stride,
          work.a_stride,
          work.b_value + column,
          work.b_exponent + column,
          work.chunk.steps[0].count,
          {moved(work.a_scales.factor, rows * work.a_scales.stride),
           moved(work.a_scales.exponent, rows * work.a_scales.stride), work.a_scales.stride},
          {moved(work.b_scales.factor, static_cast<std::size_t>(column)),
           moved(work.b_scales.exponent, static_cast<std::size_t>(column))},
          {moved(work.selection.value, rows * work.a_stride),
           moved(work.selection.exponent, rows * work.a_stride)}};
}

/// The same for general_step().
inline Operands general_operands(const Multiply& work, const General& general, int row, int column) {
  Operands in = first_operands(work, row, column);
  const std::size_t first = static_cast<std::size_t>(row) * work.a_stride;
  in.a_value = general.a_value + first;
  in.a_exponent = general.a_exponent + first;
  in.b_value = general.b_value + column;
  in.b_exponent = general.b_exponent + column;
  in.selection.exponent = in.selection.value;
  return in;
}

/// The operands of the next step: steps follow one another without gaps.
template <typename StepKind>
[[gnu::always_inline]] inline Operands behind(Operands in, int count) {
  const int words = StepKind::words(in.count);
  in.a_value += in.count;
  in.a_exponent += words;
  if constexpr (StepKind::kSide == Side::sparse) {
    in.selection.value += in.count;
    in.selection.exponent += words;
  } else {
    in.b_value += in.count * kPanel;
    in.b_exponent += words * kPanel;
  }
  if constexpr (StepKind::kSide == Side::scaled) {
    ++in.a_scales.factor;
    ++in.a_scales.exponent;
    in.b_scales.factor += kPanel;
    in.b_scales.exponent += kPanel;
  }
  in.count = count;
  return in;
}

/// Rows at once: four where there are 32 registers.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRowsAtOnce = 4;
#else
constexpr int kRowsAtOnce = 2;
#endif
static_assert(kRows % kRowsAtOnce == 0);

/// The bounds of A's steps in the group of `row`.
inline const Bounds* bounds_of(const Multiply& work, int row) {
  return work.a_bounds + static_cast<std::size_t>(row / kRows) * work.bounds_stride;
}

/// Whether every step of kRows rows of the chunk keeps the preconditions of vectors.
inline bool all_by_vectors(const Multiply& work, const Bounds* a_bounds, const VectorRules& rules) {
  bool all = true;
  for (int i = 0; i < work.chunk.step_count; ++i) {
    const Bounds &a = a_bounds[i], &b = work.b_bounds[i];
    all = all && a.low + b.low >= rules.product_low && a.high + b.high <= rules.product_high;
  }
  return all;
}

/// The sums of the rows from `row` on, of the columns from `column` on.
inline Block sums_of(const Multiply& work, int row, int column) {
  return {work.sum + static_cast<std::size_t>(row) * work.sum_stride + column, work.sum_stride};
}

/// Rows through the steps of a chunk.
template <int Rows, typename Kind>
[[gnu::noinline]] void general_chunk(const Multiply& work, VectorRules& rules, int row, int column) {
  General general = work.general;
  general.prepare(general.context, row / kRows, general);
  alignas(MMAUDIT_FAST_BYTES) float buffer[Rows * kGroupColumns];
  const Block sums = {buffer, kGroupColumns}, out = sums_of(work, row, column);
  if constexpr (Kind::kAddendLast) {
    clear<Rows>(sums);
  } else {
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) {
        const auto x = load<Floats>(out.at(r, h));
        const Floats nan = splat(__builtin_bit_cast(float, rules.nan));
        store(sums.at(r, h), select(bits<Words>(x != x), nan, x));
      }
  }
  Operands in = general_operands(work, general, row, column);
  for (int index = 0; index < work.chunk.step_count; ++index) {
    const Step& step = work.chunk.steps[index];
    in.count = step.count;
    general_step<Rows, Kind>(in, sums, rules);
    in = behind<Kind>(in, 0);
    if (!Kind::kAddendLast || !step.closes) continue;
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h)
        store(out.at(r, h),
              add_nearest<Kind::kHow>(load<Floats>(out.at(r, h)), load<Floats>(sums.at(r, h)), rules));
    clear<Rows>(sums);
  }
  if constexpr (!Kind::kAddendLast) copy<Rows>(sums, out);
}

/// Blocks one below another, from `row` on, all steps of each without a look at any. The first step of a
/// block begins with the last products of the block before. Returns the row of the block that is not
/// straight, or `end`. A block of which a lane failed is done again, and `quick` is false: where one fails
/// others do.
template <int Rows, typename StepKind, typename Straight>
[[gnu::always_inline]] inline int straight_blocks(const Multiply& work, VectorRules& rules, int row, int end,
                                                  int column, const Straight& is_straight, bool& quick) {
  constexpr Rounds kHow = StepKind::kHow;
  alignas(MMAUDIT_FAST_BYTES) float buffer[Rows * kGroupColumns];
  const Block sums = {buffer, kGroupColumns};
  Operands in = first_operands(work, row, column);
  typename StepKind::template MaximaOf<Rows> maxima(rules);
  maxima.add_all(in);
  Running<Rows, StepKind::kSide> running;
  if constexpr (StepKind::kAddendLast) {
    clear<Rows>(sums);
    begin_all<kHow>(running, maxima, in, sums, rules);
  } else {
    begin_all<kHow>(running, maxima, in, sums_of(work, row, column), rules);
  }
  Floats most = {};
  for (bool more = true; more; row += Rows) {
    const Block out = sums_of(work, row, column);
    if constexpr (StepKind::kAddendLast) copy<Rows>(out, sums);
    const Step* step = work.chunk.steps;
    for (const Step* const last = step + work.chunk.step_count - 1; step != last; ++step) {
      const Operands next = behind<StepKind>(in, in.count);
      straight_step<Rows, StepKind, Ends::nothing>(in, next, running, most, rules, sums, step->closes, sums);
      in = next;
      rules.leave_registers();
    }
    more = row + Rows < end && is_straight(row + Rows);
    Words failed;
    if (more) {
      const Operands next = first_operands(work, row + Rows, column);
      failed = straight_step<Rows, StepKind, Ends::block>(in, next, running, most, rules, sums, step->closes,
                                                          sums_of(work, row + Rows, column));
      in = next;
    } else {
      const Operands none = behind<StepKind>(in, 0);
      failed = straight_step<Rows, StepKind, Ends::everything>(in, none, running, most, rules, sums,
                                                               step->closes, sums);
    }
    if (any(failed)) {
      quick = false;
      general_chunk<Rows, GeneralKind<StepKind>>(work, rules, row, column);
    } else {
      copy<Rows>(sums, out);
    }
  }
  return row;
}

/// Which groups of rows go straight through a chunk. Steps of unlike counts don't; no hardware has them.
inline void find_straight(const Multiply& work, const VectorRules& rules, bool* straight) {
  bool even = true;
  for (int i = 1; i < work.chunk.step_count; ++i)
    even = even && work.chunk.steps[i].count == work.chunk.steps[0].count;
  for (int g = 0; g < work.groups; ++g) {
    const Bounds* a_bounds = bounds_of(work, g * kRows);
    straight[g] = even && stays_low(work, a_bounds) && all_by_vectors(work, a_bounds, rules);
  }
}

template <typename StepKind>
[[gnu::noinline]] void multiply_panel(const Multiply& work) {
  const FloatMode mode(StepKind::kModeTowardZero);
  VectorRules rules(*work.rules);
  bool straight[kMostGroups];
  find_straight(work, rules, straight);
  const int end = work.groups * kRows;
  bool quick = true;
  for (int column = 0; column < kPanel; column += kGroupColumns) {
    const auto is_straight = [&](int row) {
      return quick && straight[row / kRows] && !needs_care<kRowsAtOnce>(sums_of(work, row, column), rules);
    };
    for (int row = 0; row < end;) {
      if (is_straight(row)) {
        row = straight_blocks<kRowsAtOnce, StepKind>(work, rules, row, end, column, is_straight, quick);
      } else {
        general_chunk<kRowsAtOnce, GeneralKind<StepKind>>(work, rules, row, column);
        row += kRowsAtOnce;
      }
    }
  }
}

void multiply(const Multiply& work) {
  with_compiled(*work.rules, [&](auto kind) { multiply_panel<decltype(kind)>(work); });
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
