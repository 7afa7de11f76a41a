#pragma once
// Products of integers: two per lane of 32 bits and instruction.
// A part of the level's one source, not a header of declarations.
// NOLINTBEGIN(misc-definitions-in-headers)
#include "group_vectors.hpp"
#include "level.hpp"

namespace mmaudit::fast {
namespace {

/// x + y, or the end of the range that it leaves.
inline Counts add_clamped(Counts x, Counts y) {
  const Counts sum = x + y;
  const auto out = bits<Counts>(bits<Words>((x ^ sum) & (y ^ sum)) >> 31);  // all ones where it left
  const Counts end = bits<Counts>(bits<Words>(x) >> 31) ^ 0x7FFFFFFFU;
  return (out & end) | (~out & sum);
}

inline void multiply_integers(const IntegerMultiply& work) {
  constexpr int kVectors = kPanel / kLanes;
  // Few enough sums to stay in registers.
  constexpr int kTogether = MMAUDIT_FAST_BYTES >= 64 ? kVectors : 1;
  for (int row = 0; row < work.rows; row += kRows) {
    for (int first = 0; first < kVectors; first += kTogether) {
      Counts sums[kRows][kTogether] = {};
      const std::int32_t* a = work.a + static_cast<std::size_t>(row) * work.a_stride;
      for (int w = 0; w < work.words; ++w) {
        const std::int32_t* b = work.b + std::ptrdiff_t{w} * kPanel + std::ptrdiff_t{first} * kLanes;
        for (int r = 0; r < kRows; ++r) {
          const Words x = splat(a[static_cast<std::size_t>(r) * work.a_stride + static_cast<std::size_t>(w)]);
          for (int v = 0; v < kTogether; ++v)
            sums[r][v] +=
                bits<Counts>(sum_of_products(bits<Shorts>(x), load<Shorts>(b + std::ptrdiff_t{v} * kLanes)));
        }
      }
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kTogether; ++v) {
          std::uint32_t* to = work.sum + static_cast<std::size_t>(row + r) * work.sum_stride +
                              static_cast<std::size_t>((first + v) * kLanes);
          const auto before = load<Counts>(to);
          store(to, work.clamps ? add_clamped(before, sums[r][v]) : before + sums[r][v]);
        }
    }
  }
}

}  // namespace
}  // namespace mmaudit::fast
// NOLINTEND(misc-definitions-in-headers)
