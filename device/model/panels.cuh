#pragma once
// Operands of the fast model in shared memory: a block of threads stages a chunk of positions of A and B,
// unfolded into what the steps read.
#include <cstdint>

#include "model/core_rules.hpp"
#include "model/unpacked.hpp"

namespace mmaudit::device::core {

inline constexpr int kBlockRows = 64, kBlockColumns = 64;
inline constexpr int kColumns = 4;  ///< that a thread owns
/// Rows that a thread owns. Eight take the fewest instructions per element; four give twice the warps, which
/// hide the waiting of a block that has the depth of one instruction only.
inline constexpr int kRowsOfDeep = 8, kRowsOfShallow = 4;
inline constexpr int kBlocksAtOnce = 3;  ///< on a multiprocessor
template <int Rows>
inline constexpr int kThreads = kBlockRows* kBlockColumns / kColumns / Rows;
inline constexpr int kWarpsAcross = 2, kLanesAcross = 8;
static_assert(kWarpsAcross * kLanesAcross * kColumns == kBlockColumns);
/// Words per position in shared memory: one per element, and room between banks.
inline constexpr int kPitch = 68;
inline constexpr int kLeastStep = 4;
/// In place of infinities and NaNs in shared memory, and beside kUnpackedAbsent: as high words of binary64
/// they are numbers so small that no product with one reaches the last place of a sum.
inline constexpr std::uint32_t kInfinityMark = 4, kNanMark = 8;
static_assert(kBlockRows < kPitch && kBlockColumns < kPitch && kPitch % 4 == 0);
static_assert(kUnpackedPad % kBlockRows == 0 && kUnpackedPad % kBlockColumns == 0);

/// Where the magnitude of an element stands among those of its position, when a thread owns `Each`
/// neighbours: pairs, the first one of every thread before the second ones, so that neighbouring threads read
/// neighbours.
template <int Each>
MMAUDIT_HD constexpr int slot_of(int element) {
  return element % Each / 2 * (2 * kBlockRows / Each) + element / Each * 2 + element % 2;
}

/// A chunk of positions of A or B in shared memory.
template <int Halves>
struct Panel {
  double* number;           ///< (chunk, kBlockRows) magnitudes by slot_of(), whose low words are 0
  std::uint32_t* flip;      ///< (chunk, kPitch) ~0 where the sign differs from the position before; else 0
  std::uint32_t* last;      ///< (chunk / kLeastStep, kPitch) ~0 where the last operand of a step is negative
  std::uint16_t* exponent;  ///< (chunk, Halves * kPitch) 16 times it, Halves times; A's plus start_bias()

  MMAUDIT_HD static constexpr int words(int chunk) {
    return chunk * (2 * kBlockRows + kPitch) + chunk / kLeastStep * kPitch + chunk * kPitch * Halves / 2;
  }
  __device__ Panel(std::uint32_t* words, int chunk)
      : number(reinterpret_cast<double*>(words)),
        flip(words + 2 * chunk * kBlockRows),
        last(flip + chunk * kPitch),
        exponent(reinterpret_cast<std::uint16_t*>(last + chunk / kLeastStep * kPitch)) {}
};

/// What kinds of operands a row or column has, one bit per position. Read for chunks with infinities or NaNs.
/// (masks, chunk / 32, kPitch) words, A's before B's.
enum Mask : std::uint8_t { kMaskNan, kMaskInfinity, kMaskZero, kMaskNegative, kMaskAbsent, kMasks };
inline constexpr int kMaskBits = 32;

struct Panels {
  Panel<2> a;
  Panel<1> b;
  std::uint32_t* masks;
  std::uint32_t* special;  ///< not 0: some operand of the chunk is infinite or NaN

  MMAUDIT_HD static constexpr int mask_words(int chunk) { return chunk / kMaskBits * kPitch; }
  MMAUDIT_HD static constexpr int words(int chunk) {
    return Panel<2>::words(chunk) + Panel<1>::words(chunk) + 2 * kMasks * mask_words(chunk) + 4;
  }
  __device__ Panels(std::uint32_t* memory, int chunk)
      : a(memory, chunk),
        b(memory + Panel<2>::words(chunk), chunk),
        masks(memory + Panel<2>::words(chunk) + Panel<1>::words(chunk)),
        special(memory + words(chunk) - 4),
        mask_words_(mask_words(chunk)) {}

  /// Of row (column) `element` of A (of B), positions from `position` on, which `kMaskBits` divides.
  [[nodiscard]] __device__ std::uint32_t& mask(bool of_b, Mask which, int position, int element) const {
    return masks[((of_b ? kMasks : 0) + which) * mask_words_ + position / kMaskBits * kPitch + element];
  }

