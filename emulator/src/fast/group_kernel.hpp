#pragma once
// Steps of groups: integer sums of 4-bit products, times the integers of their scales, then one binary64
// addition per step that is exact, and one mask that rounds toward zero. A lane whose numbers lie so far
// apart that alignment might cut something off is left to the plain core. A part of the level's one source,
// not a header of declarations; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result)
#include "group_vectors.hpp"
#include "kernel.hpp"

namespace mmaudit::fast {
namespace {

constexpr int kPairColumns = 2 * kLanes;  ///< of one vector of 16-bit lanes
static_assert(kPanel % kPairColumns == 0);

/// Bits of binary64 that binary32 has not, and the sign and exponent of binary64.
constexpr std::uint64_t kBelowFloat = (std::uint64_t{1} << 29) - 1;
constexpr std::uint64_t kSignAndExponent = ~((std::uint64_t{1} << 52) - 1);

/// kPairColumns elements on their way through a chunk, even columns and then odd ones, half a vector of
/// floats each.
struct GroupLanes {
  static constexpr int kParts = 4;
  Doubles sum[kParts];
  Longs failed[kParts] = {};

  explicit GroupLanes(const float* from) {
    for (int i = 0; i < kParts; ++i) sum[i] = to_doubles(from + i * (kLanes / 2));
  }

  /// One step: sum += total * unit, rounded toward zero.
  [[gnu::always_inline]] void finish(const Words (&total)[2], const double* units, double unit,
                                     double magic) {
    for (int i = 0; i < kParts; ++i) {
      const Doubles scale = load<Doubles>(units + i * (kLanes / 2)) * unit;
      // 1.5 * 2^52 quanta: whoever is a multiple of the quantum, and not too large for an exact sum, comes
      // back.
      const Doubles start = scale * magic;
      const Doubles lifted = sum[i] + start;
      failed[i] |= bits<Longs>(lifted - start) ^ bits<Longs>(sum[i]);
      failed[i] |= (bits<Longs>(lifted) ^ bits<Longs>(start)) & kSignAndExponent;
      const Doubles exact = sum[i] + half_to_doubles(total[i / 2], i % 2) * scale;
      sum[i] = bits<Doubles>(bits<Longs>(exact) & ~kBelowFloat);
    }
  }
};

/// Where a row of a panel stands, and its operands.
struct GroupRow {
  PackedGroupsA a;
  float* sum;
  int row;
};

inline GroupRow row_of(const GroupMultiply& work, int row) {
  const auto i = static_cast<std::size_t>(row);
  return {{work.a.pairs + i * work.pairs_stride, work.a.scales + i * work.scales_stride,
           work.a.units + i * work.units_stride},
          work.sum + i * work.sum_stride,
          row};
}

/// Element `at` of the kPairColumns from `column` on, by the plain core from `before`.
inline void plain_lane(const GroupMultiply& work, const GroupRow& row, int column, int at, float before) {
  const int real = work.column + column + 2 * (at % kLanes) + at / kLanes;
  for (int step = 0; step < work.chunk.steps; ++step)
    before = work.plain(work.context, row.row, real, step, before);
  row.sum[column + at] = before;
}

template <int Group>
[[gnu::noinline]] void multiply_pairs(const GroupMultiply& work, const GroupRow& row, int column,
                                      double magic) {
  const int half = (Group == 0 ? work.rules->group : Group) / 2;
  float* out = row.sum + column;
  GroupLanes lanes(out);
  int group = 0;
  for (int step = 0; step < work.chunk.steps; ++step) {
    Words total[2] = {};
    for (const int end = group + work.chunk.step_groups[step]; group < end; ++group) {
      const std::uint32_t* a = row.a.pairs + group * half;
      const std::int8_t* b = work.b.pairs + (group * half * kPanel + column) * 2;
      auto sums = load<Shorts>(work.b.offsets + group * kPanel + column);
      for (int k = 0; k < half; ++k)
        sums += pair_products(bits<Bytes>(splat(static_cast<std::int32_t>(a[k]))),
                              load<SignedBytes>(b + k * kPanel * 2));
      const auto scales = load<Shorts>(work.b.scales + group * kPanel + column) *
                          bits<Shorts>(splat(static_cast<std::int32_t>(row.a.scales[group])));
      total[0] += sum_of_products(sums, bits<Shorts>(bits<Counts>(scales) & 0xFFFFU));
      total[1] += sum_of_products(sums, bits<Shorts>(bits<Counts>(scales) & 0xFFFF0000U));
    }
    lanes.finish(total, work.b.units + step * kPanel + column, row.a.units[step], magic);
  }
  Longs some = {};
  for (const Longs& part : lanes.failed) some |= part;
  float before[kPairColumns];
  const bool redo = any(bits<Words>(some) != 0);
  if (redo) __builtin_memcpy(before, out, sizeof before);
  for (int i = 0; i < GroupLanes::kParts; ++i) to_floats(lanes.sum[i], out + i * (kLanes / 2));
  for (int at = 0; redo && at < kPairColumns; ++at)
    if (lanes.failed[at / (kLanes / 2)][at % (kLanes / 2)] != 0)
      plain_lane(work, row, column, at, before[at]);
}

void multiply_groups(const GroupMultiply& work) {
  const FloatMode mode;
  const GroupRules& rules = *work.rules;
  const GroupBounds& b = work.b_bounds;
  const double magic = 1.5 * power_of_two(52 + rules.quantum);
  for (int i = 0; i < work.rows; ++i) {
    const GroupRow row = row_of(work, i);
    const GroupBounds& a = work.a_bounds[i];
    const bool vectors = a.spread + b.spread <= rules.spread && a.low + b.low >= rules.lowest &&
                         a.high + b.high <= rules.highest;
    for (int column = 0; column < kPanel; column += kPairColumns) {
      for (int at = 0; !vectors && at < kPairColumns; ++at)
        plain_lane(work, row, column, at, row.sum[column + at]);
      if (!vectors) continue;
      rules.group == 16 ? multiply_pairs<16>(work, row, column, magic)
                        : multiply_pairs<0>(work, row, column, magic);
    }
  }
}

/// The scales of the groups of one step that are not zero: their least exponent, and how far they lie apart.
struct StepScales {
  int low = 20000, high = -20000;
  bool nan = false;

