#pragma once
// One step of some rows x kGroupColumns elements.
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
  StepScalesA a_scales;
  StepScalesB b_scales;
  Selection selection;
};

/// Beside dense operands without scales: what an element of the kernel's code is compiled for.
enum class Side { none, scaled, sparse };

/// Largest exponents of products, plus 127, of every element; not below the floor, unless scales come on top.
template <int Rows, bool Pairs, Side What>
struct Maxima {
  Shorts row[Rows];

  explicit Maxima(const VectorRules& rules) {
    const int floor = rules.floor + kFloatBias, none = Pairs ? 0 : kZero;
    const int least = What == Side::scaled ? none : floor;
    for (auto& x : row) x = Shorts{} + static_cast<std::int16_t>(Pairs ? least * 0x101 : least);
  }
  /// Words of exponents that so many positions have.
  static constexpr int words(int count) { return Pairs ? count / 2 : count; }

  [[gnu::always_inline]] void add(const Operands& in, int i) {
    auto b = load<Shorts>(in.b_exponent + (What == Side::sparse ? 0 : i * kPanel));
    for (int r = 0; r < Rows; ++r) {
      const std::size_t at = static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(i);
      const Words a = splat(in.a_exponent[at]);
      if constexpr (What == Side::sparse) b = load<Shorts>(in.b_exponent + in.selection.exponent[at]);
      if constexpr (Pairs) {
        row[r] = bits<Shorts>(max(bits<Bytes>(row[r]), subtract_to_zero(bits<Bytes>(a), bits<Bytes>(b))));
      } else {
        row[r] = max(row[r], static_cast<Shorts>(b + bits<Shorts>(a)));
      }
    }
  }
  void add_all(const Operands& in) {
    for (int i = 0; i < words(in.count); ++i) add(in, i);
  }
  /// In the low byte of lanes of 16 bits, none negative or above 255.
  [[nodiscard]] Shorts of(int r) const {
    if constexpr (!Pairs) return row[r];
    return bits<Shorts>(max(bits<Bytes>(row[r]), bits<Bytes>(bits<HalfWords>(row[r]) >> 8)));
  }
  /// Where a float has its exponent, of the even or the odd columns.
  [[nodiscard]] Words fields(int r, int h, const Operands& in, const VectorRules& rules) const {
    const auto lanes = bits<Counts>(What == Side::scaled ? scaled(r, in, rules) : of(r));
    if (h == 1) return bits<Words>(lanes << (kFloatFraction - 16)) & rules.exponent_field;
    const auto low = bits<Words>(lanes << kFloatFraction);
    return What != Side::scaled && Pairs ? low & rules.exponent_field : low;
  }
  /// The same with the exponents of the scales, and not below the floor.
  [[nodiscard]] Shorts scaled(int r, const Operands& in, const VectorRules& rules) const {
    Shorts products = of(r);
    if constexpr (Pairs) {
      products &= 0xFF;
      products |= (products == 0) & static_cast<std::int16_t>(kZero);
    }
    const Words a = splat(in.a_scales.exponent[static_cast<std::size_t>(r) * in.a_scales.stride]);
    products += bits<Shorts>(a) + load<Shorts>(in.b_scales.exponent);
    return max(products, Shorts{} + static_cast<std::int16_t>(rules.floor + kFloatBias));
  }
};

template <int Rows, Side What>
struct Sums {
  Counts of[Rows][2] = {};

  /// The products of `Count` positions from k on.
  template <int Count = 1>
  [[gnu::always_inline]] void add(const Operands& in, const Floats (&scale)[Rows][2], int k) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      Floats x[Count][2];
#pragma GCC unroll 2
      for (int i = 0; i < Count; ++i) {
        const std::size_t at = static_cast<std::size_t>(r) * in.a_stride + static_cast<std::size_t>(k + i);
        const float* b = in.b_value + (What == Side::sparse ? in.selection.value[at] : (k + i) * kPanel);
        const float a = in.a_value[at];
        x[i][0] = a * load<Floats>(b);
        x[i][1] = a * load<Floats>(b + kLanes);
      }
#pragma GCC unroll 2
      for (int i = 0; i < Count; ++i) {
        x[i][0] *= scale[r][0];
        x[i][1] *= scale[r][1];
      }
#pragma GCC unroll 2
      for (int i = 0; i < Count; ++i) {
        of[r][0] += bits<Counts>(truncate(x[i][0]));
        of[r][1] += bits<Counts>(truncate(x[i][1]));
      }
    }
  }
};

/// A step between the choice of E and the rounding.
template <int Rows, Side What>
struct Running {
  Floats scale[Rows][2];        ///< 2^(F - E)
  Floats with_scales[Rows][2];  ///< with Side::scaled: the same times the scales of the step
  Counts total[Rows][2];        ///< the addend, then the sum, in units of 2^(E - F)
  Words failed;                 ///< sign bit of a lane: some row's sum left 32 bits
  Words largest;                ///< E plus 127, in the place of a float's exponent

