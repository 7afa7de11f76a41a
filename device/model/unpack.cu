#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

__device__ std::uint32_t load_raw(const UnpackSource& source, std::uint64_t at) {
  if (source.bytes == 2) return static_cast<const std::uint16_t*>(source.base)[at];
  if (source.bytes == 1) return static_cast<const std::uint8_t*>(source.base)[at];
  return static_cast<const std::uint32_t*>(source.base)[at];
}

__device__ std::uint32_t dense_raw(const UnpackSource& source, std::uint64_t matrix, std::uint32_t element,
                                   std::uint32_t k) {
  return load_raw(source, matrix * source.matrix_stride + element / source.tile * source.tile_stride +
                              element % source.tile * source.element_stride + k * source.k_stride);
}

/// Of an element that A may not have.
__device__ std::uint32_t sparse_raw(const UnpackSource& source, std::uint64_t matrix, std::uint32_t element,
                                    std::uint32_t k, bool& absent) {
  const auto kept = static_cast<unsigned>(source.kept), group = static_cast<unsigned>(source.group);
  const std::uint64_t first =
      matrix * source.matrix_stride + element * source.element_stride + k / group * kept;
  for (unsigned i = 0; i < kept; ++i)
    if (source.metadata[first + i] == k % group) return load_raw(source, first + i);
  absent = true;
  return 0;
}

/// An operand before it goes to its panel.
struct Element {
  std::uint32_t high;      ///< of its magnitude as binary64, or a mark
  std::uint32_t negative;  ///< 0 or 1
  std::uint32_t lift;  ///< how far the exponent that a step sees lies above the number's: a subnormal is not
                       ///< normalised
  MMAUDIT_HD bool special() const { return high == kInfinityMark || high == kNanMark; }
};

__device__ Element decode(const CoreDecode& rule, std::uint32_t raw) {
  const std::uint32_t magnitude = (raw >> rule.ignored_bits) & rule.magnitude_mask;
  const std::uint32_t negative = (raw >> rule.sign_bit) & 1;
  if (magnitude >= rule.special_from)
    return {rule.infinity != 0 && magnitude == rule.infinity ? kInfinityMark : kNanMark, negative, 0};
  if (magnitude == 0) return {0, negative, 0};
  std::uint32_t high = 0;
  if ((magnitude >> rule.fraction_bits) != 0) {
    high = (magnitude << (20 - rule.fraction_bits)) + (static_cast<std::uint32_t>(rule.rebias) << 20);
  } else {
    const int lead = 31 - __clz(static_cast<int>(magnitude));
    high =
        static_cast<std::uint32_t>(rule.least + lead + 1023) << 20 | ((magnitude << (20 - lead)) & 0xFFFFFU);
  }
  const int exponent = static_cast<int>(high >> 20) - 1023;
  return {high, negative,
          exponent < rule.min_exponent ? static_cast<std::uint32_t>(rule.min_exponent - exponent) : 0};
}

/// A number times its scale.
__device__ Element scaled(const UnpackSource& source, std::uint64_t matrix, std::uint32_t element,
                          std::uint32_t k, Element number) {
  const ScaleSource& scales = source.scales;
  if (scales.base == nullptr) return number;
  const Operand scale =
      unpack(scales.format, {}, scales.at(matrix, element, k / static_cast<unsigned>(scales.block)));
  if (scale.kind == Kind::nan) return {kNanMark, 0, 0};
  if (number.high != 0 && !number.special()) number.high += static_cast<std::uint32_t>(scale.exponent) << 20;
  return number;
}

/// The exponent that a step sees, plus 1023.
__device__ std::int32_t seen_exponent(const Element& of) {
  const std::uint32_t seen = (of.high >> 20) + of.lift;
  return seen == 0 ? kZeroExponent + 1023 : static_cast<std::int32_t>(seen);
}

constexpr int kTile = kSquareSide;

