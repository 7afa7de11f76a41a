#include "model/quantize_tiles.hpp"

#include <algorithm>

#include "model/element_code.hpp"
#include "model/quantize_one.cuh"
#include "model/word_squares.cuh"
#include "model/words.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256, kSide = kTileSide;  ///< a tile: so many lanes by so many of k
constexpr unsigned kEach = kSide * kSide / kThreads;
constexpr unsigned kLoad = 16, kStep = 16,
                   kSteps = kSide / kStep;  ///< bytes; and what has one scale at least

struct Bf16 {
  using Stored = std::uint16_t;
  static __device__ float number(std::uint32_t bits) { return __uint_as_float(bits << 16); }
};
struct Half {
  using Stored = std::uint16_t;
  static __device__ float number(std::uint32_t bits) {
    return float_of_half(static_cast<std::uint16_t>(bits));
  }
};
struct Single {
  using Stored = std::uint32_t;
  static __device__ float number(std::uint32_t bits) { return __uint_as_float(bits); }
};

/// `inner` is the axis of x whose neighbours are neighbours in memory.
struct TileWalk {
  std::uint32_t lanes = 0, depth = 0, inners = 0, outers = 0;
  std::uint64_t outer_stride = 0;
  std::uint32_t groups = 0, chunks = 0, length = 0;      ///< of lanes; of k, each so long
  bool k_inside = false, loads = false, stores = false;  ///< of whole words

  TileWalk(const Quantization& work, std::uint64_t chunk)
      : lanes(static_cast<std::uint32_t>(work.lanes)),
        depth(static_cast<std::uint32_t>(work.k)),
        k_inside(work.k_stride == 1) {
    inners = k_inside ? depth : lanes, outers = k_inside ? lanes : depth;
    outer_stride = k_inside ? work.lane_stride : work.k_stride;
    groups = detail::quotient_up(lanes, kSide);
    length = static_cast<std::uint32_t>(chunk), chunks = detail::quotient_up(depth, length);
    const auto whole = [](const void* base, std::uint64_t stride, std::uint64_t bytes) {
      return (reinterpret_cast<std::uintptr_t>(base) | stride) % bytes == 0;
    };
    const std::uint64_t bytes = work.from.storage_bytes();
    loads = whole(work.x, (outer_stride | (work.batch == 1 ? 0 : work.batch_stride)) * bytes, kLoad);
    const std::uint64_t line = work.k_outside ? lanes : depth;
    stores = whole(work.elements, line * work.rule.element.storage_bytes(), kLoad);
  }
  [[nodiscard]] unsigned blocks(std::uint64_t batch) const {
    return static_cast<unsigned>(batch * groups * chunks);
  }
};

/// The tile of a block: its matrix, first lane and first of k.
struct TilePlace {
  std::uint32_t matrix, lane, k;
  __device__ explicit TilePlace(const TileWalk& walk)
      : matrix(blockIdx.x / walk.chunks / walk.groups),
        lane(blockIdx.x / walk.chunks % walk.groups * kSide),
        k(blockIdx.x % walk.chunks * walk.length) {}
};

/// What of a tile a thread has: kChunk neighbours in memory of each of kRows rows.
template <typename Number>
struct Share {
  static constexpr unsigned kChunk = kLoad / sizeof(typename Number::Stored), kRows = kEach / kChunk,
                            kBeside = kSide / kChunk, kRowStep = kThreads / kBeside;
  static __device__ unsigned inner() { return threadIdx.x % kBeside * kChunk; }
  static __device__ unsigned outer(unsigned row) { return threadIdx.x / kBeside + row * kRowStep; }
  /// Of an element: counted from the tile's first lane and k.
  static __device__ unsigned lane(const TileWalk& walk, unsigned row, unsigned i) {
    return walk.k_inside ? outer(row) : inner() + i;
  }
  static __device__ unsigned k(const TileWalk& walk, unsigned row, unsigned i) {
    return walk.k_inside ? inner() + i : outer(row);
  }

  float x[kRows][kChunk];