  template <Rounds How>
  [[gnu::always_inline]] void begin(int r, int h, Words products, Floats addend, const VectorRules& rules) {
    const Words exponent = max(products, seen_exponent<How>(addend, rules));
    if constexpr (to_nearest(How)) largest = max(largest, exponent);
    scale[r][h] = bits<Floats>(bits<Counts>(rules.top) - bits<Counts>(exponent));
    total[r][h] = bits<Counts>(truncate(addend * scale[r][h]));
  }

  /// Where no product is other than zero, scales may be anything: the factor stays finite.
  [[gnu::always_inline]] void apply_scales(int r, int h, const Operands& in) {
    const float a = in.a_scales.factor[static_cast<std::size_t>(r) * in.a_scales.stride];
    with_scales[r][h] =
        smaller(scale[r][h] * (load<Floats>(in.b_scales.factor + h * kLanes) * a), splat(0x1p100F));
  }
  /// What products are multiplied by.
  [[nodiscard]] const Floats (&of_products() const)[Rows][2] {
    return What == Side::scaled ? with_scales : scale;
  }

  /// Lanes that leave 32 bits, in the sign bit.
  [[gnu::always_inline]] Words absorb(int r, int h, Counts sum) {
    const Counts x = total[r][h];
    total[r][h] = x + sum;
    return bits<Words>((x ^ total[r][h]) & (sum ^ total[r][h]));
  }
};

/// Begins the step of `in` with one vector of addends.
template <Rounds How, int Rows, bool Pairs, Side What>
[[gnu::always_inline]] inline void begin_one(Running<Rows, What>& running,
                                             const Maxima<Rows, Pairs, What>& maxima, int r, int h,
                                             const Operands& in, Floats addend, const VectorRules& rules) {
  running.template begin<How>(r, h, maxima.fields(r, h, in, rules), addend, rules);
  if constexpr (What == Side::scaled) running.apply_scales(r, h, in);
}

template <Rounds How, int Rows, bool Pairs, Side What>
[[gnu::always_inline]] inline void begin_all(Running<Rows, What>& running,
                                             const Maxima<Rows, Pairs, What>& maxima, const Operands& in,
                                             const Block& addends, const VectorRules& rules) {
  running.failed = running.largest = Words{};
  for (int r = 0; r < Rows; ++r)
    for (int h = 0; h < 2; ++h)
      begin_one<How>(running, maxima, r, h, in, load<Floats>(addends.at(r, h)), rules);
}

/// Whether the sum of a step fits 32 bits: group by group; but for an addend that comes on top; always.
enum class Fits { groups, almost, always };

/// How one compilation of the kernel differs from the others.
template <Rounds HowIt, bool AddendLastIt, Fits FitsIt, bool PairsIt, Side SideIt>
struct Compiled {
  static constexpr Rounds kHow = HowIt;
  static constexpr bool kAddendLast = AddendLastIt;
  static constexpr bool kOneGroup = FitsIt != Fits::groups;
  static constexpr bool kWatched = FitsIt == Fits::almost;
  /// The thread's rounding: an addend that comes last is added to nearest.
  static constexpr bool kModeTowardZero =
      HowIt == Rounds::toward_zero || (HowIt == Rounds::binary16 && !AddendLastIt);
  static constexpr bool kPairs = PairsIt;
  static constexpr Side kSide = SideIt;
  template <int Rows>
  using MaximaOf = Maxima<Rows, PairsIt, SideIt>;
  /// Words of exponents that so many positions have.
  static constexpr int words(int count) { return PairsIt ? count / 2 : count; }
};

/// The sums of the products of one step, and on the way the maxima of the next one: the work of the one fills
/// the gaps of the other. Of steps that are one group they include the addend.
template <int Rows, typename StepKind>
[[gnu::always_inline]] inline void sum_products(const Operands& in, const Operands& next,
                                                Running<Rows, StepKind::kSide>& running,
                                                typename StepKind::template MaximaOf<Rows>& coming,
                                                const VectorRules& rules) {
  constexpr int kAtOnce = StepKind::kPairs ? 2 : 1;
  Sums<Rows, StepKind::kSide> sum;
  if constexpr (StepKind::kOneGroup) {
    // The addend first: what then leaves 32 bits comes back at their other end, where nothing else comes.
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) sum.of[r][h] = running.total[r][h];
    if (in.count == next.count) {
      const int words = StepKind::words(in.count);
      for (int i = 0; i < words; ++i) {
        coming.add(next, i);
        sum.template add<kAtOnce>(in, running.of_products(), i * kAtOnce);
      }
    } else {
      coming.add_all(next);
      for (int k = 0; k < in.count; ++k) sum.add(in, running.of_products(), k);
    }
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h) running.total[r][h] = sum.of[r][h];
  } else {
    coming.add_all(next);
    for (int k = 0; k < in.count; k += rules.group) {
      for (int i = k; i < in.count && i < k + rules.group; ++i) sum.add(in, running.of_products(), i);
      for (int r = 0; r < Rows; ++r)
        for (int h = 0; h < 2; ++h) running.failed |= running.absorb(r, h, sum.of[r][h]);
      sum = {};
    }
  }
}