/// A block a square of positions and elements. Reads go along k where k is contiguous, writes along elements.
__global__ void __launch_bounds__(kTile* kTile)
    unpack_kernel(const CoreRules rules, const CoreDecode rule, const UnpackSource source,
                  std::uint32_t* words) {
  __shared__ std::uint32_t square[kTile][kTile + 1];  // [element][position]
  __shared__ std::uint32_t some_special;
  __shared__ std::int32_t largest;
  const std::uint64_t pitch = padded(source.elements, kUnpackedPad),
                      depth = padded(source.depth, source.chunk);
  const std::uint32_t first_position = blockIdx.y * kTile, first_element = blockIdx.x * kTile;
  const bool along_k = source.k_stride == 1;
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned position = along_k ? x : y, element = along_k ? y : x;
  const PanelShape shape = source.panel;
  const auto chunk = static_cast<unsigned>(shape.chunk);
  const int log_chunk = __ffs(shape.chunk) - 1;
  const std::int32_t bias = (shape.of_b ? 0 : start_bias(rules)) - 1023;
  const auto k_of = [&](std::uint32_t p) {
    const std::uint32_t within = p & (static_cast<std::uint32_t>(rules.depth) - 1);  // depth: a power of two
    return p - within + static_cast<std::uint32_t>(rules.order[within]);
  };
  for (std::uint64_t matrix = blockIdx.z; matrix < source.matrices; matrix += gridDim.z) {
    const auto element_of = [&](std::uint32_t e, std::uint32_t p) -> Element {
      const std::uint32_t k = k_of(p);
      if (e >= source.elements || k >= source.depth) return {};
      bool absent = false;
      const std::uint32_t raw = source.metadata != nullptr ? sparse_raw(source, matrix, e, k, absent)
                                                           : dense_raw(source, matrix, e, k);
      return absent ? Element{kAbsentMark, 0, 0} : scaled(source, matrix, e, k, decode(rule, raw));
    };
    // A word of the square: the high word, its last 8 bits, which are 0 but in marks, beside the lift in 4 of
    // them, and the sign.
    const auto packed = [](const Element& of) { return of.negative << 31 | of.high | of.lift << 4; };
    const auto unpacked = [](std::uint32_t word) {
      return Element{word & 0x7FFFFF0FU, word >> 31, word >> 4 & 0xFU};
    };
    if (x == 0 && y == 0) some_special = 0, largest = kZeroExponent + 1023;
    square[element][position] = packed(element_of(first_element + element, first_position + position));
    __syncthreads();
    const Element own = unpacked(square[x][y]);
    const unsigned p = first_position + y, e = first_element + x;
    const std::uint64_t panel =
        (matrix * (pitch / kPanelElements) + e / kPanelElements) * (depth >> log_chunk) + (p >> log_chunk);
    const Panel to(words + panel * static_cast<unsigned>(shape.words()), shape);
    const unsigned row = p & (chunk - 1), column = e % kPanelElements, at = row * kPanelElements + column;
    const int slot = shape.slot_of(static_cast<int>(column), static_cast<int>(row));
    to.number[row * kPanelElements + static_cast<unsigned>(slot)] = own.negative << 31 | own.high;
    const std::int32_t seen = seen_exponent(own);
    const std::uint32_t exponent = static_cast<std::uint32_t>(16 * (seen + bias)) & 0xFFFFU;
    if (shape.of_b)
      to.exponent[at] = static_cast<std::uint16_t>(exponent);
    else
      reinterpret_cast<std::uint32_t*>(to.exponent)[at] = exponent * 0x10001U;
    if (own.special()) some_special = 1;
    if (seen > largest) atomicMax(&largest, seen);  // what it was before only saves work
    __syncthreads();
    constexpr unsigned kAcross = kPanelElements / kTile;
    if (x == 0 && y == 0) {
      const unsigned word = row / kTile * kAcross + column / kTile;
      to.squares[word] = SquareWord::of(some_special != 0, largest);
      if (chunk == kTile) to.squares[word + kAcross] = {};
    }
  }
}

}  // namespace

void launch_unpack(const CoreRules& rules, const CoreDecode& decode, const UnpackSource& source,
                   std::uint32_t* words, Stream stream) {
  static_assert(kChunk % kTile == 0 && kUnpackedPad % kTile == 0);
  constexpr std::uint64_t kMostMatrices = 65535;
  const dim3 grid(static_cast<unsigned>(padded(source.elements, kUnpackedPad) / kTile),
                  static_cast<unsigned>(padded(source.depth, source.chunk) / kTile),
                  static_cast<unsigned>(source.matrices < kMostMatrices ? source.matrices : kMostMatrices));
  unpack_kernel<<<grid, dim3(kTile, kTile), 0, stream>>>(rules, decode, source, words);
  cuda_check(cudaGetLastError(), "launching the unpacking");
}

}  // namespace mmaudit::device