  /// Zeros where the operand ends.
  __device__ void take(const Quantization& work, const TileWalk& walk, const TilePlace& at) {
    using Stored = typename Number::Stored;
    const std::uint32_t first_inner = (walk.k_inside ? at.k : at.lane) + inner(),
                        first_outer = walk.k_inside ? at.lane : at.k;
    const auto* const from = static_cast<const Stored*>(work.x) + at.matrix * work.batch_stride + first_inner;
#pragma unroll
    for (unsigned row = 0; row < kRows; ++row) {
      const std::uint32_t o = first_outer + outer(row);
      const Stored* const line = from + o * walk.outer_stride;
      if (walk.loads && o < walk.outers && first_inner + kChunk <= walk.inners) {
        std::uint32_t words[kLoad / 4];
        load_words(words, line);
#pragma unroll
        for (unsigned i = 0; i < kChunk; ++i)
          x[row][i] = Number::number(sizeof(Stored) == 4 ? words[i] : words[i / 2] >> (i % 2 * 16) & 0xFFFFU);
      } else {
#pragma unroll
        for (unsigned i = 0; i < kChunk; ++i)
          x[row][i] = o < walk.outers && first_inner + i < walk.inners ? Number::number(line[i]) : 0.0F;
      }
    }
  }
};

/// Bits of a magnitude as binary32, in the order of the numbers, NaN last; 0 where it doesn't count.
__device__ unsigned counted_bits(const QuantizeRule& rule, float x) {
  const unsigned size = __float_as_uint(x) & kMagnitudeBits;
  if (size < kInfinityBits) return size;
  const bool counts = size == kInfinityBits ? rule.counted != Counted::finite : rule.counted == Counted::all;
  return counts ? size : 0;
}

template <typename Number>
__global__ void __launch_bounds__(kThreads)
    largest_tile_kernel(const __grid_constant__ Quantization work, const __grid_constant__ TileWalk walk) {
  using Mine = Share<Number>;
  __shared__ unsigned most[kSide];
  if (threadIdx.x < kSide) most[threadIdx.x] = 0;
  __syncthreads();
  TilePlace at(walk);
  const std::uint32_t first = at.k, end = min(walk.depth, at.k + walk.length);
  unsigned largest[Mine::kRows > Mine::kChunk ? Mine::kRows : Mine::kChunk] = {};
  for (; at.k < end; at.k += kSide) {
    Mine mine;
    mine.take(work, walk, at);
#pragma unroll
    for (unsigned row = 0; row < Mine::kRows; ++row)
#pragma unroll
      for (unsigned i = 0; i < Mine::kChunk; ++i) {
        const unsigned size = counted_bits(work.rule, mine.x[row][i]);
        if (walk.k_inside)
          largest[row] = max(largest[row], size);
        else
          largest[i] = max(largest[i], size);
      }
  }
  if (work.rule.one_factor()) {
    unsigned all = 0;
    for (const unsigned one : largest) all = max(all, one);
    constexpr unsigned kWarp = 32;
    for (unsigned step = kWarp / 2; step != 0; step /= 2) all = max(all, __shfl_xor_sync(~0U, all, step));
    if (threadIdx.x % kWarp == 0) atomicMax(&most[0], all);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(reinterpret_cast<unsigned*>(work.factors), most[0]);
    return;
  }
#pragma unroll
  for (unsigned i = 0; i < Mine::kRows || i < Mine::kChunk; ++i)
    if (i < (walk.k_inside ? Mine::kRows : Mine::kChunk))
      atomicMax(&most[Mine::lane(walk, i, i)], largest[i]);
  __syncthreads();
  if (threadIdx.x >= kSide || at.lane + threadIdx.x >= walk.lanes) return;
  const std::uint64_t together = together_of(work.rule), lane = (at.lane + threadIdx.x) / together * together;
  atomicMax(reinterpret_cast<unsigned*>(work.factors) +
                (at.matrix * work.lanes + lane) * work.factor_blocks() +
                (work.rule.factor_block() == 0 ? 0 : first / walk.length),
            most[threadIdx.x]);
}

/// Code in binary64 apart, which would take the registers of everything else.
/// The scale of a tile's lane from k on, which this thread writes where the scale begins here.
__device__ __noinline__ void put_scale(const Quantization& work, const TilePlace& at,
                                       const unsigned (&most)[kSteps][kSide], unsigned lane, unsigned step,
                                       float of_tensor) {
  const auto block = static_cast<unsigned>(work.rule.scale_block()),
             together = static_cast<unsigned>(together_of(work.rule));
  const std::uint32_t k = at.k + step * kStep;
  if (k % block != 0) return;
  const std::uint64_t row = at.matrix * work.lanes + at.lane + lane, i = k / block;
  unsigned largest = 0;
  if (work.largest != nullptr) {
    largest = __float_as_uint(work.largest[row * work.scale_blocks() + i]);
  } else {
    for (unsigned s = step; s < step + block / kStep; ++s)
      largest = max(largest, most[s][lane / together * together]);
  }
  work.scales[work.scale_at(row, i)] =
      scale_byte(work.rule, static_cast<double>(__uint_as_float(largest)), of_tensor);
}

