#pragma once
// The model at the level of one instruction: tiles in, tiles out, raw bits on both sides.
#include <cstddef>
#include <cstdint>

#include "mmaudit/architecture.hpp"
#include "mmaudit/instruction.hpp"

namespace mmaudit {

/// Operand modifiers of one tile, one bit each; the byte is also what recordings store per tile.
inline constexpr std::uint8_t kScaleDZero =
    1;  ///< wgmma scale-d = 0, tcgen05 enable-input-d = false: C is not read
inline constexpr std::uint8_t kNegateA = 2;         ///< wgmma imm-scale-a = -1
inline constexpr std::uint8_t kNegateB = 4;         ///< wgmma imm-scale-b = -1
inline constexpr std::uint8_t kAFromRegisters = 8;  ///< where A came from; no effect on the result
/// Layouts in shared memory; none has an effect on the result. A M-major (wmma: .col), B N-major (wmma:
/// .row), C and D of wmma .col.
inline constexpr std::uint8_t kTransposeA = 16;
inline constexpr std::uint8_t kTransposeB = 32;
inline constexpr std::uint8_t kTransposeC = 64;
inline constexpr std::uint8_t kModifierBits = 127;  ///< all of them

/// A batch of tiles, row-major and contiguous, elements as raw bits in their format's storage width.
struct TileBatch {
  std::size_t tiles = 0;
  const void* a = nullptr;                  ///< (tiles, m, k), the stored k of a sparse instruction
  const void* b = nullptr;                  ///< (tiles, k, n)
  const void* c = nullptr;                  ///< (tiles, m, n) in C's format; null: every element is +0
  void* d = nullptr;                        ///< (tiles, m, n) in D's format, written
  const std::uint8_t* modifiers = nullptr;  ///< (tiles); null: none
  const std::uint8_t* scale_a =
      nullptr;  ///< block-scaled: (tiles, m, k / scale_block); null: every scale is 1
  const std::uint8_t* scale_b =
      nullptr;  ///< block-scaled: (tiles, k / scale_block, n); null: every scale is 1
  const std::uint8_t* metadata = nullptr;  ///< (tiles, m, stored k), sparse instructions only, canonical and
                                           ///< valid: why_bad_metadata() has no reason
};

/// What: D = A * B + C for every tile, with the bits `row` says the hardware produces.
/// Shapes: as TileBatch; the caller guarantees that `row` serves `instruction` (find_datapath()).
/// Range and rounding: any bit pattern is valid input; rounding is the row's. Errors: none.
/// Source: docs/numerics.md.
void emulate(const Instruction& instruction, const AccumulatorModel& row, const TileBatch& batch);

}  // namespace mmaudit
