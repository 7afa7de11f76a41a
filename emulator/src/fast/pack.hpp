#pragma once
// Operands as the kernel reads them: exact floats, and exponents for the maximum.
// A part of the level's one source, not a header of declarations; x != x asks for NaN; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "level.hpp"
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

constexpr std::int32_t kFloatInfinity = 0x7F800000;

/// One vector of elements, decoded.
struct Decoded {
  Floats value;
  Words exponent;  ///< kZero for zeros, infinities and NaNs
};

/// Bounds of exponents, lane by lane.
struct LaneBounds {
  Words low = splat(kNoOperand.low);
  Words high = splat(kNoOperand.high);
  Words special = {};

  void add(Words low_of, Words high_of) {
    low = min(low, low_of);
    high = max(high, high_of);
  }
};

inline Bounds bounds_of(const std::int32_t* low, const std::int32_t* high, int count) {
  Bounds bounds = kNoOperand;
  for (int i = 0; i < count; ++i) {
    bounds.low = low[i] < bounds.low ? low[i] : bounds.low;
    bounds.high = high[i] > bounds.high ? high[i] : bounds.high;
  }
  return bounds;
}

/// A float's magnitude and sign, zero and marked where the element is an infinity or a NaN.
struct Exact {
  Words magnitude, sign, special;
};

inline Exact exact(const Decode& rule, Counts raw) {
  const Words magnitude = bits<Words>((raw >> rule.ignored_bits) & rule.magnitude_mask);
  const Words sign = bits<Words>((raw << rule.sign_shift) & 0x80000000U);
  const Counts field_up = bits<Counts>(magnitude) << rule.to_float_shift;
  const Counts normal = field_up + rule.rebias;
  constexpr std::uint32_t kHidden = 1U << kFloatFraction;
  // A subnormal lacks the hidden bit that the next exponent brings along: put it there, take it off.
  const Floats subnormal = bits<Floats>(normal + kHidden) - __builtin_bit_cast(float, rule.rebias + kHidden);
  const Words is_subnormal = field_up < kHidden;
  Words special = magnitude >= static_cast<std::int32_t>(rule.special_from);
  if (rule.nan_at_minus_zero) special |= (magnitude == 0) & (sign != 0);
  if (rule.zero_below != 0) {
    const Words zero = magnitude < static_cast<std::int32_t>(rule.zero_below);
    return {bits<Words>(normal) & ~(special | zero), sign & ~zero, special};
  }
  return {select(is_subnormal, bits<Words>(subnormal), bits<Words>(normal)) & ~special, sign, special};
}

/// Vectors of as many narrow elements as a vector has floats, and as twice as many.
using Bytes1 __attribute__((vector_size(MMAUDIT_FAST_BYTES / 4))) = std::uint8_t;
using Shorts1 __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = std::uint16_t;

/// kLanes elements from `from` on.
inline Counts fetch(const void* from, int element_bytes) {
  if (element_bytes == 1)
    return __builtin_convertvector(load<Bytes1>(static_cast<const char*>(from)), Counts);
  if (element_bytes == 2)
    return __builtin_convertvector(load<Shorts1>(static_cast<const char*>(from)), Counts);
  return load<Counts>(static_cast<const char*>(from));
}

/// kLanes elements from `from` on.
inline Exact exact(const Decode& rule, const char* from, int element_bytes) {
#if defined(__AVX512F__)
  if (rule.is_f16) {
    const auto raw = load<Shorts1>(from);
    const auto x = bits<Words>(_mm512_maskz_cvtph_ps(kAll, (__m256i)raw));  // NOLINT: every bit is kept
    const Words magnitude = x & INT32_MAX, special = magnitude >= kFloatInfinity;
    return {magnitude & ~special, x & INT32_MIN, special};
  }
#endif
  return exact(rule, fetch(from, element_bytes));
}

inline Decoded decode(const Decode& rule, const char* from, int element_bytes, LaneBounds& bounds) {
  const Exact x = exact(rule, from, element_bytes);
  const Words exponent = max((x.magnitude >> kFloatFraction) - kFloatBias, splat(rule.min_exponent));
  const Words zero = x.magnitude == 0;
  Words high = select(zero, splat(kNoOperand.high), exponent);
  if (rule.limited) high = max(high, (exponent > rule.most_exponent) & kBeyondBytes);
  bounds.add(select(zero, splat(kNoOperand.low), exponent), high);
  bounds.special |= x.special;
  return {bits<Floats>(x.magnitude | x.sign), select(zero, splat(kZero), exponent)};
}

