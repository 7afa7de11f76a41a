#pragma once
// Steps of two stages, as AMD's CDNA3 has them: products are aligned by themselves, in one or two sums, and
// then their sum with C.
#include <cstdint>

#include "model/kinds.cuh"

namespace mmaudit::device::core {

/// Adds to the codes the products of a step that are beyond binary32: they are infinite.
__device__ __noinline__ inline void overflow_codes(const CoreRules& rules, const Panels& panels, int first,
                                                   Codes& codes) {
  constexpr std::int32_t kBeyond = (128 + 1023) << 20;  // high word of 2^128
  Codes found;
  for (int p = first; p < first + rules.step; ++p) {
    std::uint32_t a[kRows], b[kColumns];
    load_shared_words(a, panels.a.number + p * kPanelElements + PanelShape::turned(thread_row(), p));
    load_shared_words(b, panels.b.number + p * kPanelElements + PanelShape::turned(thread_column(), p));
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::uint32_t other = b[c % 2 * (kColumns / 2) + c / 2];  // PanelShape::slot_of()
        const std::int32_t product = __double2hiint(__hiloint2double(static_cast<std::int32_t>(a[r]), 0) *
                                                    __hiloint2double(static_cast<std::int32_t>(other), 0));
        const std::uint32_t bit = (product & 0x7FFFFFFF) >= kBeyond ? 1U << (r * kColumns + c) : 0;
        (product < 0 ? found.minus : found.plus) |= bit;
      }
  }
  codes.plus |= found.plus;
  codes.minus |= found.minus;
}

/// Which elements some products make infinite or a NaN, which they stay.
template <Kind Of>
__device__ __noinline__ void special_products(const CoreRules& rules, const Panels panels, bool masked,
                                              bool beyond, int first, Sums<float>& sums) {
  Codes codes;
  if (masked) operand_codes(rules, panels, first, codes);
  if (beyond) overflow_codes(rules, panels, first, codes);
  if (codes.any() == 0) return;
  for (int i = 0; i < kRows * kColumns; ++i) {
    float& c = sums.of[i / kColumns][i % kColumns];
    const auto code = static_cast<float>(codes.of(i, 0));
    if (code != 0) c = code + (isfinite(c) ? 0 : c);
  }
}

/// The exponent's field in a high word of x: in `maxima` two columns share a word.
__device__ inline std::int32_t high_of(const Maxima& maxima, int r, int c) {
  const std::uint32_t both = maxima[r][c / 2];
  return static_cast<std::int32_t>(c % 2 == 0 ? both << 16 : both & 0xFFFF0000U);
}

/// The sum in the low word of x: by an exclusive or, since signed integers must not wrap.
__device__ inline std::int32_t units_of(double x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(__double2loint(x)) ^ kSign);
}

/// x with the sum of products [first, first + count) in its low word.
template <int Count>
__device__ inline void partial_sum(const CoreRules& rules, const Panels& panels, int first, Maxima& maxima,
                                   double (&x)[kRows][kColumns]) {
  find_maxima(rules, panels, first, Count, maxima);
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) x[r][c] = __hiloint2double(high_of(maxima, r, c), kMiddle);
  add_products<Count>(panels, first, Count, x);
}

/// Positions [first, end) of the chunk of a datapath of two stages.
template <Kind Of>
__device__ inline void staged_steps(const CoreRules& rules, const Panels& panels, const ChunkFacts& facts,
                                    int first, int end, Sums<float>& sums) {
  constexpr int kEach = spec(Of).step / spec(Of).sums;
  constexpr int kBeyond = 127;  // products of this exponent may be beyond binary32
  for (; first < end; first += spec(Of).step) {
    const bool beyond = facts.exponent >= kBeyond;
    if (facts.masked || beyond) {
      Sums<float> copy = sums;
      special_products<Of>(rules, panels, facts.masked, beyond, first, copy);
      sums = copy;
    }
    Maxima maxima;
    double x[kRows][kColumns];
    partial_sum<kEach>(rules, panels, first, maxima, x);
    if constexpr (spec(Of).sums == 2) {
      std::int32_t before[kRows][kColumns];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) before[r][c] = units_of(x[r][c]);
      Maxima second;
      partial_sum<kEach>(rules, panels, first + kEach, second, x);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          const std::int32_t one = high_of(maxima, r, c), other = high_of(second, r, c),
                             top = max(one, other);
          const std::int32_t sum = (before[r][c] >> min((top - one) >> 20, 31)) +
                                   (units_of(x[r][c]) >> min((top - other) >> 20, 31));
          x[r][c] = __hiloint2double(top, static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) ^ kSign));
        }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::int32_t high = __double2hiint(x[r][c]);
        sums.of[r][c] =
            second_stage(x[r][c] - __hiloint2double(high, kMiddle),
                         (high & kField) - ((52 - kStagedFraction) << 20), sums.of[r][c], rules.drops_far);
      }
  }
}

}  // namespace mmaudit::device::core