  void add(ScaleByte scale, bool elements) {
    nan = nan || scale.significand == kNanScale;
    if (scale.significand == 0 || !elements) return;
    low = scale.exponent < low ? scale.exponent : low;
    high = scale.exponent > high ? scale.exponent : high;
  }
  [[nodiscard]] int base() const { return low > high ? 0 : low; }
  /// The significand above the base, which fits where the spread is allowed.
  [[nodiscard]] std::int16_t above(ScaleByte scale, bool elements, int spread) const {
    const int shift = scale.exponent - base();
    if (scale.significand == 0 || scale.significand == kNanScale || !elements || shift > spread) return 0;
    return static_cast<std::int16_t>(scale.significand << shift);
  }
  void widen(GroupBounds& bounds) const {
    if (nan) bounds.low = -50000;
    if (low > high) return;
    bounds.low = low < bounds.low ? low : bounds.low;
    bounds.high = high > bounds.high ? high : bounds.high;
    bounds.spread = high - low > bounds.spread ? high - low : bounds.spread;
  }
};

/// Whether a group of A holds anything but zeros.
inline bool any_number(const std::uint8_t* codes, const GroupRules& rules) {
  std::uint64_t some = 0;
  for (int k = 0; k < rules.group; k += 2) {
    std::uint16_t two = 0;
    __builtin_memcpy(&two, codes + k, sizeof two);
    some |= two;
  }
  return (some & (rules.magnitude_mask * 0x101U)) != 0;
}

constexpr int kMostGroupDepth = 256, kMostStepGroups = 32;

void pack_group_a(const GroupSource& source, const GroupRules& rules, const GroupChunk& chunk,
                  const PackedGroupsA& out, GroupBounds& bounds) {
  bounds = {};
  const int depth = chunk.groups * rules.group;
  alignas(MMAUDIT_FAST_BYTES) std::uint8_t raw[kMostGroupDepth + MMAUDIT_FAST_BYTES] = {};
  __builtin_memcpy(raw, source.elements,
                   static_cast<std::size_t>(source.there < depth ? source.there : depth));
  for (int k = 0; k < depth; k += MMAUDIT_FAST_BYTES / 2) {
    const auto codes = load<HalfBytes>(raw + k) & rules.code_mask;
    const HalfBytes values = look_up(codes, rules.element_a) + static_cast<std::uint8_t>(rules.offset);
    store(out.pairs + k / 2, __builtin_convertvector(bits<QuarterShorts>(values), Counts) * 0x10001U);
  }
  int group = 0;
  for (int step = 0; step < chunk.steps; ++step) {
    StepScales scales;
    bool nonzero[kMostStepGroups];
    for (int g = 0; g < chunk.step_groups[step]; ++g) {
      nonzero[g] = any_number(raw + (group + g) * rules.group, rules);
      scales.add(rules.scale[source.scales[group + g]], nonzero[g]);
    }
    for (int g = 0; g < chunk.step_groups[step]; ++g, ++group)
      out.scales[group] = static_cast<std::uint16_t>(
                              scales.above(rules.scale[source.scales[group]], nonzero[g], rules.spread)) *
                          0x10001U;
    out.units[step] = power_of_two(scales.base() + rules.unit);
    scales.widen(bounds);
  }
}

/// Elements of one panel. Which columns of a group hold anything but zeros: not 0 in `some`.
inline void pack_pairs(const GroupSource& source, const GroupRules& rules, int group,
                       const PackedGroupsB& out, std::int16_t* some) {
  std::uint8_t copy[2][kPanel];
  for (int column = 0; column < kPanel; column += kPairColumns) {
    Shorts offset = {}, any_of = {};
    for (int k = 0; k < rules.group; k += 2) {
      HalfWords row[2];
      for (int r = 0; r < 2; ++r) {
        const int position = group * rules.group + k + r;
        const std::uint8_t* from = source.elements + static_cast<std::size_t>(position) * source.stride;
        if (position >= source.there || source.across < kPanel) {
          __builtin_memset(copy[r], 0, kPanel);
          if (position < source.there)
            __builtin_memcpy(copy[r], from, static_cast<std::size_t>(source.across));
          from = copy[r];
        }
        row[r] = __builtin_convertvector(load<HalfBytes>(from + column), HalfWords);
      }
      const HalfWords both = row[0] | row[1] << 8;
      any_of |= bits<Shorts>(both);
      const auto values = bits<SignedBytes>(look_up(bits<Bytes>(both) & rules.code_mask, rules.element_b));
      store(out.pairs + ((group * rules.group + k) / 2 * kPanel + column) * 2, values);
      offset -= pair_products(Bytes{} + static_cast<std::uint8_t>(rules.offset), values);
    }
    store(out.offsets + group * kPanel + column, offset);
    store(some + column, bits<Shorts>(bits<Bytes>(any_of) & rules.magnitude_mask));
  }
}

void pack_group_b(const GroupSource& source, const GroupRules& rules, const GroupChunk& chunk,
                  const PackedGroupsB& out, GroupBounds& bounds) {
  bounds = {};
  int group = 0;
  for (int step = 0; step < chunk.steps; ++step) {
    const int groups = chunk.step_groups[step];
    std::int16_t some[kMostStepGroups][kPanel];
    StepScales scales[kPanel];
    for (int g = 0; g < groups; ++g) {
      pack_pairs(source, rules, group + g, out, some[g]);
      for (int j = 0; j < kPanel; ++j)
        scales[j].add(rules.scale[source.scales[(group + g) * kPanel + j]], some[g][j] != 0);
    }
    for (int g = 0; g < groups; ++g, ++group)
      for (int j = 0; j < kPanel; ++j)
        out.scales[group * kPanel + j] =
            scales[j].above(rules.scale[source.scales[group * kPanel + j]], some[g][j] != 0, rules.spread);
    for (int j = 0; j < kPanel; ++j) {
      out.units[step * kPanel + place(j)] = power_of_two(scales[j].base());
      scales[j].widen(bounds);
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result)
