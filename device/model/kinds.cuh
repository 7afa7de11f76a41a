#pragma once
// What the kernels of the fast model differ in, and what all of them begin a step with.
#include <cstdint>

#include "model/running_sums.cuh"

namespace mmaudit::device::core {

/// What a kernel is made for.
enum class Kind : std::uint8_t {
  any_step,
  steps_of_4,
  nested_steps_of_4,
  steps_of_8,
  steps_of_16,
  steps_of_32,
  addend_last,
  addend_last_16,
  half,
  half_4,
  half_16,
  half_addend_last,
  two_stages,
  two_stages_4,
  two_stages_in_two_sums
};
struct KindSpec {
  bool half = false;         ///< sums are binary16
  bool addend_last = false;  ///< C is added after the steps of an instruction
  int step = 0;              ///< products of a step; 0: not known before
  bool whole = false;        ///< no place of the sums' format is cut off
  bool nested = false;       ///< alignment of C cuts off whatever rounding the sum would have cut off
  bool two_stages = false;   ///< products are aligned by themselves, and their sum with C
  int blocks = 4;            ///< of a multiprocessor at once
  int sums = 1;              ///< of two stages
};
MMAUDIT_HD constexpr KindSpec spec(Kind kind) {
  switch (kind) {
    case Kind::steps_of_4:
      return {.step = 4, .whole = true, .blocks = 3};
    case Kind::nested_steps_of_4:
      return {.step = 4, .whole = true, .nested = true};
    case Kind::steps_of_8:
      return {.step = 8, .whole = true};
    case Kind::steps_of_16:
      return {.step = 16, .whole = true};
    case Kind::steps_of_32:
      return {.step = 32};
    case Kind::addend_last:
      return {.addend_last = true};
    case Kind::addend_last_16:
      return {.addend_last = true, .step = 16, .whole = true};
    case Kind::half:
      return {.half = true};
    case Kind::half_4:
      return {.half = true, .step = 4, .whole = true};
    case Kind::half_16:
      return {.half = true, .step = 16, .whole = true};
    case Kind::half_addend_last:
      return {.half = true, .addend_last = true};
    case Kind::two_stages:
      return {.addend_last = true, .step = kStagedStep, .two_stages = true};
    case Kind::two_stages_4:
      return {.addend_last = true, .step = kStagedStep / 2, .two_stages = true};
    case Kind::two_stages_in_two_sums:
      return {.addend_last = true, .step = 2 * kStagedStep, .two_stages = true, .blocks = 3, .sums = 2};
    case Kind::any_step:
      break;
  }
  return {};
}

inline constexpr int kBinary32Fraction = 23;

using Maxima =
    std::uint32_t[kRows][kColumns / 2];  ///< 16 (E + start_bias()) of products, two columns per word

/// E of `count` products, at least the floor.
__device__ inline void find_maxima(const CoreRules& rules, const Panels& panels, int first, int count,
                                   Maxima& maxima) {
  const int row = thread_row(), column = thread_column();
  const std::uint32_t floor = static_cast<std::uint32_t>(rules.floor + start_bias(rules)) * 0x100010U;
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int h = 0; h < kColumns / 2; ++h) maxima[r][h] = floor;
#pragma unroll 4
  for (int p = 0; p < count; ++p) {
    std::uint32_t a[kRows], b[kColumns / 2];
    const int at = (first + p) * kPanelElements;
    load_shared_words(a, panels.a.exponent + 2 * (at + row));
    load_shared_words(b, panels.b.exponent + at + column);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int h = 0; h < kColumns / 2; ++h) maxima[r][h] = __viaddmax_s16x2(a[r], b[h], maxima[r][h]);
  }
}

}  // namespace mmaudit::device::core
