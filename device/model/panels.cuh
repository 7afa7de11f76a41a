#pragma once
// Operands of the fast model in shared memory: a block of threads copies a chunk of positions of A and B, and
// reads them.
#include <cstdint>

#include "model/core_rules.hpp"
#include "model/unpacked.hpp"
#include "ptx/block_copy.cuh"

namespace mmaudit::device::core {

inline constexpr int kBlockRows = kPanelElements, kBlockColumns = kPanelElements;
inline constexpr int kColumns = kColumnsOwned;
inline constexpr int kBlocksAtOnce = 3;  ///< on a multiprocessor
template <int Rows>
inline constexpr int kThreads = kBlockRows* kBlockColumns / kColumns / Rows;
inline constexpr int kWarpsAcross = 2, kLanesAcross = 8;
static_assert(kWarpsAcross * kLanesAcross * kColumns == kBlockColumns);
static_assert(kUnpackedPad % kPanelElements == 0);

/// What kinds of operands a row or column has, one bit per position. Read for chunks with infinities or NaNs.
/// (masks, chunk / 32, kPanelElements) words, A's before B's.
enum Mask : std::uint8_t { kMaskNan, kMaskInfinity, kMaskZero, kMaskNegative, kMaskAbsent, kMasks };
inline constexpr int kMaskBits = 32;

/// A's and B's panel of one chunk in shared memory, and the masks.
class Panels {
 public:
  /// Of shared memory, where a thread owns so many rows.
  static std::size_t bytes(const CoreRules& rules, int rows) {
    const PanelShape a = panel_shape(rules, false, rows), b = panel_shape(rules, true, kColumns);
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

  template <int Threads>
  [[nodiscard]] __device__ BlockCopy<Threads> copy() const {
    return BlockCopy<Threads>(memory_);
  }
  /// Reads a chunk. Returns whether some operand is infinite or a NaN: then there are masks.
  template <int Threads>
  [[nodiscard]] __device__ __forceinline__ bool stage(const CoreRules& rules, const std::uint32_t* from_a,
                                                      const std::uint32_t* from_b,
                                                      BlockCopy<Threads>& copy) const {
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory_ + kCopyWords));
    const auto bytes_a = 4 * static_cast<std::uint32_t>(shape_a_.words()),
               bytes_b = 4 * static_cast<std::uint32_t>(shape_b_.words());
    copy.load({{to, from_a, bytes_a}, {to + bytes_a, from_b, bytes_b}});
    std::uint32_t some = 0;
#pragma unroll
    for (int i = 0; i < kSpecialWords; ++i) some |= a.special[i] | b.special[i];
    if (some == 0) return false;
    make_masks<Threads>(rules);
    __syncthreads();
    return true;
  }

 private:
  static constexpr int kCopyWords = BlockCopy<1>::kSharedWords;
  MMAUDIT_HD static constexpr int mask_words(int chunk) { return chunk / kMaskBits * kPanelElements; }

  /// Each thread makes one word of each kind. Panels hold changes of sign, so a sign is the changes since the
  /// start of the step.
  template <int Threads>
  __device__ void make_masks(const CoreRules& rules) const {
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kPanelElements * (shape_a_.chunk / kMaskBits);
         i += Threads) {
      const int first = i / (2 * kPanelElements) * kMaskBits, element = i % kPanelElements;
      const bool in_b = i / kPanelElements % 2 != 0;
      const std::uint32_t* const flip = (in_b ? b.flip : a.flip) + element;
      const double* const number =
          in_b ? b.number + shape_b_.slot_of(element) : a.number + shape_a_.slot_of(element);
      std::uint32_t masks[kMasks] = {}, sign = 0;
      for (int p = first & ~(rules.step - 1); p < first + kMaskBits; ++p) {
        if ((p & (rules.step - 1)) == 0) sign = 0;
        sign ^= flip[p * kPanelElements];
        if (p < first) continue;
        const auto x = static_cast<std::uint32_t>(__double2hiint(number[p * kPanelElements]));
        const std::uint32_t bit = 1U << (p - first);
        if (x == kNanMark) masks[kMaskNan] |= bit;
        if (x == kInfinityMark) masks[kMaskInfinity] |= bit;
        if (x == 0) masks[kMaskZero] |= bit;
        if (x == kAbsentMark) masks[kMaskAbsent] |= bit;
        masks[kMaskNegative] |= sign & bit;
      }
#pragma unroll
      for (int m = 0; m < kMasks; ++m) mask(in_b, static_cast<Mask>(m), first, element) = masks[m];
    }
  }

  std::uint32_t* memory_;
  PanelShape shape_a_, shape_b_;
  std::uint32_t* masks_;
};

/// What a thread owns: rows thread_row() .. + Rows, columns thread_column() .. + kColumns of the block.
template <int Rows>
__device__ inline int thread_row() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return (warp / kWarpsAcross * (32 / kLanesAcross) + lane / kLanesAcross) * Rows;
}
__device__ inline int thread_column() {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  return (warp % kWarpsAcross * kLanesAcross + lane % kLanesAcross) * kColumns;
}

/// The magnitudes of one position that a thread owns: those of rows or columns first .. first + Each.
template <int Each>
__device__ inline void load_numbers(double (&to)[Each], const double* of_position, int first) {
  const auto* pairs = reinterpret_cast<const double2*>(of_position + first / Each * 2);
#pragma unroll
  for (int i = 0; i < Each; i += 2) {
    const double2 pair = pairs[i / 2 * (kBlockRows / Each)];
    to[i] = pair.x;
    to[i + 1] = pair.y;
  }
}

}  // namespace mmaudit::device::core
