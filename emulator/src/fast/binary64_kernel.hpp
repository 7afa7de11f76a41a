#pragma once
// Chains of fused multiply-adds in binary64, to nearest even.
// A part of the level's one source, not a header of declarations.
// NOLINTBEGIN(misc-definitions-in-headers)
#include "group_vectors.hpp"
#include "level.hpp"

namespace mmaudit::fast {
namespace {

/// The bits of x, so that -0 stays.
inline Doubles splat(double x) { return bits<Doubles>(Longs{} + __builtin_bit_cast(std::uint64_t, x)); }

inline Doubles fused(Doubles x, Doubles y, Doubles z) {
#ifdef __AVX512F__
  return bits<Doubles>(_mm512_fmadd_pd(bits<__m512d>(x), bits<__m512d>(y), bits<__m512d>(z)));
#else
  Doubles out = {};
  for (int i = 0; i < MMAUDIT_FAST_BYTES / 8; ++i) out[i] = __builtin_fma(x[i], y[i], z[i]);
  return out;
#endif
}

inline void multiply_binary64(const Binary64Multiply& work) {
  constexpr int kOfVector = MMAUDIT_FAST_BYTES / 8;
  for (int row = 0; row < work.rows; row += kRows) {
    const double* a = work.a + static_cast<std::size_t>(row) * work.a_stride;
    for (int column = 0; column < kPanel; column += kOfVector) {
      double* to = work.sum + static_cast<std::size_t>(row) * work.sum_stride + column;
      Doubles sums[kRows];
      for (int r = 0; r < kRows; ++r)
        sums[r] = load<Doubles>(to + static_cast<std::size_t>(r) * work.sum_stride);
      for (int k = 0; k < work.depth; ++k) {
        const auto y = load<Doubles>(work.b + std::ptrdiff_t{k} * kPanel + column);
        for (int r = 0; r < kRows; ++r) {
          const double x = a[static_cast<std::size_t>(r) * work.a_stride + static_cast<std::size_t>(k)];
          sums[r] = fused(splat(x), y, sums[r]);
        }
      }
      for (int r = 0; r < kRows; ++r)
        for (int lane = 0; lane < kOfVector; ++lane) {
          double& out = to[static_cast<std::size_t>(r) * work.sum_stride + static_cast<std::size_t>(lane)];
          const double sum = sums[r][lane];
          out = sum == sum ? sum : work.plain(work.context, row + r, work.column + column + lane, out);
        }
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
