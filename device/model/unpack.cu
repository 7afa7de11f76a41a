#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

__device__ std::uint32_t load_raw(const UnpackSource& source, std::uint64_t matrix, std::uint64_t element,
                                  std::uint64_t k) {
  if (element >= source.elements || k >= source.depth) return 0;
  const std::uint64_t at = matrix * source.matrix_stride + element / source.tile * source.tile_stride +
                           element % source.tile * source.element_stride + k * source.k_stride;
  if (source.bytes == 2) return static_cast<const std::uint16_t*>(source.base)[at];
  if (source.bytes == 1) return static_cast<const std::uint8_t*>(source.base)[at];
  return static_cast<const std::uint32_t*>(source.base)[at];
}

/// The word of an element that A may not have.
__device__ std::uint32_t sparse_raw(const UnpackSource& source, std::uint64_t matrix, std::uint64_t element,
                                    std::uint64_t k, bool& absent) {
  absent = false;
  if (element >= source.elements || k >= source.depth) return 0;
  const auto kept = static_cast<unsigned>(source.kept), group = static_cast<unsigned>(source.group);
  const std::uint64_t first =
      matrix * source.matrix_stride + element * source.element_stride + k / group * kept;
  for (unsigned i = 0; i < kept; ++i) {
    if (source.metadata[first + i] != k % group) continue;
    if (source.bytes == 2) return static_cast<const std::uint16_t*>(source.base)[first + i];
    if (source.bytes == 1) return static_cast<const std::uint8_t*>(source.base)[first + i];
    return static_cast<const std::uint32_t*>(source.base)[first + i];
  }
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

constexpr int kTile = 32;

/// A block a square of positions and elements. Reads go along k where k is contiguous, writes along elements.
__global__ void __launch_bounds__(kTile* kTile)
    unpack_kernel(const CoreRules rules, const CoreDecode rule, const UnpackSource source,
                  std::uint32_t* words) {
  __shared__ std::uint32_t square[kTile][kTile + 1];  // [element][position]
  const std::uint64_t pitch = padded(source.elements, kUnpackedPad), depth = padded(source.depth, kChunk);
  const std::uint64_t first_position = std::uint64_t{blockIdx.y} * kTile;
  const std::uint64_t first_element = std::uint64_t{blockIdx.x} * kTile;
  const bool along_k = source.k_stride == 1;
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned position = along_k ? x : y, element = along_k ? y : x;
  const auto k_of = [&](std::uint64_t p) {
    const auto of_instruction = static_cast<unsigned>(rules.depth);
    return p / of_instruction * of_instruction + static_cast<unsigned>(rules.order[p % of_instruction]);
  };
  for (std::uint64_t matrix = blockIdx.z; matrix < source.matrices; matrix += gridDim.z) {
    const auto word_of = [&](std::uint64_t e, std::uint64_t p) {
      bool absent = false;
      const std::uint32_t raw = source.metadata != nullptr ? sparse_raw(source, matrix, e, k_of(p), absent)
                                                           : load_raw(source, matrix, e, k_of(p));
      return absent ? kUnpackedAbsent : decode(rule, raw);
    };
    const std::uint64_t p = first_position + position;
    square[element][position] = word_of(first_element + element, p);
    __syncthreads();
    const std::uint32_t word = square[x][y];
    const bool begins = (first_position + y) % static_cast<unsigned>(rules.step) == 0;
    std::uint32_t before = 0;
    if (!begins) before = y > 0 ? square[x][y - 1] : word_of(first_element + x, first_position - 1);
    words[(matrix * depth + first_position + y) * pitch + first_element + x] = word | ((word ^ before) >> 31);
    __syncthreads();
  }
}

}  // namespace

void launch_unpack(const CoreRules& rules, const CoreDecode& decode, const UnpackSource& source,
                   std::uint32_t* words) {
  static_assert(kChunk % kTile == 0 && kUnpackedPad % kTile == 0);
  constexpr std::uint64_t kMostMatrices = 65535;
  const dim3 grid(static_cast<unsigned>(padded(source.elements, kUnpackedPad) / kTile),
                  static_cast<unsigned>(padded(source.depth, kChunk) / kTile),
                  static_cast<unsigned>(source.matrices < kMostMatrices ? source.matrices : kMostMatrices));
  unpack_kernel<<<grid, dim3(kTile, kTile)>>>(rules, decode, source, words);
  cuda_check(cudaGetLastError(), "launching the unpacking");
}

}  // namespace mmaudit::device
