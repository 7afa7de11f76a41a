#pragma once
// Steps of groups: integer sums of 4-bit products. The quick kernel multiplies them by the integers of their
// scales, then one binary64 addition per step is exact, and one mask rounds toward zero; that is right where
// alignment cuts nothing off. The general kernel finds each lane's largest exponent and cuts off every group.
// A part of the level's one source, not a header of declarations; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "group_level.hpp"
#include "group_vectors.hpp"

namespace mmaudit::fast {
namespace {

constexpr int kPairColumns = 2 * kLanes;  ///< of one vector of 16-bit lanes
static_assert(kPanel % kPairColumns == 0);

/// Where column `j` of a panel stands: as everywhere in the level.
constexpr int place(int j) { return j - j % kPairColumns + (j % 2) * kLanes + j % kPairColumns / 2; }

/// Bits of binary64 that binary32 has not, and the sign and exponent of binary64.
constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;
constexpr std::uint64_t kSignAndExponent = ~((std::uint64_t{1} << 52) - 1);

inline Shorts both(std::uint32_t word) { return bits<Shorts>(splat(static_cast<std::int32_t>(word))); }

/// Where a row of a panel stands, and its operands.
struct GroupRow {
  PackedGroupsA a;
  float* sum;
  int row;
};

inline GroupRow row_of(const GroupMultiply& work, int row) {
  const auto i = static_cast<std::size_t>(row);
  return {{work.a.elements + i * work.elements_stride, work.a.scales + i * work.scales_stride,
           work.a.units + i * work.units_stride},
          work.sum + i * work.sum_stride,
          row};
}

/// Sums of one group of a row for the kLanes columns that stand from `at` on. Group: products, or 0.
template <int Group>
[[gnu::always_inline]] inline GroupSum sum_of_group(const GroupMultiply& work, const GroupRow& row, int group,
                                                    int at) {
  const int fours = (Group == 0 ? work.rules->group : Group) / 4;
  const std::uint8_t* a = row.a.elements + group * fours * 4;
  const std::int8_t* b = work.b.elements + (group * fours * kPanel + at) * 4;
  auto sum = load<GroupSum>(work.b.offsets + group * kPanel + at);
  for (int k = 0; k < fours; ++k) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, a + k * 4, sizeof four);
    sum = add_products(sum, bits<Bytes>(splat(four)), load<SignedBytes>(b + k * kPanel * 4));
  }
  return sum;
}

/// The quick kernel: kPairColumns elements, even columns and then odd ones, half a vector of floats each.
struct GroupLanes {
  static constexpr int kParts = 4;
  Doubles sum[kParts];
  Longs failed[kParts] = {};

  explicit GroupLanes(const float* from) {
    for (int i = 0; i < kParts; ++i)
      sum[i] = __builtin_convertvector(load<HalfFloats>(from + i * (kLanes / 2)), Doubles);
  }

  /// One step: sum += total * unit, rounded toward zero.
  [[gnu::always_inline]] void finish(const Words (&total)[2], const double* units, double unit,
                                     double magic) {
    const Doubles totals[kParts] = {to_doubles<0>(total[0]), to_doubles<1>(total[0]), to_doubles<0>(total[1]),
                                    to_doubles<1>(total[1])};
    for (int i = 0; i < kParts; ++i) {
      const Doubles scale = load<Doubles>(units + i * (kLanes / 2)) * unit;
      // 1.5 * 2^52 quanta: whoever is a multiple of the quantum, and not too large for an exact sum, comes
      // back.
      const Doubles start = scale * magic;
      const Doubles lifted = sum[i] + start;
      failed[i] |= bits<Longs>(lifted - start) ^ bits<Longs>(sum[i]);
      failed[i] |= (bits<Longs>(lifted) ^ bits<Longs>(start)) & kSignAndExponent;
      const Doubles exact = sum[i] + totals[i] * scale;
      sum[i] = bits<Doubles>(bits<Longs>(exact) & ~kBelowFloat);
    }
  }
};