/// Its significand, below 2, times 2^lift; exact.
inline Floats significand(const Decoded& x, int lift) {
  const Words magnitude = bits<Words>(x.value) & INT32_MAX;
  const Words subnormal = magnitude < (1 << kFloatFraction);  // of binary32: zeros among them
  const Floats low = __builtin_convertvector(magnitude, Floats) * 0x1p-23F;
  const Floats normal = bits<Floats>(magnitude - (select(subnormal, Words{}, x.exponent) << kFloatFraction));
  const Floats size =
      select(subnormal, low, normal) * bits<Floats>(splat((lift + kFloatBias) << kFloatFraction));
  return bits<Floats>(bits<Words>(size) | (bits<Words>(x.value) & INT32_MIN));
}

constexpr int kMostDepth = 256;  ///< of a chunk
constexpr int kMostBytes = 4;    ///< of an element
constexpr int kLineBytes = 64;
constexpr int kRowsAhead = 4;  ///< of B, fetched early

/// Elements that may be read: the row itself, or where it ends too soon a copy with +0 behind it.
inline const void* readable(const PackSource& source, int row, int there, int wanted, char* copy) {
  const auto bytes = static_cast<std::size_t>(source.element_bytes);
  const char* from =
      static_cast<const char*>(source.base) + static_cast<std::size_t>(row) * source.stride * bytes;
  if (there >= wanted) return from;
  __builtin_memset(copy, 0, static_cast<std::size_t>(wanted) * bytes);
  if (there > 0) __builtin_memcpy(copy, from, static_cast<std::size_t>(there) * bytes);
  return copy;
}

constexpr int whole_vectors(int count) { return (count + kLanes - 1) / kLanes * kLanes; }

using Longs __attribute__((vector_size(MMAUDIT_FAST_BYTES))) = std::uint64_t;
using Counts1 __attribute__((vector_size(MMAUDIT_FAST_BYTES / 2))) = std::uint32_t;

/// Words of two positions each, from the bytes of twice as many.
inline Counts1 pairs_of(Words exponent_bytes) {
  const auto both = bits<Longs>(exponent_bytes);
  return __builtin_convertvector((both | both >> 24) & 0xFFFF, Counts1) * 0x10001;
}

/// kRows rows before they are put in order.
struct Unordered {
  float value[kRows][kMostDepth];
  std::int32_t exponent[kRows][kMostDepth];
};

inline void order_rows(const Unordered& rows, const Chunk& chunk, bool pairs, const PackedA& out,
                       std::size_t stride) {
  const auto position = [&](int p) { return chunk.order == nullptr ? p : chunk.order[p]; };
  for (int row = 0; row < kRows; ++row) {
    const float* value = rows.value[row];
    const std::int32_t* exponent = rows.exponent[row];
    float* out_value = out.value + static_cast<std::size_t>(row) * stride;
    std::int32_t* out_exponent = out.exponent + static_cast<std::size_t>(row) * stride;
    for (int p = 0; p < chunk.depth; ++p) out_value[p] = value[position(p)];
    if (pairs) {
      for (int p = 0; p < chunk.depth; p += 2)
        out_exponent[p / 2] =
            static_cast<std::int32_t>((static_cast<std::uint32_t>(exponent[position(p)]) |
                                       static_cast<std::uint32_t>(exponent[position(p + 1)]) << 8) *
                                      0x10001U);
    } else {
      for (int p = 0; p < chunk.depth; ++p) out_exponent[p] = exponent[position(p)];
    }
  }
}

void pack_a(const PackSource& source, const Chunk& chunk, const PackedA& out, std::size_t stride,
            Bounds* bounds) {
  const FloatMode nearest;
  char copy[kRows][kMostDepth * kMostBytes];
  std::int32_t low[kMostDepth], high[kMostDepth];
  Words special = {};
  const int depth = whole_vectors(chunk.depth), bytes = source.element_bytes;
  const bool in_place = chunk.order == nullptr && depth == chunk.depth;
  const int byte_bias = kFloatBias + source.decode.byte_top;
  Unordered unordered;
  const char* raw[kRows];
  for (int row = 0; row < kRows; ++row) {
    const int there = row < source.rows ? source.columns : 0;
    raw[row] = static_cast<const char*>(readable(source, row, there, depth, copy[row]));
    // The rows that the next call reads are elsewhere in memory.
    const char* ahead = raw[row] + kRows * source.stride * static_cast<std::size_t>(bytes);
    for (int k = 0; k < depth * bytes; k += kLineBytes) __builtin_prefetch(ahead + k);
  }
  for (int k = 0; k < depth; k += kLanes) {
    LaneBounds lanes;
    for (int row = 0; row < kRows; ++row) {
      const std::size_t at = static_cast<std::size_t>(row) * stride;
      float* value = in_place ? out.value + at : unordered.value[row];
      std::int32_t* exponent = in_place ? out.exponent + at : unordered.exponent[row];
      const Decoded x = decode(source.decode, raw[row] + k * bytes, bytes, lanes);
      store(value + k, source.general ? significand(x, kLift) : x.value);
      if (source.general) {
        const Words once = select(x.exponent == kZero, Words{}, (x.exponent + kTopA) << 7);
        store(exponent + k, once | once << 16);
        continue;
      }
      if (!source.pairs) {
        const Words once = (x.exponent + kFloatBias) & 0xFFFF;
        store(exponent + k, once | once << 16);
        continue;
      }
      const Words once = min(max(x.exponent + byte_bias, Words{}), splat(255));
      if (in_place) {
        store(exponent + k / 2, pairs_of(once));
      } else {
        store(exponent + k, once);
      }
    }
    store(low + k, lanes.low);
    store(high + k, lanes.high);
    special |= lanes.special;
  }
  if (!in_place) order_rows(unordered, chunk, source.pairs && !source.general, out, stride);
  std::int32_t ordered_low[kMostDepth], ordered_high[kMostDepth];
  for (int p = 0; p < chunk.depth; ++p) {
    const int k = chunk.order == nullptr ? p : chunk.order[p];
    ordered_low[p] = low[k];
    ordered_high[p] = high[k];
  }
  for (int s = 0; s < chunk.step_count; ++s) {
    const Step& step = chunk.steps[s];
    bounds[s] = bounds_of(ordered_low + step.start, ordered_high + step.start, step.count);
    bounds[s].special = any(special);
  }
}

