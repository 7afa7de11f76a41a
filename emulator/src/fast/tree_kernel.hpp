#pragma once
// Trees of the binary32 operations that the datapath names, subnormals flushed. A part of the level's one
// source, not a header of declarations; x != x asks for NaN; offsets are small.
// NOLINTBEGIN(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
#include "kernel.hpp"

namespace mmaudit::fast {
namespace {

/// A subnormal as a zero of its sign, where the thread's mode doesn't do that.
inline Floats flushed(Floats x) {
  if constexpr (FloatMode::kSets) return x;
  const Words small = (bits<Words>(x) & INT32_MAX) < (1 << kFloatFraction);
  return select(small, bits<Floats>(bits<Words>(x) & INT32_MIN), x);
}

inline Floats without_payload(Floats x, const Rules& rules) {
  return select(bits<Words>(x != x), splat(__builtin_bit_cast(float, rules.nan)), x);
}

/// One step in registers.
template <int Rows, int Products>
[[gnu::always_inline]] inline void tree_step(const float* a, std::size_t a_stride, const float* b,
                                             Floats (&sum)[Rows][2]) {
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    Floats factor[Products];
#pragma GCC unroll 4
    for (int k = 0; k < Products; ++k) factor[k] = load<Floats>(b + k * kPanel + h * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      Floats part[Products];
#pragma GCC unroll 4
      for (int k = 0; k < Products; ++k)
        part[k] =
            flushed(a[static_cast<std::size_t>(r) * a_stride + static_cast<std::size_t>(k)] * factor[k]);
#pragma GCC unroll 2
      for (int apart = 1; apart < Products; apart *= 2)
#pragma GCC unroll 2
        for (int k = 0; k < Products; k += 2 * apart) part[k] = flushed(part[k] + part[k + apart]);
      sum[r][h] = flushed(sum[r][h] + part[0]);
    }
  }
}

template <int Products>
[[gnu::noinline]] void multiply_trees(const Multiply& work) {
  constexpr int kCount = kRowsAtOnce;
  const FloatMode mode(false, true);
  for (int column = 0; column < kPanel; column += kGroupColumns) {
    for (int row = 0; row < work.groups * kRows; row += kCount) {
      const Block out = sums_of(work, row, column);
      Floats sum[kCount][2];
      for (int r = 0; r < kCount; ++r)
        for (int h = 0; h < 2; ++h) sum[r][h] = load<Floats>(out.at(r, h));
      const Operands in = first_operands(work, row, column);
      bool opens = true;
      for (int index = 0; index < work.chunk.step_count; ++index) {
        const Step& step = work.chunk.steps[index];
        // An instruction reads a subnormal C, and -0, as +0.
        for (int r = 0; opens && r < kCount; ++r)
          for (int h = 0; h < 2; ++h) sum[r][h] = flushed(sum[r][h]) + 0.0F;
        tree_step<kCount, Products>(in.a_value + step.start, in.a_stride, in.b_value + step.start * kPanel,
                                    sum);
        opens = step.closes;
      }
      for (int r = 0; r < kCount; ++r)
        for (int h = 0; h < 2; ++h) store(out.at(r, h), without_payload(sum[r][h], *work.rules));
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers,bugprone-implicit-widening-of-multiplication-result,misc-redundant-expression)