/// Whether every lane was served; where one was not, nothing is written.
template <int Group>
[[gnu::noinline]] bool multiply_near(const GroupMultiply& work, const GroupRow& row, int column,
                                     double magic) {
  float* out = row.sum + column;
  GroupLanes lanes(out);
  int group = 0;
  for (int step = 0; step < work.chunk.steps; ++step) {
    Words total[2] = {};
    for (const int end = group + work.chunk.step_groups[step]; group < end; ++group) {
      const auto above = both(row.a.scales[group].above);
      for (int i = 0; i < 2; ++i) {
        const int at = column + i * kLanes;
        const Shorts scale = load<Shorts>(work.b.above + group * kPanel + at) * above;
        total[i] += sum_of_products(bits<Shorts>(sum_of_group<Group>(work, row, group, at)), scale);
      }
    }
    lanes.finish(total, work.b.units + step * kPanel + column, row.a.units[step], magic);
  }
  Longs some = {};
  for (const Longs& part : lanes.failed) some |= part;
  if (any(bits<Words>(some) != 0)) return false;
  for (int i = 0; i < 2; ++i) store(out + i * kLanes, to_floats(lanes.sum[2 * i], lanes.sum[2 * i + 1]));
  return true;
}

/// The general kernel: any scales and sums. Near: GroupScales::near, else powers.
template <int Group, bool Near>
[[gnu::noinline]] void multiply_any(const GroupMultiply& work, const GroupRow& row, int column) {
  const GroupRules& rules = *work.rules;
  float* out = row.sum + column;
  Floats sum[2];
  for (int i = 0; i < 2; ++i) sum[i] = load<Floats>(out + i * kLanes) + Floats{};  // -0 becomes +0
  // Exponents here are kFieldBias more than a binary32's field.
  constexpr int kBias = kFieldBias + kFloatBias;
  const int quantum = kBias + rules.fraction_bits;  // 2^(quantum - exponent) brings to units of 2^(E - F)
  const int top = kFloatBias + rules.fraction_bits + rules.unit;  // field of a scale of the exponent E
  int group = 0;
  for (int step = 0; step < work.chunk.steps; ++step) {
    const int first = group, end = first + work.chunk.step_groups[step];
    const auto exponents = [&](int at) {
      return load<Shorts>(work.b.exponents + at * kPanel + column) + both(row.a.scales[at].exponent);
    };
    Shorts largest = {};  // 0: no group takes part
    for (int at = first; at < end; ++at)
      largest = max_where(load<Shorts>(work.b.nonzero + at * kPanel + column), both(row.a.scales[at].nonzero),
                          largest, exponents(at));
    Words exponent[2] = {bits<Words>(largest) & 0xFFFF, bits<Words>(bits<Counts>(largest) >> 16)}, keep[2];
    for (int i = 0; i < 2; ++i) {
      const auto twice = bits<Counts>(sum[i]) << 1;
      Words field = bits<Words>(twice >> (kFloatFraction + 1));
      keep[i] = (exponent[i] == 0) | (field == 255);
      if constexpr (!Near) field = select(bits<Words>(twice) == 0, splat(-kFieldBias), max(field, splat(1)));
      exponent[i] = max(max(exponent[i], splat(rules.floor + kBias)), field + kFieldBias);
    }
    WideSums total[2] = {{sum[0], quantum - exponent[0]}, {sum[1], quantum - exponent[1]}};
    const auto pair = bits<HalfWords>(exponent[0] | exponent[1] << 16);
    Floats unit[2] = {};
    for (int i = 0; Near && i < 2; ++i) unit[i] = bits<Floats>((top + kBias - exponent[i]) << kFloatFraction);
    for (; group < end; ++group) {
      if constexpr (!Near) {  // 2^(exponents of the scales - E), or 0 where that is too small for any bit
        const auto field =
            bits<Counts>(subtract_to_zero(HalfWords{} + static_cast<std::uint16_t>(top),
                                          subtract_to_zero(pair, bits<HalfWords>(exponents(group)))));
        unit[0] = bits<Floats>(field << kFloatFraction);
        unit[1] = bits<Floats>(field >> 16 << kFloatFraction);
      }
      for (int i = 0; i < 2; ++i) {
        const int at = column + i * kLanes;
        Floats x = __builtin_convertvector(whole(sum_of_group<Group>(work, row, group, at)), Floats),
               by = unit[i];
        if constexpr (Near) x *= load<Floats>(work.b.factors + group * kPanel + at);
        if constexpr (Near) by *= splat(row.a.scales[group].factor);
        total[i].add(x * by);
      }
    }
    for (int i = 0; i < 2; ++i) {
      const Floats cut = total[i].template rounded<!Near>(exponent[i] - quantum) + Floats{};
      sum[i] = select(keep[i], sum[i], cut);
    }
  }
  const auto nan = bits<Floats>(both(rules.nan));
  for (int i = 0; i < 2; ++i) store(out + i * kLanes, select(bits<Words>(sum[i] != sum[i]), nan, sum[i]));
}

