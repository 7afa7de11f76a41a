#pragma once
// Operands as the fast model reads them: panels, (matrices, elements / kPanelElements, positions / chunk).
// Positions stand in evaluation order and are padded to whole chunks, elements (rows of A, columns of B) to
// whole blocks, all with +0.
#include <cstddef>
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

inline constexpr std::int32_t kZeroExponent =
    -1100;  ///< below every floor, and 16 times two of it fit 16 bits
inline constexpr std::uint32_t kDoubleInfinity = 0x7FF00000U;  // high words
inline constexpr std::uint32_t kDoubleNan = 0x7FF80000U;
/// High words, but for their sign, in place of infinities, NaNs, and what a sparse A has no element for (B is
/// not read there): as binary64 they are numbers so small that no product with one reaches the last place of
/// a sum.
inline constexpr std::uint32_t kAbsentMark = 2, kInfinityMark = 4, kNanMark = 8;

/// E + start_bias() is the exponent field of 2^(52 + E - F) as binary64. A's exponents have it in them. Times
/// 16 it is the high half of the high word.
MMAUDIT_HD constexpr int start_bias(const CoreRules& rules) { return 52 + 1023 - rules.fraction_bits; }

/// Rows of A and columns of B that a thread owns.
inline constexpr int kRowsOwned = 4, kColumnsOwned = 8;

inline constexpr int kPanelElements = 64;
/// Words of a panel tell of its squares of kSquareSide elements and positions: SquareWord.
inline constexpr int kSquareWords = 4, kSquareSide = 32;
/// The exponents are those that a step sees, plus 1023; a zero's, kZeroExponent, counts.
struct SquareWord {
  std::uint32_t word = kNoLeast;  ///< as where there is no square

  static MMAUDIT_HD constexpr SquareWord of(bool special, std::int32_t least, std::int32_t largest) {
    return {static_cast<std::uint32_t>(largest + kLift) << 16 |
            static_cast<std::uint32_t>(least + kLift) << 1 | static_cast<std::uint32_t>(special)};
  }
  /// Whether it holds an infinity or a NaN.
  [[nodiscard]] MMAUDIT_HD constexpr bool special() const { return (word & 1) != 0; }
  [[nodiscard]] MMAUDIT_HD constexpr std::int32_t least() const {
    return static_cast<std::int32_t>((word & kNoLeast) >> 1) - kLift;
  }
  [[nodiscard]] MMAUDIT_HD constexpr std::int32_t largest() const {
    return static_cast<std::int32_t>(word >> 16) - kLift;
  }

  /// The word of both squares.
  [[nodiscard]] MMAUDIT_HD constexpr SquareWord with(SquareWord other) const {
    const auto pick = [&](std::uint32_t mask, bool larger) {
      return ((word & mask) < (other.word & mask)) == larger ? other.word & mask : word & mask;
    };
    return {pick(~std::uint32_t{0xFFFF}, true) | pick(kNoLeast, false) | ((word | other.word) & 1)};
  }

 private:
  static constexpr std::uint32_t kNoLeast = 0xFFFE;
  static constexpr std::int32_t kLift = 128;  ///< more than kZeroExponent is below -1023
};

/// How a panel is laid out.
struct PanelShape {
  std::int32_t chunk = kChunk;  ///< positions: a multiple of kSquareSide, up to twice that
  bool of_b = false;

  /// Of an exponent, which stands in both halves of a word for A.
  [[nodiscard]] MMAUDIT_HD constexpr int copies() const { return of_b ? 1 : 2; }
  [[nodiscard]] MMAUDIT_HD constexpr int words() const {
    return kPanelElements * (chunk + chunk * copies() / 2) + kSquareWords;
  }
  /// Where the number of an element stands among those of its position. The tensor core gives a thread two
  /// neighbouring columns of each of four products; B's columns of one thread and each product lie together.
  /// turned(): what four lanes read at four positions lies in different banks.
  [[nodiscard]] MMAUDIT_HD constexpr int slot_of(int element, int position) const {
    constexpr int kEach = kColumnsOwned;
    return turned(of_b ? element / kEach * kEach + element % 2 * (kEach / 2) + element % kEach / 2 : element,
                  position);
  }
  [[nodiscard]] static MMAUDIT_HD constexpr int turned(int slot, int position) {
    return slot ^ position % 4 * 8;
  }
};
/// As the kernels for `rules` read A or B.
MMAUDIT_HD constexpr PanelShape panel_shape(const CoreRules& rules, bool of_b) {
  return {.chunk = staged_of(rules), .of_b = of_b};
}

/// A chunk of positions of kPanelElements elements, in global or shared memory.
struct Panel {
  std::uint32_t* number;    ///< (chunk, elements) by slot_of(): high words of binary64 whose low words are 0
  std::uint16_t* exponent;  ///< (chunk, elements, copies) 16 times it; A's plus start_bias()
  SquareWord* squares;      ///< (positions, elements) of squares

  MMAUDIT_HD Panel(std::uint32_t* words, const PanelShape& shape)
      : number(words),
        exponent(reinterpret_cast<std::uint16_t*>(words + offset(kPanelElements * shape.chunk))),
        squares(reinterpret_cast<SquareWord*>(
            words + offset(kPanelElements * (shape.chunk + shape.chunk * shape.copies() / 2)))) {}

 private:
  static MMAUDIT_HD std::ptrdiff_t offset(int words) { return words; }
};

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
  PanelShape panel = {};
  ScaleSource scales = {};
};

MMAUDIT_HD constexpr std::uint64_t padded(std::uint64_t x, std::uint64_t to) {
  return detail::quotient_up(x, to) * to;
}
/// Panels of one matrix.
constexpr std::uint64_t panels_of(const UnpackSource& source) {
  return padded(source.elements, kUnpackedPad) / kPanelElements *
         (padded(source.depth, source.chunk) / static_cast<unsigned>(source.panel.chunk));
}
constexpr std::uint64_t unpacked_words(const UnpackSource& source) {
  return source.matrices * panels_of(source) * static_cast<unsigned>(source.panel.words());
}

/// Starts it; `words` has unpacked_words(). `decode` is rules.a or rules.b.
void launch_unpack(const CoreRules& rules, const CoreDecode& decode, const UnpackSource& source,
                   std::uint32_t* words, Stream stream = nullptr);

}  // namespace mmaudit::device