__device__ __noinline__ ElementTimes times_of(const Quantization& work, float of_tensor, std::uint64_t row,
                                              std::uint32_t k) {
  const ScaleAndFactor by(work, of_tensor, row, k);
  return ElementTimes::under(work.rule, by.scale, by.factor);
}

__device__ __noinline__ std::uint32_t rare_element(const Quantization& work, float of_tensor,
                                                   std::uint32_t matrix, std::uint32_t lane,
                                                   std::uint32_t k) {
  return static_cast<std::uint32_t>(element_at(work, of_tensor, matrix, lane, k));
}

template <typename Number, typename Code>
__global__ void __launch_bounds__(kThreads)
    element_tile_kernel(const __grid_constant__ Quantization work, const __grid_constant__ TileWalk walk,
                        const __grid_constant__ ElementCode code) {
  using Mine = Share<Number>;
  constexpr unsigned kPer = WordTile<Code>::kPer, kBits = WordTile<Code>::kBits;
  __shared__ unsigned most[kSteps][kSide];
  __shared__ ElementTimes times[kSteps][kSide];
  __shared__ WordTile<Code> tile;
  const TilePlace at(walk);
  const float of_tensor = factor_of_tensor_at(work);
  Mine mine;
  mine.take(work, walk, at);
  // A thread has a lane's step of k: its scale and what its numbers are multiplied by.
  const unsigned step = threadIdx.x / kSide, lane = threadIdx.x % kSide;
  const bool here = at.lane + lane < walk.lanes && at.k + step * kStep < walk.depth;
  if (work.rule.scaled()) {
    most[step][lane] = 0;
    __syncthreads();
    if (work.largest == nullptr) {
      const auto together = static_cast<unsigned>(together_of(work.rule));
#pragma unroll
      for (unsigned row = 0; row < Mine::kRows; ++row) {
        unsigned largest = 0;
#pragma unroll
        for (unsigned i = 0; i < Mine::kChunk; ++i) {
          const unsigned size = counted_bits(work.rule, mine.x[row][i]);
          largest = max(largest, size);
          if (!walk.k_inside)
            atomicMax(&most[Mine::k(walk, row, i) / kStep][Mine::lane(walk, row, i) / together * together],
                      size);
        }
        if (walk.k_inside)
          atomicMax(&most[Mine::inner() / kStep][Mine::outer(row) / together * together], largest);
      }
      __syncthreads();
    }
    if (here) put_scale(work, at, most, lane, step, of_tensor);
    __syncthreads();
  }
  times[step][lane] =
      here ? times_of(work, of_tensor, at.matrix * work.lanes + at.lane + lane, at.k + step * kStep)
           : ElementTimes{0, ElementTimes::product};
  __syncthreads();
  const bool across = walk.k_inside == work.k_outside;
  const bool plain_zero = work.rule.plain_zero && work.rule.division != Division::exact;
  auto* const elements = static_cast<Code*>(work.elements) + at.matrix * work.lanes * work.k;
  const std::uint32_t first_inner = walk.k_inside ? at.k : at.lane,
                      first_outer = walk.k_inside ? at.lane : at.k;
  std::uint32_t unknown = 0;
#pragma unroll
  for (unsigned row = 0; row < Mine::kRows; ++row) {
    const std::uint32_t o = first_outer + Mine::outer(row), i = first_inner + Mine::inner();
    if (!across && (o >= walk.outers || i >= walk.inners)) continue;
    std::uint32_t words[Mine::kChunk / kPer] = {};
    const ElementTimes of_row = times[Mine::k(walk, row, 0) / kStep][Mine::lane(walk, row, 0)];
#pragma unroll
    for (unsigned e = 0; e < Mine::kChunk; ++e) {
      const ElementTimes by =
          walk.k_inside ? of_row : times[Mine::k(walk, row, e) / kStep][Mine::lane(walk, row, e)];
      std::uint32_t bits = 0;
      if (!by.element(mine.x[row][e], code, plain_zero, bits)) unknown |= 1U << (row * Mine::kChunk + e);
      words[e / kPer] |= bits << (e % kPer * kBits);
    }
    if (across) {
#pragma unroll
      for (unsigned w = 0; w < Mine::kChunk / kPer; ++w)
        tile.words[Mine::outer(row)][Mine::inner() / kPer + w] = words[w];
    } else {
      put_words(elements + std::uint64_t{o} * walk.inners + i, words, walk.stores, walk.inners - i);
    }
  }
  for (; unknown != 0; unknown &= unknown - 1) {
    const auto which = static_cast<unsigned>(__ffs(static_cast<int>(unknown)) - 1);
    const unsigned row = which / Mine::kChunk, e = which % Mine::kChunk;
    const std::uint32_t o = first_outer + Mine::outer(row), i = first_inner + Mine::inner() + e;
    if (o >= walk.outers || i >= walk.inners) continue;
    const auto bits = static_cast<Code>(rare_element(
        work, of_tensor, at.matrix, at.lane + Mine::lane(walk, row, e), at.k + Mine::k(walk, row, e)));
    if (across)
      tile.at(Mine::outer(row), Mine::inner() + e) = bits;
    else
      elements[std::uint64_t{o} * walk.inners + i] = bits;
  }
  if (!across) return;
  __syncthreads();
  tile.template columns<kThreads>([&](unsigned inner, unsigned outer, std::uint32_t word) {
    const std::uint32_t i = first_inner + inner, o = first_outer + outer, words[1] = {word};
    if (i < walk.inners && o < walk.outers)
      put_words(elements + std::uint64_t{i} * walk.outers + o, words, walk.stores, walk.outers - o);
  });
}