/// The kPairColumns elements from `column` on by the plain core.
inline void multiply_plainly(const GroupMultiply& work, const GroupRow& row, int column) {
  for (int at = 0; at < kPairColumns; ++at) {
    const int real = work.column + column + 2 * (at % kLanes) + at / kLanes;
    float& sum = row.sum[column + at];
    for (int step = 0; step < work.chunk.steps; ++step)
      sum = work.plain(work.context, row.row, real, step, sum);
  }
}

template <int Group>
void multiply_general(const GroupMultiply& work, const GroupRow& row, int column) {
  const GroupScales scales = FloatMode::kSets ? work.rules->scales : GroupScales::unserved;
  if (scales == GroupScales::unserved) return multiply_plainly(work, row, column);
  scales == GroupScales::near ? multiply_any<Group, true>(work, row, column)
                              : multiply_any<Group, false>(work, row, column);
}

template <int Group>
void multiply_rows(const GroupMultiply& work, double magic) {
  constexpr int kWait = 8;  // rows for which the quick kernel is not tried again
  const GroupRules& rules = *work.rules;
  const GroupBounds& b = work.b_bounds;
  const auto nan = bits<Floats>(both(rules.nan));
  int wait = 0;
  for (int i = 0; i < work.rows; ++i) {
    const GroupRow row = row_of(work, i);
    const GroupBounds& a = work.a_bounds[i];
    const bool near = a.spread + b.spread <= rules.spread && a.low + b.low >= rules.lowest &&
                      a.high + b.high <= rules.highest;
    for (int column = 0; column < kPanel; column += kPairColumns) {
      if (near && wait == 0 && !a.nan && !multiply_near<Group>(work, row, column, magic)) wait = kWait + 1;
      if ((!near || wait != 0) && !a.nan) multiply_general<Group>(work, row, column);
      for (int at = column; at < column + kPairColumns && (a.nan || b.nan); at += kLanes) {
        const Words here = a.nan ? splat(-1) : load<Words>(work.b.nan + at);
        store(row.sum + at, select(here, nan, load<Floats>(row.sum + at)));
      }
    }
    wait = wait > 0 ? wait - 1 : 0;
  }
}

void multiply_groups(const GroupMultiply& work) {
  const FloatMode mode(true);
  const double magic = 1.5 * power_of_two(52 + work.rules->quantum);
  work.rules->group == 16 ? multiply_rows<16>(work, magic) : multiply_rows<0>(work, magic);
}

/// A significand `shift` binades above the least scale of its step, which fits where the spread is allowed.
inline std::uint16_t above(int significand, int shift, bool some, int spread) {
  return static_cast<std::uint16_t>((significand << (shift & 15)) &
                                    -static_cast<int>(some & (shift <= spread)));
}

/// The scales of the groups of one step that are not zero: their least exponent, and how far they lie apart.
/// Without branches, which data would decide.
struct StepScales {
  int low = 20000, high = -20000;
  bool nan = false;

  void add(const ScaleByte& scale, bool elements) {  // elements: and the scale is no zero
    nan |= scale.significand == kNanScale;
    const int out = -static_cast<int>(!elements), exponent = scale.exponent;
    const int from = exponent + (out & 20000), to = exponent - (out & 20000);
    low = from < low ? from : low;
    high = to > high ? to : high;
  }
  [[nodiscard]] int base() const { return low > 10000 ? 0 : low; }
  void widen(GroupBounds& bounds) const {
    bounds.nan = bounds.nan || nan;
    if (low > high) return;
    bounds.low = low < bounds.low ? low : bounds.low;
    bounds.high = high > bounds.high ? high : bounds.high;
    bounds.spread = high - low > bounds.spread ? high - low : bounds.spread;
  }
};

