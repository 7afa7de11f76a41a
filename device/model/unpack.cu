#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

__device__ std::uint32_t load_raw(const UnpackSource& source, std::uint64_t at) {
  if (source.bytes == 2) return static_cast<const std::uint16_t*>(source.base)[at];
  if (source.bytes == 1) return static_cast<const std::uint8_t*>(source.base)[at];
  return static_cast<const std::uint32_t*>(source.base)[at];
}

__device__ std::uint64_t dense_index(const UnpackSource& source, std::uint64_t matrix, std::uint32_t element,
                                     std::uint32_t k) {
  const std::uint32_t tile = element < source.tile ? 0 : element / source.tile;  // mostly the first
  return matrix * source.matrix_stride + tile * source.tile_stride +
         (element - tile * source.tile) * source.element_stride + k * source.k_stride;
}

/// Those at `index`; zeros where that is none.
constexpr std::uint64_t kNoIndex = ~std::uint64_t{0};
template <typename Raw, int Count>
__device__ void load_raws(const UnpackSource& source, const std::uint64_t (&index)[Count],
                          std::uint32_t (&raw)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
    raw[i] = index[i] != kNoIndex ? static_cast<const Raw*>(source.base)[index[i]] : 0;
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
  if (magnitude == 0) return {rule.nan_at_minus_zero && negative != 0 ? kNanMark : 0, negative, 0};
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
constexpr int kLines = 8, kOwnLines = kTile / kLines;  ///< a thread takes every kLines-th line of the square

/// A block a square of positions and elements. Plain: A is not sparse and nothing has scales. Reads go along
/// k where k is contiguous, writes along elements.
template <bool Plain>
__global__ void __launch_bounds__(kTile* kLines)
    unpack_kernel(const CoreRules rules, const CoreDecode rule, const UnpackSource source,
                  std::uint32_t* words) {
  __shared__ std::uint32_t square[kTile][kTile + 1];  // [element][position]
  __shared__ std::uint32_t of_warp[kLines];           // SquareWord
  const std::uint64_t pitch = padded(source.elements, kUnpackedPad);
  const std::uint64_t past = source.chunk - 1;  // chunk: a power of two
  const std::uint64_t depth = (source.depth + past) & ~past;
  const std::uint32_t first_position = blockIdx.y * kTile, first_element = blockIdx.x * kTile;
  const bool along_k = source.k_stride == 1;
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const PanelShape shape = source.panel;
  const auto chunk = static_cast<unsigned>(shape.chunk);
  const int log_chunk = __ffs(shape.chunk) - 1;
  const std::int32_t bias = (shape.of_b ? 0 : start_bias(rules)) - 1023;
  const auto k_of = [&](std::uint32_t p) {
    const std::uint32_t within = p & (static_cast<std::uint32_t>(rules.depth) - 1);  // depth: a power of two
    return p - within + static_cast<std::uint32_t>(rules.order[within]);
  };
  const std::uint32_t own_k = k_of(first_position + x);  // where lanes lie along k: read once, as they differ
  struct Place {
    std::uint32_t element, k;
  };
  const auto place_of = [&](int i) -> Place {
    const unsigned line = y + static_cast<unsigned>(i) * kLines;
    if (along_k) return {first_element + line, own_k};
    return {first_element + x, k_of(first_position + line)};
  };
  for (std::uint64_t matrix = blockIdx.z; matrix < source.matrices; matrix += gridDim.z) {
    // A word of the square: the high word, its last 8 bits, which are 0 but in marks, beside the lift in 4 of
    // them, and the sign.
    const auto packed = [](const Element& of) { return of.negative << 31 | of.high | of.lift << 4; };
    const auto unpacked = [](std::uint32_t word) {
      return Element{word & 0x7FFFFF0FU, word >> 31, word >> 4 & 0xFU};
    };
    // All loads before any is used.
    std::uint32_t raw[kOwnLines];
    std::uint64_t index[kOwnLines];
    bool absent[kOwnLines] = {};
#pragma unroll
    for (int i = 0; i < kOwnLines; ++i) {
      const Place at = place_of(i);
      const bool there = at.element < source.elements && at.k < source.depth;
      if constexpr (Plain)
        index[i] = there ? dense_index(source, matrix, at.element, at.k) : kNoIndex;
      else
        raw[i] = !there ? 0
                 : source.metadata != nullptr
                     ? sparse_raw(source, matrix, at.element, at.k, absent[i])
                     : load_raw(source, dense_index(source, matrix, at.element, at.k));
    }
    if constexpr (Plain) {
      if (source.bytes == 1) load_raws<std::uint8_t>(source, index, raw);
      if (source.bytes == 2) load_raws<std::uint16_t>(source, index, raw);
      if (source.bytes == 4) load_raws<std::uint32_t>(source, index, raw);
    }
#pragma unroll
    for (int i = 0; i < kOwnLines; ++i) {
      const Place at = place_of(i);
      Element own = decode(rule, raw[i]);
      if constexpr (!Plain)
        if (at.element < source.elements && at.k < source.depth)
          own = absent[i] ? Element{kAbsentMark, 0, 0} : scaled(source, matrix, at.element, at.k, own);
      const unsigned line = y + static_cast<unsigned>(i) * kLines;
      (along_k ? square[line][x] : square[x][line]) = packed(own);
    }
    __syncthreads();
    const unsigned e = first_element + x, column = e % kPanelElements,
                   first_row = first_position & (chunk - 1);
    const std::uint64_t panel =
        (matrix * (pitch / kPanelElements) + e / kPanelElements) * (depth >> log_chunk) +
        (first_position >> log_chunk);
    const Panel to(words + panel * static_cast<unsigned>(shape.words()), shape);
    std::int32_t least = INT32_MAX, largest = kZeroExponent + 1023;
    bool special = false;
#pragma unroll
    for (int i = 0; i < kOwnLines; ++i) {
      const unsigned line = y + static_cast<unsigned>(i) * kLines;
      const Element own = unpacked(square[x][line]);
      const unsigned row = first_row + line, at = row * kPanelElements + column;
      const int slot = shape.slot_of(static_cast<int>(column), static_cast<int>(row));
      to.number[row * kPanelElements + static_cast<unsigned>(slot)] = own.negative << 31 | own.high;
      const std::int32_t seen = seen_exponent(own);
      const std::uint32_t exponent = static_cast<std::uint32_t>(16 * (seen + bias)) & 0xFFFFU;
      if (shape.of_b)
        to.exponent[at] = static_cast<std::uint16_t>(exponent);
      else
        reinterpret_cast<std::uint32_t*>(to.exponent)[at] = exponent * 0x10001U;
      least = min(least, seen);
      largest = max(largest, seen);
      special = special || own.special();
    }
    SquareWord own_word = SquareWord::of(special, least, largest);
    for (int distance = kTile / 2; distance > 0; distance /= 2)
      own_word = own_word.with({__shfl_xor_sync(0xFFFFFFFFU, own_word.word, distance)});
    if (x == 0) of_warp[y] = own_word.word;
    __syncthreads();  // also: the square has been read
    constexpr unsigned kAcross = kPanelElements / kTile;
    if (x == 0 && y == 0) {
      for (const std::uint32_t other : of_warp) own_word = own_word.with({other});
      const unsigned word = first_row / kTile * kAcross + column / kTile;
      to.squares[word] = own_word;
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
  const bool plain = source.metadata == nullptr && source.scales.base == nullptr;
  const auto kernel = plain ? unpack_kernel<true> : unpack_kernel<false>;
  kernel<<<grid, dim3(kTile, kLines), 0, stream>>>(rules, decode, source, words);
  cuda_check(cudaGetLastError(), "launching the unpacking");
}

}  // namespace mmaudit::device
