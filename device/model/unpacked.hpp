#pragma once
// Operands as the fast model reads them: one word per element, (positions, elements). Positions stand in
// evaluation order and are padded to whole chunks, elements (rows of A, columns of B) to whole blocks, all
// with +0.
#include <cstdint>

#include "mmaudit/detail/quotient_up.hpp"
#include "model/core_rules.hpp"
#include "model/stream.hpp"

namespace mmaudit::device {

inline constexpr int kChunk = 32;  ///< positions that are computed at once
/// Unpacked positions are padded to a multiple of it: whole instructions.
MMAUDIT_HD constexpr int chunk_of(const CoreRules& rules) {
  return rules.depth > kChunk ? rules.depth : kChunk;
}
/// Positions in shared memory at once: whole steps, and whole instructions where C comes last.
MMAUDIT_HD constexpr int staged_of(const CoreRules& rules) {
  if (rules.addend_last) return chunk_of(rules);
  return rules.step > kChunk ? rules.step : kChunk;
}
inline constexpr int kUnpackedPad = 128;  ///< elements

inline constexpr std::uint32_t kUnpackedHigh = 0x7FFFFF00U;  ///< high word of the magnitude as binary64
inline constexpr std::uint32_t kUnpackedFlip = 1;  ///< the sign differs from the position's before in a step
                                                   ///< (at the first position: from +)
inline constexpr std::uint32_t kUnpackedAbsent =
    2;  ///< set alone: what a sparse A has no element for, and B is not read
/// 16 times how far the exponent that a step sees lies above the number's: a subnormal is not normalised.
inline constexpr std::uint32_t kUnpackedLift = 0xF0;
inline constexpr std::int32_t kZeroExponent =
    -1100;  ///< below every floor, and 16 times two of it fit 16 bits
inline constexpr std::uint32_t kDoubleInfinity = 0x7FF00000U;  // high words
inline constexpr std::uint32_t kDoubleNan = 0x7FF80000U;

/// Block scales beside elements: that of block i of element e is the byte base + matrix * matrix_stride + e *
/// element_stride + i * block_stride.
struct ScaleSource {
  const std::uint8_t* base = nullptr;  ///< null: every scale is 1
  FormatSpec format;
  std::int32_t block = 0;  ///< elements of k per scale
  std::uint64_t matrix_stride = 0, element_stride = 0, block_stride = 0;

  [[nodiscard]] MMAUDIT_HD std::uint8_t at(std::uint64_t matrix, std::uint64_t element,
                                           std::uint64_t i) const {
    return base[matrix * matrix_stride + element * element_stride + i * block_stride];
  }
};

/// What is unpacked: element e of position k lies at base + matrix * stride + (e / tile) * tile_stride +
/// (e % tile) * element_stride + k * k_stride elements; one matrix is one tile unless it says otherwise.
struct UnpackSource {
  const void* base = nullptr;
  std::int32_t bytes = 0;  ///< of an element
  std::uint32_t elements = 0, depth = 0;
  std::uint64_t matrices = 1;
  const std::uint8_t* metadata =
      nullptr;  ///< of a sparse A: positions in their groups, beside the stored elements
  std::int32_t kept = 1,
               group = 1;  ///< k is then of the whole depth, and `group` of them hold `kept` elements
  std::uint32_t tile = ~std::uint32_t{0};
  std::uint64_t tile_stride = 0, element_stride = 1, k_stride = 1, matrix_stride = 0;
  std::uint32_t chunk = kChunk;  ///< positions are padded to a multiple of it
  ScaleSource scales = {};
};

MMAUDIT_HD constexpr std::uint64_t padded(std::uint64_t x, std::uint64_t to) {
  return detail::quotient_up(x, to) * to;
}
constexpr std::uint64_t unpacked_words(const UnpackSource& source) {
  return source.matrices * padded(source.depth, source.chunk) * padded(source.elements, kUnpackedPad);
}

/// Starts it; `words` has unpacked_words(). `decode` is rules.a or rules.b.
void launch_unpack(const CoreRules& rules, const CoreDecode& decode, const UnpackSource& source,
                   std::uint32_t* words, Stream stream = nullptr);

}  // namespace mmaudit::device