/// Which elements of a group of A are no zeros: even k in the low byte, odd ones in the high one.
inline std::uint32_t nonzero_of(const std::uint8_t* codes, const GroupRules& rules) {
  std::uint32_t some = 0;
  for (int k = 0; k < rules.group; k += 4) {
    std::uint32_t four = 0;
    __builtin_memcpy(&four, codes + k, sizeof four);
    four = ((four & 0x07070707U) + 0x7F7F7F7FU) >> 7 & 0x01010101U;
    some |= ((four | four >> 15) & 0x303U) << (k / 2);
  }
  return some;
}

constexpr int kMostGroupDepth = 256, kMostStepGroups = 32;

void pack_group_a(const GroupSource& source, const GroupRules& rules, const GroupChunk& chunk,
                  const PackedGroupsA& out, GroupBounds& bounds) {
  bounds = {};
  const int depth = chunk.groups * rules.group;
  alignas(MMAUDIT_FAST_BYTES) std::uint8_t raw[kMostGroupDepth + MMAUDIT_FAST_BYTES] = {};
  __builtin_memcpy(raw, source.elements,
                   static_cast<std::size_t>(source.there < depth ? source.there : depth));
  for (int k = 0; k < depth; k += MMAUDIT_FAST_BYTES)
    store(out.elements + k, look_up(load<Bytes>(raw + k) & rules.code_mask, rules.element_a) +
                                static_cast<std::uint8_t>(rules.offset));
  int group = 0;
  for (int step = 0; step < chunk.steps; ++step) {
    StepScales scales;
    std::uint32_t nonzero[kMostStepGroups];
    for (int g = 0; g < chunk.step_groups[step]; ++g) {
      const ScaleByte& scale = rules.scale[source.scales[group + g]];
      nonzero[g] = nonzero_of(raw + (group + g) * rules.group, rules) &
                   -static_cast<std::uint32_t>(scale.significand > 0);
      scales.add(scale, nonzero[g] != 0);
    }
    for (int g = 0; g < chunk.step_groups[step]; ++g, ++group) {
      const ScaleByte& scale = rules.scale[source.scales[group]];
      GroupScaleA& to = out.scales[group];
      to.above = above(scale.significand, scale.exponent - scales.base(), nonzero[g] != 0, rules.spread) *
                 kScaleCopies;
      to.factor = scale.factor;
      to.exponent = static_cast<std::uint32_t>(scale.exponent + kBiasA) * 0x10001U;
      to.nonzero = nonzero[g] * 0x10001U;
    }
    out.units[step] = power_of_two(scales.base() + rules.unit);
    scales.widen(bounds);
  }
}

/// Elements of one panel, the bits of those that are no zeros, and what the offset adds.
inline void pack_elements(const GroupSource& source, const GroupRules& rules, int group,
                          const PackedGroupsB& out, std::uint16_t* nonzero) {
  std::uint8_t copy[kPanel];
  const int fours = rules.group / 4;
  for (int column = 0; column < kPanel; column += kPairColumns) {
    HalfWords some = {};
    GroupSum offset[2] = {};
    for (int four = 0; four < fours; ++four) {
      HalfWords pair[2];
      for (int r = 0; r < 4; ++r) {
        const int position = (group * fours + four) * 4 + r;
        const std::uint8_t* from = source.elements + static_cast<std::size_t>(position) * source.stride;
        if (position >= source.there || source.across < kPanel) {
          __builtin_memset(copy, 0, kPanel);
          if (position < source.there) __builtin_memcpy(copy, from, static_cast<std::size_t>(source.across));
          from = copy;
        }
        const auto row = __builtin_convertvector(load<HalfBytes>(from + column), HalfWords);
        pair[r / 2] = r % 2 == 0 ? row : pair[r / 2] | row << 8;
      }
      for (int p = 0; p < 2; ++p) some |= (((pair[p] & 0x0707) + 0x7F7F) >> 7 & 0x0101) << (2 * four + p);
      const auto low = bits<Counts>(pair[0]), high = bits<Counts>(pair[1]);
      const Counts quads[2] = {(low & 0xFFFF) | high << 16, low >> 16 | (high & 0xFFFF0000)};
      for (int i = 0; i < 2; ++i) {
        const auto values =
            bits<SignedBytes>(look_up(bits<Bytes>(quads[i]) & rules.code_mask, rules.element_b));
        store(out.elements + ((group * fours + four) * kPanel + column + i * kLanes) * 4, values);
        offset[i] = add_products(offset[i], Bytes{} + static_cast<std::uint8_t>(rules.offset), values);
      }
    }
    for (int i = 0; i < 2; ++i)
      store(out.offsets + group * kPanel + column + i * kLanes,
            bits<Counts>(-whole(offset[i])) & kOffsetBits);
    store(nonzero + column, some);
  }
}

