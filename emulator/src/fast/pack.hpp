#pragma once
// Operands as the kernel reads them. Loops without a branch, which the compiler turns into vectors.
#include "level.hpp"
#include "vectors.hpp"

namespace mmaudit::fast {
namespace {

constexpr int kStretch = 32;  ///< elements decoded at once

/// Raw bits, decoded.
struct Decoded {
  float value[kStretch];
  std::int32_t exponent[kStretch];  ///< kZero for a zero
  Bounds bounds[kStretch];
};

inline void decode(const Decode& rule, const std::uint32_t* raw, float* value, std::int32_t* exponent) {
  const float smallest = __builtin_bit_cast(float, rule.rebias + 0x800000U);  // 2^(least exponent)
  for (int i = 0; i < kStretch; ++i) {
    const std::uint32_t magnitude = (raw[i] >> rule.ignored_bits) & rule.magnitude_mask;
    const std::uint32_t sign = (raw[i] << rule.sign_shift) & 0x80000000U;
    const std::uint32_t normal = (magnitude << rule.to_float_shift) + rule.rebias;
    // A subnormal lacks the hidden bit that the next exponent brings along: put it there, take it off.
    const float subnormal = __builtin_bit_cast(float, normal + 0x800000U) - smallest;
    const std::uint32_t field = magnitude >> (23 - rule.to_float_shift);
    const bool special = magnitude >= rule.special_from;
    std::uint32_t x = field == 0 ? __builtin_bit_cast(std::uint32_t, subnormal) : normal;
    x = special ? 0 : x;
    int e = static_cast<int>(x >> 23) - 127;
    e = e > rule.min_exponent ? e : rule.min_exponent;
    e = x == 0 ? kZero : e;
    value[i] = __builtin_bit_cast(float, x | sign);
    exponent[i] = special ? kSpecialLow : e;
  }
}

/// Exponents of a stretch -> their bounds; specials become zeros.
inline void gather_bounds(std::int32_t* exponent, int count, Bounds& bounds) {
  int low = bounds.low, high = bounds.high;
  for (int i = 0; i < count; ++i) {
    const int e = exponent[i];
    const int least = e == kZero ? kNoOperand.low : e;
    low = least < low ? least : low;
    high = e > high ? e : high;
    exponent[i] = e == kSpecialLow ? kZero : e;
  }
  bounds.low = low;
  bounds.high = high > kZero ? high : bounds.high;
}

template <typename Word>
void fetch(const Word* from, int count, std::uint32_t* raw) {
  for (int i = 0; i < count; ++i) raw[i] = from[i];
  for (int i = count; i < kStretch; ++i) raw[i] = 0;
}

inline void fetch(const PackSource& source, std::size_t at, int count, std::uint32_t* raw) {
  count = count < 0 ? 0 : count > kStretch ? kStretch : count;
  if (source.element_bytes == 1) {
    fetch(static_cast<const std::uint8_t*>(source.base) + at, count, raw);
  } else if (source.element_bytes == 2) {
    fetch(static_cast<const std::uint16_t*>(source.base) + at, count, raw);
  } else {
    fetch(static_cast<const std::uint32_t*>(source.base) + at, count, raw);
  }
}

/// One row of A in ascending k.
inline void decode_row(const PackSource& source, int row, int depth, float* value, std::int32_t* exponent) {
  std::uint32_t raw[kStretch];
  for (int k = 0; k < depth; k += kStretch) {
    const int there = row < source.rows ? source.columns - k : 0;
    fetch(source, static_cast<std::size_t>(row) * source.stride + static_cast<std::size_t>(k), there, raw);
    decode(source.decode, raw, value + k, exponent + k);
  }
}

constexpr int kMostDepth = 256;  ///< of a chunk

void pack_a(const PackSource& source, const Chunk& chunk, const PackedA& out, std::size_t stride,
            Bounds* bounds) {
  const DefaultFloats floats;
  for (int s = 0; s < chunk.step_count; ++s) bounds[s] = kNoOperand;
  float value[kMostDepth];
  std::int32_t exponent[kMostDepth], ordered[kMostDepth];
  for (int row = 0; row < kRows; ++row) {
    decode_row(source, row, chunk.depth, value, exponent);
    float* out_value = out.value + static_cast<std::size_t>(row) * stride;
    std::int32_t* out_exponent = out.exponent + static_cast<std::size_t>(row) * stride;
    if (chunk.order == nullptr) {
      __builtin_memcpy(out_value, value, static_cast<std::size_t>(chunk.depth) * sizeof(float));
      __builtin_memcpy(ordered, exponent, static_cast<std::size_t>(chunk.depth) * sizeof(std::int32_t));
    } else {
      for (int p = 0; p < chunk.depth; ++p) {
        out_value[p] = value[chunk.order[p]];
        ordered[p] = exponent[chunk.order[p]];
      }
    }
    for (int s = 0; s < chunk.step_count; ++s)
      gather_bounds(ordered + chunk.steps[s].start, chunk.steps[s].count, bounds[s]);
    for (int p = 0; p < chunk.depth; ++p) {
      const auto e = static_cast<std::uint32_t>(ordered[p]) & 0xFFFFU;
      out_exponent[p] = static_cast<std::int32_t>(e << 16 | e);
    }
  }
}

void pack_b(const PackSource& source, const Chunk& chunk, const PackedB& out, Bounds* bounds) {
  static_assert(kStretch == kPanel);
  const DefaultFloats floats;
  std::uint32_t raw[kPanel];
  float value[kPanel];
  std::int32_t exponent[kPanel];
  for (int s = 0; s < chunk.step_count; ++s) {
    bounds[s] = kNoOperand;
    for (int i = 0; i < chunk.steps[s].count; ++i) {
      const int p = chunk.steps[s].start + i;
      const int k = chunk.order == nullptr ? p : chunk.order[p];
      const int there = k < source.rows ? source.columns : 0;
      fetch(source, there > 0 ? static_cast<std::size_t>(k) * source.stride : 0, there, raw);
      decode(source.decode, raw, value, exponent);
      gather_bounds(exponent, kPanel, bounds[s]);
      float* out_value = out.value + p * kPanel;
      std::int16_t* out_exponent = out.exponent + p * kPanel;
      for (int group = 0; group < kPanel; group += 2 * kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
          out_value[group + lane] = value[group + 2 * lane];
          out_value[group + kLanes + lane] = value[group + 2 * lane + 1];
        }
      }
      for (int j = 0; j < kPanel; ++j) out_exponent[j] = static_cast<std::int16_t>(exponent[j]);
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