constexpr int kMostPanels = 8;  ///< of a tile

enum class Exponents : std::uint8_t { words, even_bytes, odd_bytes, general };

/// One position of one panel.
inline void pack_position(const Decode& rule, Exponents kind, const char* raw, int element_bytes,
                          float* out_value, std::int16_t* out_exponent, LaneBounds& lanes) {
  for (int group = 0; group < kPanel; group += 2 * kLanes) {
    Decoded x[2];
    for (int h = 0; h < 2; ++h) {
      const int j = group + h * kLanes;
      x[h] = decode(rule, raw + j * element_bytes, element_bytes, lanes);
      Words exponent = x[h].exponent;
      if (kind == Exponents::general) {
        exponent = select(exponent == kZero, splat(0xFFFF), (kTopB - exponent) << 7);
        x[h].value = significand(x[h], 0);
      } else if (kind != Exponents::words) {
        exponent = max(min(rule.byte_top - exponent, splat(255)), Words{});
      }
      Shorts1 narrow = __builtin_convertvector(exponent, Shorts1);
      if (kind == Exponents::odd_bytes) narrow = load<Shorts1>(out_exponent + j) | narrow << 8;
      store(out_exponent + j, narrow);
    }
    store(out_value + group, even_lanes(x[0].value, x[1].value));
    store(out_value + group + kLanes, odd_lanes(x[0].value, x[1].value));
  }
}

void pack_b(const PackSource& source, const Chunk& chunk, const PackedB& out, std::size_t stride, int panels,
            Bounds* bounds, int bounds_stride) {
  const FloatMode nearest;
  char copy[kMostPanels * kPanel * kMostBytes];
  const int bytes = source.element_bytes;
  for (int s = 0; s < chunk.step_count; ++s) {
    LaneBounds lanes[kMostPanels];
    for (int i = 0; i < chunk.steps[s].count; ++i) {
      const int p = chunk.steps[s].start + i;
      const int k = chunk.order == nullptr ? p : chunk.order[p];
      const Exponents of_pair = p % 2 == 0 ? Exponents::even_bytes : Exponents::odd_bytes;
      const bool pairs = source.pairs && !source.general;
      const Exponents kind = source.general ? Exponents::general : pairs ? of_pair : Exponents::words;
      const int there = k < source.rows ? source.columns : 0;
      const auto* raw =
          static_cast<const char*>(readable(source, there > 0 ? k : 0, there, panels * kPanel, copy));
      const char* ahead = raw + kRowsAhead * source.stride * static_cast<std::size_t>(bytes);
      for (int j = 0; j < panels * kPanel * bytes; j += kLineBytes) __builtin_prefetch(ahead + j);
      for (int panel = 0; panel < panels; ++panel) {
        const std::size_t first = static_cast<std::size_t>(panel) * stride;
        pack_position(source.decode, kind, raw + panel * kPanel * bytes, bytes,
                      out.value + first + p * kPanel, out.exponent + first + (pairs ? p / 2 : p) * kPanel,
                      lanes[panel]);
      }
    }
    for (int panel = 0; panel < panels; ++panel) {
      std::int32_t low[kLanes], high[kLanes];
      store(low, lanes[panel].low);
      store(high, lanes[panel].high);
      bounds[panel * bounds_stride + s] = bounds_of(low, high, kLanes);
      bounds[panel * bounds_stride + s].special = any(lanes[panel].special);
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
