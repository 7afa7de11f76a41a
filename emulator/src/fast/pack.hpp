#pragma once
// Operands as the kernel reads them: exact floats, and exponents for the maximum.
#include "level.hpp"
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

/// One vector of elements, decoded.
struct Decoded {
  Floats value;
  Words exponent;  ///< kZero for zeros, infinities and NaNs
};

/// Bounds of exponents, lane by lane.
struct LaneBounds {
  Words low = splat(kNoOperand.low);
  Words high = splat(kNoOperand.high);

  void add(Words low_of, Words high_of) {
    low = select(low_of < low, low_of, low);
    high = max(high, high_of);
  }
  [[nodiscard]] Bounds all() const {
    Bounds bounds = kNoOperand;
    for (int i = 0; i < kLanes; ++i) {
      bounds.low = low[i] < bounds.low ? low[i] : bounds.low;
      bounds.high = high[i] > bounds.high ? high[i] : bounds.high;
    }
    return bounds;
  }
};

inline Decoded decode(const Decode& rule, Counts raw, LaneBounds& bounds) {
  const Words magnitude = bits<Words>((raw >> rule.ignored_bits) & rule.magnitude_mask);
  const Words sign = bits<Words>((raw << rule.sign_shift) & 0x80000000U);
  const Words normal = (magnitude << rule.to_float_shift) + static_cast<std::int32_t>(rule.rebias);
  const Words hidden = splat(1 << kFloatFraction);
  // A subnormal lacks the hidden bit that the next exponent brings along: put it there, take it off.
  const float least = __builtin_bit_cast(float, rule.rebias + (1U << kFloatFraction));
  const Floats subnormal = bits<Floats>(normal + hidden) - least;
  const Words is_subnormal = (magnitude << rule.to_float_shift) < hidden;
  const Words special = magnitude >= static_cast<std::int32_t>(rule.special_from);
  const Words x = select(is_subnormal, bits<Words>(subnormal), normal) & ~special;
  const Words exponent = max((x >> kFloatFraction) - kFloatBias, splat(rule.min_exponent));
  const Words zero = x == 0;
  bounds.add(select(special, splat(kSpecialLow), select(zero, splat(kNoOperand.low), exponent)),
             select(zero, splat(kNoOperand.high), exponent));
  return {bits<Floats>(x | sign), select(zero, splat(kZero), exponent)};
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

constexpr int kMostDepth = 256;  ///< of a chunk
constexpr int kMostBytes = 4;    ///< of an element

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

void pack_a(const PackSource& source, const Chunk& chunk, const PackedA& out, std::size_t stride,
            Bounds* bounds) {
  const DefaultFloats floats;
  char copy[kMostDepth * kMostBytes];
  float value[kMostDepth];
  std::int32_t exponent[kMostDepth];
  LaneBounds lanes[kMostDepth / kLanes];
  for (int row = 0; row < kRows; ++row) {
    const int there = row < source.rows ? source.columns : 0;
    const int depth = whole_vectors(chunk.depth);
    const auto* raw = static_cast<const char*>(readable(source, row, there, depth, copy));
    float* out_value = out.value + static_cast<std::size_t>(row) * stride;
    std::int32_t* out_exponent = out.exponent + static_cast<std::size_t>(row) * stride;
    for (int k = 0; k < depth; k += kLanes) {
      const Decoded x = decode(source.decode, fetch(raw + k * source.element_bytes, source.element_bytes),
                               lanes[k / kLanes]);
      const Words biased = (x.exponent + kFloatBias) & 0xFFFF;
      store(value + k, x.value);
      store(exponent + k, biased | biased << 16);
    }
    if (chunk.order == nullptr) {
      __builtin_memcpy(out_value, value, static_cast<std::size_t>(chunk.depth) * sizeof(float));
      __builtin_memcpy(out_exponent, exponent, static_cast<std::size_t>(chunk.depth) * sizeof(std::int32_t));
      continue;
    }
    for (int p = 0; p < chunk.depth; ++p) {
      out_value[p] = value[chunk.order[p]];
      out_exponent[p] = exponent[chunk.order[p]];
    }
  }
  for (int s = 0; s < chunk.step_count; ++s) {
    bounds[s] = kNoOperand;
    for (int i = 0; i < chunk.steps[s].count; ++i) {
      const int p = chunk.steps[s].start + i;
      const int k = chunk.order == nullptr ? p : chunk.order[p];
      const int low = lanes[k / kLanes].low[k % kLanes], high = lanes[k / kLanes].high[k % kLanes];
      bounds[s].low = low < bounds[s].low ? low : bounds[s].low;
      bounds[s].high = high > bounds[s].high ? high : bounds[s].high;
    }
  }
}

void pack_b(const PackSource& source, const Chunk& chunk, const PackedB& out, Bounds* bounds) {
  const DefaultFloats floats;
  char copy[kPanel * kMostBytes];
  float value[kPanel];
  std::int16_t exponent[kPanel];
  for (int s = 0; s < chunk.step_count; ++s) {
    LaneBounds lanes;
    for (int i = 0; i < chunk.steps[s].count; ++i) {
      const int p = chunk.steps[s].start + i;
      const int k = chunk.order == nullptr ? p : chunk.order[p];
      const int there = k < source.rows ? source.columns : 0;
      const auto* raw = static_cast<const char*>(readable(source, there > 0 ? k : 0, there, kPanel, copy));
      for (int j = 0; j < kPanel; j += kLanes) {
        const Decoded x =
            decode(source.decode, fetch(raw + j * source.element_bytes, source.element_bytes), lanes);
        store(value + j, x.value);
        const Shorts1 narrow = __builtin_convertvector(x.exponent, Shorts1);
        store(exponent + j, narrow);
      }
      float* out_value = out.value + p * kPanel;
      for (int group = 0; group < kPanel; group += 2 * kLanes) {
        const auto first = load<Floats>(value + group), second = load<Floats>(value + group + kLanes);
        store(out_value + group, even_lanes(first, second));
        store(out_value + group + kLanes, odd_lanes(first, second));
      }
      __builtin_memcpy(out.exponent + p * kPanel, exponent, sizeof exponent);
    }
    bounds[s] = lanes.all();
  }
}

}  // namespace
}  // namespace mmaudit::fast