/// Scales of one step of a panel, columns in their own order, as StepScales has them of a row.
struct PanelScales {
  std::int16_t low[kPanel], high[kPanel], nan[kPanel];
  std::int16_t exponent[kMostStepGroups][kPanel], significand[kMostStepGroups][kPanel];

  PanelScales() {
    for (int j = 0; j < kPanel; ++j) low[j] = 20000, high[j] = -20000, nan[j] = 0;
  }
  /// Group `g` of the step. Elements under a scale that is zero or NaN leave `nonzero`.
  void add(int g, const std::uint8_t* bytes, const GroupRules& rules, std::uint16_t* nonzero,
           float* factors) {
    for (int j = 0; j < kPanel; ++j) {
      const ScaleByte& scale = rules.scale[bytes[j]];
      exponent[g][j] = scale.exponent;
      significand[g][j] = scale.significand;
      factors[place(j)] = scale.factor;
    }
    for (int j = 0; j < kPanel; j += kPairColumns) {
      const Shorts one = load<Shorts>(exponent[g] + j), digits = load<Shorts>(significand[g] + j);
      const Shorts some = load<Shorts>(nonzero + j) & (digits > 0);
      const Shorts out = (some == 0) & 20000;
      store(nonzero + j, some);
      store(low + j, ~max(~load<Shorts>(low + j), ~(one + out)));
      store(high + j, max(load<Shorts>(high + j), one - out));
      store(nan + j, load<Shorts>(nan + j) | (digits == kNanScale));
    }
  }
};

void pack_group_b(const GroupSource& source, const GroupRules& rules, const GroupChunk& chunk,
                  const PackedGroupsB& out, GroupBounds& bounds) {
  bounds = {};
  for (int j = 0; j < kPanel; ++j) out.nan[j] = 0;
  int group = 0;
  for (int step = 0; step < chunk.steps; ++step) {
    const int first = group, groups = chunk.step_groups[step];
    PanelScales scales;
    for (int g = 0; g < groups; ++g) {
      std::uint16_t* nonzero = out.nonzero + (first + g) * kPanel;
      pack_elements(source, rules, first + g, out, nonzero);
      scales.add(g, source.scales + (first + g) * kPanel, rules, nonzero, out.factors + (first + g) * kPanel);
      for (int j = 0; j < kPanel; j += kPairColumns)
        store(out.exponents + (first + g) * kPanel + j, load<Shorts>(scales.exponent[g] + j) + kBiasB);
    }
    for (int j = 0; j < kPanel; ++j) {
      const int at = place(j);
      StepScales one;
      one.low = scales.low[j], one.high = scales.high[j], one.nan = scales.nan[j] != 0;
      one.widen(bounds);
      out.nan[at] |= scales.nan[j];
      out.units[step * kPanel + at] = power_of_two(one.base());
      for (int g = 0; g < groups; ++g)
        out.above[(first + g) * kPanel + at] =
            static_cast<std::int32_t>(above(scales.significand[g][j], scales.exponent[g][j] - one.base(),
                                            out.nonzero[(first + g) * kPanel + j] != 0, rules.spread) *
                                      kScaleCopies);
    }
    group += groups;
  }
}

constexpr GroupLevel kGroupsOfThisLevel = {pack_group_a, pack_group_b, multiply_groups};

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
