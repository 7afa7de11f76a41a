#pragma once
// Operands of the fast model in shared memory: a block of threads copies a chunk of positions of A and B, and
// reads them.
#include <cstdint>

#include "model/core_rules.hpp"
#include "model/unpacked.hpp"
#include "model/words.cuh"
#include "ptx/block_copy.cuh"

namespace mmaudit::device::core {

inline constexpr int kBlockRows = kPanelElements, kBlockColumns = kPanelElements;
inline constexpr int kRows = kRowsOwned, kColumns = kColumnsOwned;
inline constexpr int kThreads = kBlockRows * kBlockColumns / kRows / kColumns;
/// A warp owns kSide x kSide elements: two by four products of 16 x 8 by the tensor core. Its lanes are
/// (kSide / kRows) x kLanesAcross.
inline constexpr int kSide = 32, kLanesAcross = kSide / kColumns, kWarpsAcross = kBlockColumns / kSide;
static_assert(kThreads / 32 * kSide * kSide == kBlockRows * kBlockColumns);
static_assert(kUnpackedPad % kPanelElements == 0);

/// What kinds of operands a row or column has, one bit per position. Read for chunks with infinities or NaNs.
/// (masks, chunk / 32, kPanelElements) words, A's before B's.
enum Mask : std::uint8_t { kMaskNan, kMaskInfinity, kMaskZero, kMaskNegative, kMaskAbsent, kMasks };
inline constexpr int kMaskBits = 32;
inline constexpr std::uint32_t kSign = 0x80000000U;  ///< of a high word

/// What a thread owns: rows thread_row() .. + kRows, columns thread_column() .. + kColumns of the block.
__device__ inline int thread_row() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return warp / kWarpsAcross * kSide + lane / kLanesAcross * kRows;
}
__device__ inline int thread_column() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return warp % kWarpsAcross * kSide + lane % kLanesAcross * kColumns;
}

struct ChunkFacts {
  bool masked;          ///< some operand is infinite or a NaN
  int least, exponent;  ///< no product has a smaller one; none has a larger one
};

/// A's and B's panel of one chunk in shared memory, and the masks.
class Panels {
 public:
  /// Of shared memory.
  static std::size_t bytes(const CoreRules& rules) {
    const PanelShape a = panel_shape(rules, false), b = panel_shape(rules, true);
    return static_cast<std::size_t>(kCopyWords + a.words() + b.words() + 2 * kMasks * mask_words(a.chunk)) *
           sizeof(std::uint32_t);
  }
  __device__ Panels(std::uint32_t* memory, const PanelShape& of_a, const PanelShape& of_b)
      : a(memory + kCopyWords, of_a),
        b(memory + kCopyWords + of_a.words(), of_b),
        memory_(memory),
        shape_a_(of_a),
        shape_b_(of_b),
        masks_(memory + kCopyWords + of_a.words() + of_b.words()) {}

  Panel a, b;

  /// Of row (column) `element` of A (of B), positions from `position` on, which `kMaskBits` divides.
  [[nodiscard]] __device__ std::uint32_t& mask(bool in_b, Mask which, int position, int element) const {
    return masks_[((in_b ? kMasks : 0) + which) * mask_words(shape_a_.chunk) +
                  position / kMaskBits * kPanelElements + element];
  }

  [[nodiscard]] __device__ BlockCopy<kThreads> copy() const { return BlockCopy<kThreads>(memory_); }
  /// Reads a chunk. Masks are there where it is `masked`.
  [[nodiscard]] __device__ __forceinline__ ChunkFacts stage(const std::uint32_t* from_a,
                                                            const std::uint32_t* from_b,
                                                            BlockCopy<kThreads>& copy) const {
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory_ + kCopyWords));
    const auto bytes_a = 4 * static_cast<std::uint32_t>(shape_a_.words()),
               bytes_b = 4 * static_cast<std::uint32_t>(shape_b_.words());
    copy.load({{to, from_a, bytes_a}, {to + bytes_a, from_b, bytes_b}});
    const SquareWord in_a = square_of(a), in_b = square_of(b);
    const ChunkFacts facts{in_a.special() || in_b.special(), in_a.least() + in_b.least() - 2 * 1023,
                           in_a.largest() + in_b.largest() - 2 * 1023};
    if (!facts.masked) return facts;
    Panels(*this).make_masks();  // a copy, so that this one stays in registers
    __syncthreads();
    return facts;
  }

 private:
  static constexpr int kCopyWords = BlockCopy<1>::kSharedWords;
  MMAUDIT_HD static constexpr int mask_words(int chunk) { return chunk / kMaskBits * kPanelElements; }

  /// Of all squares.
  [[nodiscard]] static __device__ SquareWord square_of(const Panel& panel) {
    std::uint32_t words[kSquareWords];
    load_shared_words(words, panel.squares);
    SquareWord all;
#pragma unroll
    for (const std::uint32_t word : words) all = all.with({word});
    return all;
  }

  /// Each thread makes one word of each kind.
  __device__ __noinline__ void make_masks() const {
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kPanelElements * (shape_a_.chunk / kMaskBits);
         i += kThreads) {
      const int first = i / (2 * kPanelElements) * kMaskBits, element = i % kPanelElements;
      const bool in_b = i / kPanelElements % 2 != 0;
      const Panel& panel = in_b ? b : a;
      const PanelShape& shape = in_b ? shape_b_ : shape_a_;
      std::uint32_t masks[kMasks] = {};
      for (int p = 0; p < kMaskBits; ++p) {
        const int at = (first + p) * kPanelElements + shape.slot_of(element, first + p);
        const std::uint32_t word = panel.number[at], x = word & ~kSign, bit = 1U << p;
        if (x == kNanMark) masks[kMaskNan] |= bit;
        if (x == kInfinityMark) masks[kMaskInfinity] |= bit;
        if (x == 0) masks[kMaskZero] |= bit;
        if (x == kAbsentMark) masks[kMaskAbsent] |= bit;
        if (word != x) masks[kMaskNegative] |= bit;
      }
#pragma unroll
      for (int m = 0; m < kMasks; ++m) mask(in_b, static_cast<Mask>(m), first, element) = masks[m];
    }
  }

  std::uint32_t* memory_;
  PanelShape shape_a_, shape_b_;
  std::uint32_t* masks_;
};

}  // namespace mmaudit::device::core
