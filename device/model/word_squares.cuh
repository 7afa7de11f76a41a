#pragma once
// A tile in shared memory whose rows become columns, words of elements at once.
#include <cstdint>

namespace mmaudit::device {

constexpr unsigned kTileSide = 64;  ///< rows and columns of a tile

/// Elements of one or two bytes, or words.
template <typename Element>
struct WordTile {
  static constexpr unsigned kPer = 4 / sizeof(Element), kBits = 8 * sizeof(Element), kWide = kTileSide / kPer;
  std::uint32_t words[kTileSide][kWide + 1];

  __device__ Element& at(unsigned row, unsigned column) {
    return reinterpret_cast<Element*>(words[row])[column];
  }

  /// put(column, row, word) by all threads of a block: kPer elements of this column from `row` on.
  template <unsigned kThreads, typename Put>
  __device__ void columns(const Put& put) const {
#pragma unroll
    for (unsigned square = threadIdx.x; square < kWide * kWide; square += kThreads) {
      const unsigned down = square % kWide * kPer, right = square / kWide;
      std::uint32_t from[kPer];
#pragma unroll
      for (unsigned i = 0; i < kPer; ++i) from[i] = words[down + i][right];
#pragma unroll
      for (unsigned j = 0; j < kPer; ++j) {
        std::uint32_t word = 0;
#pragma unroll
        for (unsigned i = 0; i < kPer; ++i)
          word |= (from[i] >> (j * kBits) & (~0U >> (32 - kBits))) << (i * kBits);
        put(right * kPer + j, down, word);
      }
    }
  }
};

/// `words` of neighbours, as far as the line goes; `whole`: the line begins where words of this number may.
template <typename Element, unsigned Count>
__device__ void put_words(Element* to, const std::uint32_t (&words)[Count], bool whole, std::uint64_t left) {
  constexpr unsigned kPer = 4 / sizeof(Element);
  if (whole && left >= Count * kPer) {
    if constexpr (Count == 4)
      *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
    else if constexpr (Count == 2)
      *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
    else
      *reinterpret_cast<std::uint32_t*>(to) = words[0];
  } else {
#pragma unroll
    for (unsigned i = 0; i < Count * kPer; ++i)
      if (i < left) to[i] = static_cast<Element>(words[i / kPer] >> (i % kPer * 8 * sizeof(Element)));
  }
}

}  // namespace mmaudit::device