/// work(a Number) of x's format.
template <typename Work>
void with_number(const Quantization& work, const Work& with) {
  if (work.from.id == Format::bf16) return with(Bf16{});
  if (work.from.id == Format::f16) return with(Half{});
  with(Single{});
}

/// Sizes and strides: the rest is one number after another.
bool serves(const Quantization& work, std::uint64_t chunk) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 31) - 1;
  const bool number =
      work.from.id == Format::bf16 || work.from.id == Format::f16 || work.from.id == Format::f32;
  if (!number || work.lanes > kMost || work.k > kMost || (work.k_stride != 1 && work.lane_stride != 1))
    return false;
  const std::uint64_t tiles =
      detail::quotient_up(work.lanes, std::uint64_t{kSide}) * detail::quotient_up(work.k, chunk);
  return tiles != 0 && work.batch <= kMost / tiles;
}

/// Of k per block of threads: what one factor covers, or much of it.
std::uint64_t largest_chunk(const QuantizeRule& rule) {
  constexpr std::uint64_t kDeep = 512;
  return rule.one_factor() || rule.factor_block() == 0 ? kDeep : rule.factor_block();
}

}  // namespace

bool tiles_find_largest(const Quantization& work) {
  const std::uint64_t chunk = largest_chunk(work.rule);
  return chunk % kSide == 0 && serves(work, chunk);
}

void launch_tile_largest(const Quantization& work, Stream stream) {
  const TileWalk walk(work, largest_chunk(work.rule));
  with_number(work, [&]<typename Number>(Number) {
    largest_tile_kernel<Number><<<walk.blocks(work.batch), kThreads, 0, stream>>>(work, walk);
  });
}

bool tiles_make_elements(const Quantization& work) {
  const QuantizeRule& rule = work.rule;
  const std::uint64_t block = rule.scale_block(), lanes = std::max<std::uint64_t>(rule.covers.lanes, 1);
  const bool scales = !rule.scaled() || (block % kStep == 0 && kSide % block == 0 && kSide % lanes == 0);
  return scales && rule.factor_block() % kStep == 0 && ElementCode::serves(rule.element, rule.cast) &&
         serves(work, kSide);
}

void launch_tile_elements(const Quantization& work, Stream stream) {
  const TileWalk walk(work, kSide);
  const ElementCode code(work.rule.element, work.rule.cast);
  with_number(work, [&]<typename Number>(Number) {
    const auto kernel = work.rule.element.storage_bits == 8 ? element_tile_kernel<Number, std::uint8_t>
                                                            : element_tile_kernel<Number, std::uint16_t>;
    kernel<<<walk.blocks(work.batch), kThreads, 0, stream>>>(work, walk, code);
  });
}

}  // namespace mmaudit::device
