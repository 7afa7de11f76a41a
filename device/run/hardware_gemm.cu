#include "run/hardware_gemm.hpp"

#include "kernels/wgmma_chains.cuh"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/refusal.hpp"
#include "model/word_squares.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

extern __shared__ unsigned char memory[];

template <typename Chain, int kColumns, End kEnd>
__global__ void __launch_bounds__(kChainThreads, 1)
    chains(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
           const __grid_constant__ GemmArgs args, const __grid_constant__ ChainWalk walk) {
  if constexpr (!kTargetHasWgmma)
    __trap();
  else
    run_chains<Chain, kColumns, kEnd>(memory, map_a, map_b, args, walk);
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  cuda_check(cudaDeviceGetAttribute(&value, which, device), "asking what the device is");
  return value;
}

template <typename Chain, int kColumns, End kEnd>
void start(const void* a, const void* b, const GemmArgs& args) {
  const auto bytes = static_cast<std::uint32_t>(spec_of(Chain::kInstruction.a).storage_bytes());
  const std::uint64_t line = line_bytes(Chain::kInstruction, args.k);
  const auto walk = ChainWalk::of<Chain, kColumns>(args);
  const auto kernel = chains<Chain, kColumns, kEnd>;
  constexpr int kShared = ChainShape<kColumns>::kShared;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
             "making room in shared memory");
  const auto blocks =
      std::min(walk.tiles, static_cast<std::uint64_t>(attribute(cudaDevAttrMultiProcessorCount)));
  kernel<<<static_cast<unsigned>(blocks), kChainThreads, kShared, args.stream>>>(
      chain_map(a, bytes, line, args.k, args.m, args.batch, kChainTileRows),
      chain_map(b, bytes, line, args.k, args.n, args.batch, kColumns), args, walk);
  cuda_check(cudaGetLastError(), "launching chains of wgmma");
}

/// work(a Chain) with the instruction's formats, if there is one.
template <typename Work>
void with_chain(const Instruction& instruction, const Work& work) {
#define MMAUDIT_TRY_f16(A, B)
#define MMAUDIT_TRY_f32(A, B) \
  if (instruction.a == Format::A && instruction.b == Format::B) return work(Chain_##A##_##B{});
#define MMAUDIT_TRY(K, D, A, B, MAJORS) MMAUDIT_TRY_##D(A, B)
  MMAUDIT_EVERY_CHAIN(MMAUDIT_TRY)
}

/// Whether there is a kernel, and code of it for `capability`.
struct Found {
  bool kernel = false, code = false;
};
Found find_code(const Instruction& instruction, int capability) {
  Found found;
  if (instruction.op != Op::wgmma || instruction.d != Format::f32) return found;
  with_chain(instruction, [&]<typename Chain>(Chain) {
    cudaFuncAttributes attributes = {};
    const bool loads = cudaFuncGetAttributes(&attributes, chains<Chain, 128, End::sum>) == cudaSuccess;
    if (!loads) cudaGetLastError();  // the reason is reported here, not by the next call
    found = {true, loads && attributes.ptxVersion >= capability};
  });
  return found;
}

constexpr unsigned kCopyTile = kTileSide, kCopyThreads = 256;

/// (rows, columns) elements, row-major and without gaps, become columns that are `pitch` long, a multiple of
/// 16 bytes. `whole`: rows begin where words may.
template <typename Element>
__global__ void __launch_bounds__(kCopyThreads)
    transpose(const Element* from, Element* to, std::uint64_t rows, std::uint64_t columns,
              std::uint64_t pitch, bool whole) {
  using Tile = WordTile<Element>;
  __shared__ Tile tile;
  const std::uint64_t first_row = std::uint64_t{blockIdx.y} * kCopyTile,
                      first_column = std::uint64_t{blockIdx.x} * kCopyTile;
  from += blockIdx.z * rows * columns;
  to += blockIdx.z * columns * pitch;
#pragma unroll
  for (unsigned i = threadIdx.x; i < kCopyTile * Tile::kWide; i += kCopyThreads) {
    const unsigned down = i / Tile::kWide, across = i % Tile::kWide * Tile::kPer;
    if (first_row + down >= rows) continue;
    const Element* const line = from + (first_row + down) * columns + first_column;
    if (whole && first_column + across + Tile::kPer <= columns) {
      tile.words[down][across / Tile::kPer] = *reinterpret_cast<const std::uint32_t*>(line + across);
    } else {
      for (unsigned e = across; e < across + Tile::kPer && first_column + e < columns; ++e)
        tile.at(down, e) = line[e];
    }
  }
  __syncthreads();
  tile.template columns<kCopyThreads>([&](unsigned across, unsigned down, std::uint32_t word) {
    const std::uint32_t words[1] = {word};
    if (first_column + across < columns && first_row + down < rows)
      put_words(to + (first_column + across) * pitch + first_row + down, words, true,
                rows - first_row - down);
  });
}

template <typename Element>
void start_transpose(const void* from, void* to, const GemmArgs& args, std::uint64_t line) {
  const auto blocks = [](std::uint64_t count) {
    return static_cast<unsigned>(detail::quotient_up(count, std::uint64_t{kCopyTile}));
  };
  const dim3 grid(blocks(args.n), blocks(args.k), static_cast<unsigned>(args.batch));
  const bool whole =
      (reinterpret_cast<std::uintptr_t>(from) | args.n * sizeof(Element)) % sizeof(std::uint32_t) == 0;
  transpose<<<grid, kCopyThreads, 0, args.stream>>>(static_cast<const Element*>(from),
                                                    static_cast<Element*>(to), args.k, args.n,
                                                    line / sizeof(Element), whole);
  cuda_check(cudaGetLastError(), "transposing B");
}

}  // namespace

