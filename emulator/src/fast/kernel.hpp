#pragma once
// The steps of kRows x kPanel elements, one after another, and those that vectors can't do. Included once per
// level, which has set MMAUDIT_FAST_BYTES. A part of the level's one source, not a header of declarations;
// offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "compiled.hpp"
#include "step.hpp"

namespace mmaudit::fast {
namespace {

/// Where a block stands in the work, for the plain core.
struct Place {
  int row, column, step;
};

/// One step in place: by vectors, if they can be, and the lanes that fail by the plain core.
template <int Rows, typename StepKind>
[[gnu::noinline]] void careful_step(const Multiply& work, const VectorRules& rules, Operands in, Block sums,
                                    Place place, bool vectors) {
  Words failed[Rows][2];
  Floats before[Rows][2];
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      before[r][h] = load<Floats>(sums.at(r, h));
      failed[r][h] = vectors ? tiny(before[r][h], rules) | above(before[r][h], rules.highest) : splat(-1);
    }
  }
  if (vectors) {
    typename StepKind::template MaximaOf<Rows> maxima(rules);
    maxima.add_all(in);
    Running<Rows, StepKind::kSide> running;
    begin_all<StepKind::kHow>(running, maxima, in, sums, rules);
    for (int k = 0; k < in.count; k += rules.group) {
      Sums<Rows, StepKind::kSide> sum;
      for (int i = k; i < in.count && i < k + rules.group; ++i) sum.add(in, running.of_products(), i);
      for (int r = 0; r < Rows; ++r)
        for (int h = 0; h < 2; ++h) failed[r][h] |= running.absorb(r, h, sum.of[r][h]);
    }
    for (int r = 0; r < Rows; ++r) {
      for (int h = 0; h < 2; ++h) {
        const auto total = bits<Words>(running.total[r][h]);
        const Floats whole = to_float_toward_zero<StepKind::kModeTowardZero>(total);
        const Floats x = round_sum<StepKind::kHow>(total, whole, running.scale[r][h], rules);
        store(sums.at(r, h), kept<StepKind::kHow>(x));
      }
    }
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

/// Whether every step has to be watched: sums whose scaling fails, or that might come to fail in this chunk.
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

/// Rows from `row` on, columns from `column` on, at the first step of the chunk.
inline Operands first_operands(const Multiply& work, int row, int column) {
  const auto rows = static_cast<std::size_t>(row);
  return {work.a_value + rows * work.a_stride,
          work.a_exponent + rows * work.a_stride,
          work.a_stride,
          work.b_value + column,
          work.b_exponent + column,
          work.chunk.steps[0].count,
          {work.a_scales.factor + rows * work.a_scales.stride,
           work.a_scales.exponent + rows * work.a_scales.stride, work.a_scales.stride},
          {work.b_scales.factor + column, work.b_scales.exponent + column},
          {work.selection.value + rows * work.a_stride, work.selection.exponent + rows * work.a_stride}};
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

/// Some rows on their way through the steps of a chunk.
template <int Rows, typename StepKind>
struct Stream {
  // A step reads one and writes the other, so that a step that failed can be done again.
  alignas(MMAUDIT_FAST_BYTES) float buffer[2][Rows * kGroupColumns];
  using StepMaxima = typename StepKind::template MaximaOf<Rows>;
  StepMaxima maxima;
  Running<Rows, StepKind::kSide> running;
  Block out, sums, results;
  Operands in;
  Place place;
  bool always, careful;  ///< every step has to be watched; the next one has

  /// Of `work`, from (row, column) on.
  Stream(const Multiply& work, const VectorRules& rules, int row, int column, bool watched)
      : maxima(rules), always(watched) {
    const auto rows = static_cast<std::size_t>(row);
    out = {work.sum + rows * work.sum_stride + column, work.sum_stride};
    sums = {buffer[0], kGroupColumns};
    results = {buffer[1], kGroupColumns};
    if constexpr (StepKind::kAddendLast) {
      clear<Rows>(sums);
    } else {
      copy<Rows>(out, sums);
    }
    in = first_operands(work, row, column);
    place = {work.row + row, work.column + column, 0};
    careful = always || needs_care<Rows>(sums, rules);
    maxima.add_all(in);
    begin_all<StepKind::kHow>(running, maxima, in, sums, rules);
  }

  /// One step; the next one has `coming` products.
  [[gnu::always_inline]] void step(const Multiply& work, const VectorRules& rules, bool vectors, int coming) {
    const Operands next = behind<StepKind>(in, coming);
    if (!careful && vectors && one_step<Rows, StepKind>(in, next, running, maxima, rules, results)) {
      const Block written = results;
      results = sums;
      sums = written;
    } else {
      careful_step<Rows, StepKind>(work, rules, in, sums, place, vectors);
      careful = always || needs_care<Rows>(sums, rules);
      maxima = StepMaxima(rules);
      maxima.add_all(next);
      begin_all<StepKind::kHow>(running, maxima, next, sums, rules);
    }
    in = next;
    ++place.step;
  }

  /// The end of an instruction that adds its addend last.
  void close(const VectorRules& rules) {
    for (int r = 0; r < Rows; ++r) {
      for (int h = 0; h < 2; ++h) {
        const auto sum = load<Floats>(sums.at(r, h));
        store(out.at(r, h), add_nearest<StepKind::kHow>(load<Floats>(out.at(r, h)), sum, rules));
      }
    }
    clear<Rows>(sums);
    careful = always;
    begin_all<StepKind::kHow>(running, maxima, in, sums, rules);
  }
};

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

/// The steps of some rows one by one: what vectors can't do is the plain core's.
template <int Rows, typename StepKind>
[[gnu::noinline]] void watched_chunk(const Multiply& work, const VectorRules& rules, int row, int column,
                                     bool watched) {
  Stream<Rows, StepKind> stream(work, rules, row, column, watched);
  for (int index = 0; index < work.chunk.step_count; ++index) {
    const Step* step = &work.chunk.steps[index];
    const int coming = index + 1 < work.chunk.step_count ? step[1].count : 0;
    const Bounds& a = bounds_of(work, row)[index];
    const Bounds& b = work.b_bounds[index];
    const bool vectors = a.low + b.low >= rules.product_low && a.high + b.high <= rules.product_high;
    stream.step(work, rules, vectors, coming);
    if (StepKind::kAddendLast && step->closes) stream.close(rules);
  }
  if constexpr (!StepKind::kAddendLast) copy<Rows>(stream.sums, stream.out);
}

/// The sums of the rows from `row` on, of the columns from `column` on.
inline Block sums_of(const Multiply& work, int row, int column) {
  return {work.sum + static_cast<std::size_t>(row) * work.sum_stride + column, work.sum_stride};
}

/// Blocks one below another, from `row` on, all steps of each without a look at any. The first step of a
/// block begins with the last products of the block before. Returns the row of the block that is not
/// straight, or `end`. A block of which a lane failed is done again.
template <int Rows, typename StepKind, typename Straight>
[[gnu::always_inline]] inline int straight_blocks(const Multiply& work, VectorRules& rules, int row, int end,
                                                  int column, const Straight& is_straight) {
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
      watched_chunk<Rows, StepKind>(work, rules, row, column, false);
    } else {
      copy<Rows>(sums, out);
    }
  }
  return row;
}

/// How kRows rows go through a chunk: straight on; step by step; the same, every step watched.
enum class Care : char { straight, by_steps, watched };

/// The same of all groups. Steps of unlike counts are taken one by one; no hardware has them.
inline void set_care(const Multiply& work, const VectorRules& rules, Care* care) {
  bool even = true;
  for (int i = 1; i < work.chunk.step_count; ++i)
    even = even && work.chunk.steps[i].count == work.chunk.steps[0].count;
  for (int g = 0; g < work.groups; ++g) {
    const Bounds* a_bounds = bounds_of(work, g * kRows);
    if (!stays_low(work, a_bounds)) {
      care[g] = Care::watched;
    } else {
      care[g] = even && all_by_vectors(work, a_bounds, rules) ? Care::straight : Care::by_steps;
    }
  }
}

template <typename StepKind>
[[gnu::noinline]] void multiply_panel(const Multiply& work) {
  const FloatMode mode(StepKind::kModeTowardZero);
  VectorRules rules(*work.rules);
  Care care[kMostGroups];
  set_care(work, rules, care);
  const int end = work.groups * kRows;
  for (int column = 0; column < kPanel; column += kGroupColumns) {
    const auto is_straight = [&](int row) {
      return care[row / kRows] == Care::straight &&
             !needs_care<kRowsAtOnce>(sums_of(work, row, column), rules);
    };
    for (int row = 0; row < end;) {
      if (is_straight(row)) {
        row = straight_blocks<kRowsAtOnce, StepKind>(work, rules, row, end, column, is_straight);
      } else {
        watched_chunk<kRowsAtOnce, StepKind>(work, rules, row, column, care[row / kRows] == Care::watched);
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