/// Lanes that failed since the last call, in the sign bit; `most` is the largest magnitude of a sum.
template <typename StepKind, int Rows>
[[gnu::always_inline]] inline Words failed_lanes(Running<Rows, StepKind::kSide>& running, Floats most,
                                                 const VectorRules& rules) {
  Words failed = running.failed;
  if constexpr (to_nearest(StepKind::kHow))
    failed |= ((rules.highest + kFloatBias) << kFloatFraction) - running.largest;
  if constexpr (StepKind::kWatched) failed |= bits<Words>(most >= rules.most_sum);
  running.failed = running.largest = Words{};
  return failed & kAbove;
}

/// The rounded sum of one vector of a step.
template <typename StepKind, int Rows>
[[gnu::always_inline]] inline Floats rounded(const Running<Rows, StepKind::kSide>& running, int r, int h,
                                             Floats& most, const VectorRules& rules) {
  const auto total = bits<Words>(running.total[r][h]);
  const Floats whole = to_float_toward_zero<StepKind::kModeTowardZero>(total);
  if constexpr (StepKind::kWatched)
    most = bits<Floats>(max(bits<Words>(most), bits<Words>(whole) & rules.magnitude));
  return round_sum<StepKind::kHow>(total, whole, running.scale[r][h], rules);
}

/// The sums of the products of one step of one group, and the maxima of the next one, which `next` may be
/// none.
template <int Rows, typename StepKind, bool More>
[[gnu::always_inline]] inline void sum_even_products(const Operands& in, const Operands& next,
                                                     Running<Rows, StepKind::kSide>& running,
                                                     typename StepKind::template MaximaOf<Rows>& coming) {
  constexpr int kAtOnce = StepKind::kPairs ? 2 : 1;
  Sums<Rows, StepKind::kSide> sum;
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    sum.of[r][0] = running.total[r][0];
    sum.of[r][1] = running.total[r][1];
  }
  const int words = StepKind::words(in.count);
  for (int i = 0; i < words; ++i) {
    if constexpr (More) coming.add(next, i);
    sum.template add<kAtOnce>(in, running.of_products(), i * kAtOnce);
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    running.total[r][0] = sum.of[r][0];
    running.total[r][1] = sum.of[r][1];
  }
}

/// What a step is the last one of. Behind a block the next one begins.
enum class Ends { nothing, block, everything };

/// The same, without asking what failed before the end of a block, whose failed lanes come out. `sums` gets
/// what the last step of a block leaves, or the sum of an instruction that adds its addend last. The next
/// block adds to `addends`.
template <int Rows, typename StepKind, Ends What>
[[gnu::always_inline]] inline Words straight_step(const Operands& in, const Operands& next,
                                                  Running<Rows, StepKind::kSide>& running, Floats& most,
                                                  const VectorRules& rules, const Block& sums, bool closes,
                                                  const Block& addends) {
  constexpr Rounds kHow = StepKind::kHow;
  typename StepKind::template MaximaOf<Rows> coming(rules);
  if constexpr (StepKind::kOneGroup) {
    sum_even_products<Rows, StepKind, What != Ends::everything>(in, next, running, coming);
  } else {
    sum_products<Rows, StepKind>(in, next, running, coming, rules);
  }
  closes = StepKind::kAddendLast && closes;
  Words failed = {};
  if (What == Ends::nothing && !closes) {
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h)
        begin_one<kHow>(running, coming, r, h, next, rounded<StepKind>(running, r, h, most, rules), rules);
    return failed;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int h = 0; h < 2; ++h) {
      Floats x = kept<kHow>(rounded<StepKind>(running, r, h, most, rules));
      if (closes) x = add_numbers<kHow>(load<Floats>(sums.at(r, h)), x, rules);
      store(sums.at(r, h), x);
    }
  }
  if constexpr (What != Ends::nothing) {
    failed = failed_lanes<StepKind>(running, most, rules);
    most = Floats{};
  }
  if constexpr (What != Ends::everything) {
    for (int r = 0; r < Rows; ++r)
      for (int h = 0; h < 2; ++h)
        begin_one<kHow>(running, coming, r, h, next,
                        StepKind::kAddendLast ? Floats{} : load<Floats>(addends.at(r, h)), rules);
  }
  return failed;
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
