#include "model/group_step.hpp"
#include "model/groups.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 128, kCodes = 256;

/// Elements along K of the rows of A or the columns of B.
struct Lines {
  const void* base;
  FormatSpec format;
  ScaleSource scales;
  std::uint64_t count, k, blocks, matrix_stride, line_stride, k_stride;
  bool of_b;
};

using groups::power_of_two;

/// The scales of one step: which matter, and how far they lie apart.
struct StepScales {
  int low = 20000, high = -20000;
  bool nan = false;

  __device__ void add(const Operand& scale, bool elements) {
    nan = nan || scale.kind == Kind::nan;
    if (scale.kind != Kind::finite || scale.significand == 0 || !elements) return;
    low = min(low, static_cast<int>(scale.exponent));
    high = max(high, static_cast<int>(scale.exponent));
  }
};

__device__ GroupSide side_of(const GroupCore& core, const Operand (&scale)[kMostScales],
                             const bool (&elements)[kMostScales], bool of_b) {
  // Units are so large that sums are multiples of the least binary32, and so small that none overflows.
  constexpr int kLeastUnit = -73, kMostScale = 40, kBeyondAll = 200;
  StepScales all;
#pragma unroll
  for (int i = 0; i < kMostScales; ++i)
    if (i < core.scales) all.add(scale[i], elements[i]);
  GroupSide side = {};
#pragma unroll
  for (int i = 0; i < kMostScales; ++i)
    if (i < core.scales) side.code[i] = groups::ScaleCode::of(scale[i], elements[i], of_b);
  if (all.low > all.high && !all.nan) {
    side.unit = power_of_two(kBeyondAll);
    return side;
  }
  const int unit = all.low - core.spec.scale.fraction_bits;
  if (all.nan) side.top = kDoubleNan;
  if (all.nan || all.high - unit > core.spread || unit < kLeastUnit || all.high > kMostScale) return side;
#pragma unroll
  for (int i = 0; i < kMostScales; ++i)
    if (i < core.scales && elements[i])
      side.scale[i] = scale[i].significand << max(scale[i].exponent - all.low, 0);
  side.unit = power_of_two(unit + (of_b ? core.element : 0));
  constexpr std::uint32_t kOneAndAHalf = 0x80000U;
  side.top = of_b ? power_of_two(all.high + 52 + core.quantum) | kOneAndAHalf : power_of_two(all.high);
  return side;
}

/// A thread per line and step.
__global__ void __launch_bounds__(kThreads)
    pack_kernel(const GroupCore core, const Lines lines, std::uint64_t matrices, PackedGroups to) {
  const std::uint64_t pitch = padded(lines.count, kUnpackedPad);
  const std::uint64_t steps = padded(lines.k, kGroupDepth) / kGroupDepth;
  const unsigned block = static_cast<unsigned>(core.spec.scale_block);
  __shared__ std::uint32_t values[kCodes];  ///< of every element, in units of the least one, as a byte
  for (unsigned code = threadIdx.x; code < kCodes; code += kThreads) {
    const Operand x = unpack(lines.format, {}, code);
    const int value =
        x.significand == 0 ? 0 : x.significand * (1 << (x.exponent - lines.format.min_exponent()));
    values[code] = static_cast<std::uint32_t>(value) & 0xFFU;
  }
  __syncthreads();
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < matrices * steps * pitch;
       i += std::uint64_t{gridDim.x} * kThreads) {
    const std::uint64_t line = i % pitch, step = i / pitch % steps, matrix = i / pitch / steps;
    const std::uint64_t first_k = step * kGroupDepth;
    const auto* from = static_cast<const std::uint8_t*>(lines.base) + matrix * lines.matrix_stride +
                       line * lines.line_stride + first_k * lines.k_stride;
    const auto left =
        line >= lines.count ? 0U : static_cast<unsigned>(min(lines.k - first_k, std::uint64_t{kGroupDepth}));
    bool some[kMostScales] = {};
#pragma unroll
    for (unsigned group = 0; group < kGroupDepth / 16; ++group) {
      std::uint32_t words[4] = {};
#pragma unroll
      for (unsigned at = 0; at < 16; ++at, from += lines.k_stride)
        if (group * 16 + at < left) words[at / 4] |= values[*from] << (8 * (at % 4));
      if ((words[0] | words[1] | words[2] | words[3]) != 0) some[block == 16 ? group : group / 2] = true;
      reinterpret_cast<uint4*>(
          to.bytes)[i * (kGroupDepth / 16) + group_place(static_cast<unsigned>(line), group)] =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
    Operand scale[kMostScales];
#pragma unroll
    for (int s = 0; s < kMostScales; ++s) {
      const std::uint64_t at = step * static_cast<unsigned>(core.scales) + static_cast<unsigned>(s);
      const bool there = lines.scales.base != nullptr && line < lines.count && at < lines.blocks;
      scale[s] = unpack_scale(core.spec.scale, core.spec.datapath,
                              there ? lines.scales.at(matrix, line, at) : one_bits(core.spec.scale));
    }
    to.sides[i] = side_of(core, scale, some, lines.of_b);
  }
}

void start(const GroupCore& core, const Lines& lines, std::uint64_t matrices, const PackedGroups& to,
           Stream stream) {
  const unsigned blocks = blocks_for(packed_sides(matrices, lines.count, lines.k), kThreads, 1U << 20);
  if (blocks == 0) return;
  pack_kernel<<<blocks, kThreads, 0, stream>>>(core, lines, matrices, to);
  cuda_check(cudaGetLastError(), "launching the packing");
}

}  // namespace

void launch_group_packing(const GroupCore& core, const RawProduct& product, std::uint64_t matrices,
                          const PackedGroups& a, const PackedGroups& b, Stream stream) {
  start(core,
        {product.a, core.spec.a, product.scale_a, product.m, product.k, product.blocks, product.m * product.k,
         product.k, 1, false},
        matrices, a, stream);
  start(core,
        {product.b, core.spec.b, product.scale_b, product.n, product.k, product.blocks, product.k * product.n,
         1, product.n, true},
        matrices, b, stream);
}

}  // namespace mmaudit::device