 private:
  int mask_words_;
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

/// E + start_bias() is the exponent field of 2^(52 + E - F) as binary64. A's exponents have it in them. Times
/// 16 it is the high half of the high word.
__device__ inline int start_bias(const CoreRules& rules) { return 52 + 1023 - rules.fraction_bits; }

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

/// Four neighbours of one position, of a panel whose threads own `Each`.
/// `bias`: 16 times what is added to exponent fields.
template <int Each, int Halves>
__device__ inline bool unfold(const Panel<Halves>& panel, uint4 words, int position, int first, int log_step,
                              std::uint32_t bias) {
  const std::uint32_t x[4] = {words.x, words.y, words.z, words.w};
  static_assert((kUnpackedLift & -kUnpackedLift) == 16);
  std::uint32_t high[4], flip[4], exponent[4];
  bool special = false;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = x[i] & (kUnpackedHigh | kUnpackedAbsent);
    flip[i] = 0U - (x[i] & kUnpackedFlip);
    if (high[i] >= kDoubleInfinity) {
      special = true;
      high[i] = high[i] == kDoubleInfinity ? kInfinityMark : kNanMark;
    }
    const std::uint32_t seen = (high[i] >> 16 & 0x7FF0U) + (x[i] & kUnpackedLift);
    exponent[i] =
        ((seen == 0 ? static_cast<std::uint32_t>(16 * (kZeroExponent + 1023)) : seen) + bias) & 0xFFFFU;
  }
  const int at = position * kPitch + first;
#pragma unroll
  for (int i = 0; i < 4; i += 2)
    *reinterpret_cast<double2*>(panel.number + position * kBlockRows + slot_of<Each>(first + i)) =
        make_double2(__hiloint2double(static_cast<int>(high[i]), 0),
                     __hiloint2double(static_cast<int>(high[i + 1]), 0));
  *reinterpret_cast<uint4*>(panel.flip + at) = make_uint4(flip[0], flip[1], flip[2], flip[3]);
  if constexpr (Halves == 2) {
    *reinterpret_cast<uint4*>(panel.exponent + 2 * at) = make_uint4(
        exponent[0] * 0x10001U, exponent[1] * 0x10001U, exponent[2] * 0x10001U, exponent[3] * 0x10001U);
  } else {
    *reinterpret_cast<uint2*>(panel.exponent + at) =
        make_uint2(exponent[0] | exponent[1] << 16, exponent[2] | exponent[3] << 16);
  }
  if (((position + 1) & ((1 << log_step) - 1)) == 0) {
    const auto sign = [](std::uint32_t word) {
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(word) >> 31);
    };
    *reinterpret_cast<uint4*>(panel.last + (position >> log_step) * kPitch + first) =
        make_uint4(sign(x[0]), sign(x[1]), sign(x[2]), sign(x[3]));
  }
  return special;
}

/// Each thread makes one word of each kind. Panels hold changes of sign, so a sign is the changes since the
/// start of the step.
template <int Rows>
__device__ inline void make_masks(const CoreRules& rules, const Panels& panels, int count) {
  constexpr int kElements = kBlockRows + kBlockColumns;
  for (int i = static_cast<int>(threadIdx.x); i < kElements * ((count + kMaskBits - 1) / kMaskBits);
       i += kThreads<Rows>) {
    const int first = i / kElements * kMaskBits, element = i % kElements;
    const bool of_b = element >= kBlockRows;
    const double* const number = of_b ? panels.b.number + slot_of<kColumns>(element - kBlockRows)
                                      : panels.a.number + slot_of<Rows>(element);
    const std::uint32_t* const flip = of_b ? panels.b.flip + element - kBlockRows : panels.a.flip + element;
    std::uint32_t masks[kMasks] = {}, sign = 0;
    for (int p = first & ~(rules.step - 1); p < min(first + kMaskBits, count); ++p) {
      if ((p & (rules.step - 1)) == 0) sign = 0;
      sign ^= flip[p * kPitch];
      if (p < first) continue;
      const auto x = static_cast<std::uint32_t>(__double2hiint(number[p * kBlockRows]));
      const std::uint32_t bit = 1U << (p - first);
      if (x == kNanMark) masks[kMaskNan] |= bit;
      if (x == kInfinityMark) masks[kMaskInfinity] |= bit;
      if (x == 0) masks[kMaskZero] |= bit;
      if (x == kUnpackedAbsent) masks[kMaskAbsent] |= bit;
      masks[kMaskNegative] |= sign & bit;
    }
#pragma unroll
    for (int m = 0; m < kMasks; ++m)
      panels.mask(of_b, static_cast<Mask>(m), first, of_b ? element - kBlockRows : element) = masks[m];
  }
}

/// Reads `count` positions, at most a chunk: `a` and `b` point to the first position and the block's first
/// row or column; `a_pitch` and `b_pitch` are the words from one position to the next. Begins and ends with a
/// barrier.
template <int Rows>
__device__ inline void stage(const CoreRules& rules, const Panels& panels, const std::uint32_t* a,
                             std::uint64_t a_pitch, const std::uint32_t* b, std::uint64_t b_pitch,
                             int count) {
  constexpr int kVectors = kBlockRows / 4;
  constexpr int kEach = kChunk * kVectors / kThreads<Rows>;  // loads in flight together
  static_assert(kBlockRows == kBlockColumns && kChunk * kVectors % kThreads<Rows> == 0);
  const int vector = static_cast<int>(threadIdx.x) % kVectors,
            first = static_cast<int>(threadIdx.x) / kVectors;
  bool special = false;
  const int log_step = 31 - __clz(rules.step);
  for (int from = 0; from < count; from += kChunk) {
    uint4 x[kEach], y[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int position = from + first + i * (kThreads<Rows> / kVectors);
      if (position >= count) continue;
      x[i] = __ldg(reinterpret_cast<const uint4*>(a + static_cast<unsigned>(position) * a_pitch) + vector);
      y[i] = __ldg(reinterpret_cast<const uint4*>(b + static_cast<unsigned>(position) * b_pitch) + vector);
    }
    if (from == 0) {
      __syncthreads();
      if (threadIdx.x == 0) *panels.special = 0;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int position = from + first + i * (kThreads<Rows> / kVectors);
      if (position >= count) continue;
      special |= unfold<Rows>(panels.a, x[i], position, 4 * vector, log_step,
                              static_cast<std::uint32_t>(16 * (start_bias(rules) - 1023)));
      special |= unfold<kColumns>(panels.b, y[i], position, 4 * vector, log_step, 16U * -1023U);
    }
  }
  if (__syncthreads_or(special ? 1 : 0) != 0) {
    if (threadIdx.x == 0) *panels.special = 1;
    make_masks<Rows>(rules, panels, count);
  }
  __syncthreads();
}

}  // namespace mmaudit::device::core
