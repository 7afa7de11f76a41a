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

__device__ std::uint32_t decode(const CoreDecode& rule, std::uint32_t raw) {
  const std::uint32_t magnitude = (raw >> rule.ignored_bits) & rule.magnitude_mask;
  const std::uint32_t sign = (raw >> rule.sign_bit) << 31;
  if (magnitude >= rule.special_from)
    return sign | (rule.infinity != 0 && magnitude == rule.infinity ? kDoubleInfinity : kDoubleNan);
  if (magnitude == 0) return sign;
  if ((magnitude >> rule.fraction_bits) != 0)
    return sign |
           ((magnitude << (20 - rule.fraction_bits)) + (static_cast<std::uint32_t>(rule.rebias) << 20));
  const int lead = 31 - __clz(static_cast<int>(magnitude));
  return sign | static_cast<std::uint32_t>(rule.least + lead + 1023) << 20 |
         ((magnitude << (20 - lead)) & 0xFFFFFU);
}

/// The word of a number times its scale, with the lift that its exponent has.
__device__ std::uint32_t scaled_word(const UnpackSource& source, const CoreDecode& rule, std::uint64_t matrix,
                                     std::uint32_t element, std::uint32_t k, std::uint32_t word) {
  const std::uint32_t magnitude = word & kUnpackedHigh;
  const int exponent = static_cast<int>(magnitude >> 20) - 1023;
  std::uint32_t lift = 0;
  if (magnitude != 0 && exponent < rule.min_exponent)
    lift = static_cast<std::uint32_t>(rule.min_exponent - exponent) * (kUnpackedLift & -kUnpackedLift);
  const ScaleSource& scales = source.scales;
  if (scales.base == nullptr) return word | lift;
  const Operand scale =
      unpack(scales.format, {}, scales.at(matrix, element, k / static_cast<unsigned>(scales.block)));
  if (scale.kind == Kind::nan) return kDoubleNan;
  if (magnitude == 0 || magnitude >= kDoubleInfinity) return word;
  return (word + (static_cast<std::uint32_t>(scale.exponent) << 20)) | lift;
}

constexpr int kTile = 32;

/// A block a square of positions and elements. Reads go along k where k is contiguous, writes along elements.
__global__ void __launch_bounds__(kTile* kTile)
    unpack_kernel(const CoreRules rules, const CoreDecode rule, const UnpackSource source,
                  std::uint32_t* words) {
  __shared__ std::uint32_t square[kTile][kTile + 1];  // [element][position]
  const std::uint64_t pitch = padded(source.elements, kUnpackedPad),
                      depth = padded(source.depth, source.chunk);
  const std::uint32_t first_position = blockIdx.y * kTile, first_element = blockIdx.x * kTile;
  const bool along_k = source.k_stride == 1;
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned position = along_k ? x : y, element = along_k ? y : x;
  const auto k_of = [&](std::uint32_t p) {
    const std::uint32_t within = p & (static_cast<std::uint32_t>(rules.depth) - 1);  // depth: a power of two
    return p - within + static_cast<std::uint32_t>(rules.order[within]);
  };
  for (std::uint64_t matrix = blockIdx.z; matrix < source.matrices; matrix += gridDim.z) {
    const auto word_of = [&](std::uint32_t e, std::uint32_t p) {
      const std::uint32_t k = k_of(p);
      if (e >= source.elements || k >= source.depth) return 0U;
      bool absent = false;
      const std::uint32_t raw = source.metadata != nullptr ? sparse_raw(source, matrix, e, k, absent)
                                                           : dense_raw(source, matrix, e, k);
      return absent ? kUnpackedAbsent : scaled_word(source, rule, matrix, e, k, decode(rule, raw));
    };
    const std::uint32_t p = first_position + position;
    square[element][position] = word_of(first_element + element, p);
    __syncthreads();
    const std::uint32_t word = square[x][y];
    const bool begins = ((first_position + y) & (static_cast<std::uint32_t>(rules.step) - 1)) == 0;
    std::uint32_t before = 0;
    if (!begins) before = y > 0 ? square[x][y - 1] : word_of(first_element + x, first_position - 1);
    words[(matrix * depth + first_position + y) * pitch + first_element + x] = word | ((word ^ before) >> 31);
    __syncthreads();
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