std::string why_no_hardware(const Instruction& instruction, const Datapath& datapath, const Matmul& problem) {
  constexpr int kCapability = 90;  // of wgmma
  const Found found = find_code(instruction, kCapability);
  if (!found.kernel)
    return refusal("inst: found {} with hardware, allowed: dense wgmma of floats with f32 sums",
                   name_of(instruction));
  const std::uint64_t depth = kStageSteps * static_cast<std::uint64_t>(instruction.k);
  if (problem.promote % depth != 0)
    return refusal("promote: found {} with hardware, allowed: multiples of {}", problem.promote, depth);
  if (problem.split_k > 1) return refusal("split_k: found {} with hardware, allowed: 1", problem.split_k);
  if (problem.k == 0) return refusal("k: found 0 with hardware, allowed: 1 or more");
  // The limits of a grid: blocks of kCopyTile rows of A or k of B.
  constexpr std::uint64_t kMost = 65535, kMostRows = kMost * std::uint64_t{kCopyTile},
                          kMostColumns = std::uint64_t{1} << 31;
  if (problem.batch > kMost || problem.m > kMostRows || problem.k > kMostRows || problem.n > kMostColumns)
    return refusal(
        "sizes: found batch {}, M {}, N {}, K {} with hardware, allowed: batch up to {}, M and K "
        "up to {}, N up to {}",
        problem.batch, problem.m, problem.n, problem.k, kMost, kMostRows, kMostColumns);
  const int capability =
      10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
  const Architecture* here = find_architecture(capability);
  const DatapathEntry* own = here != nullptr ? find_datapath(*here, instruction) : nullptr;
  if (capability != kCapability || own == nullptr || !(own->datapath == datapath))
    return refusal(
        "arch: found another one than this GPU's, of compute capability {}.{}, with hardware, "
        "allowed: its own, of 9.0",
        capability / 10, capability % 10);
  if (!found.code)
    return refusal("library: found without code of wgmma with hardware, allowed: one built for 90a-real");
  return {};
}

void launch_chains(const Instruction& instruction, const RawProduct& product, void* lines_a, void* lines_b,
                   const GemmArgs& args) {
  const std::uint64_t bytes = spec_of(instruction.a).storage_bytes(), line = line_bytes(instruction, args.k);
  const void* a = product.a;
  if (lines_a != nullptr) {
    a = lines_a;
    cuda_check(cudaMemcpy2DAsync(lines_a, line, product.a, args.k * bytes, args.k * bytes,
                                 args.batch * args.m, cudaMemcpyDeviceToDevice, args.stream),
               "copying A");
  } else if (reinterpret_cast<std::uintptr_t>(a) % kLineAlign != 0) {
    refuse("a: found an address that is no multiple of {} with hardware, allowed: one that is", kLineAlign);
  }
  if (bytes == 1)
    start_transpose<std::uint8_t>(product.b, lines_b, args, line);
  else if (bytes == 2)
    start_transpose<std::uint16_t>(product.b, lines_b, args, line);
  else
    start_transpose<std::uint32_t>(product.b, lines_b, args, line);
  with_chain(instruction, [&]<typename Chain>(Chain) {
    if (args.factors.block != 0) return start<Chain, 128, End::scaled_total>(a, lines_b, args);
    if (args.stride != 0) return start<Chain, 128, End::total>(a, lines_b, args);
    if (args.n <= 128) return start<Chain, 128, End::sum>(a, lines_b, args);
    start<Chain, 256, End::sum>(a, lines_b, args);
  });
}

}  // namespace mmaudit::device
