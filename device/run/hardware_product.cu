#include "run/hardware_product.hpp"

#include "kernels/wgmma_chains.cuh"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/refusal.hpp"
#include "model/arena.hpp"
#include "model/epilogue.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr std::uint64_t kRowAlign = 16;  ///< bytes, of what the copy engine reads
extern __shared__ unsigned char memory[];

template <typename Chain, int kColumns, End kEnd>
__global__ void __launch_bounds__(kChainThreads, 1)
    chains(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
           const __grid_constant__ ChainArgs args, const __grid_constant__ ChainWalk walk) {
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

/// `a` and `b` are rows along k of `row_bytes`.
template <typename Chain, int kColumns, End kEnd>
void start(void* a, void* b, std::uint64_t row_bytes, const ChainArgs& args, Stream stream) {
  const auto bytes = static_cast<std::uint32_t>(spec_of(Chain::kInstruction.a).storage_bytes());
  const auto walk = ChainWalk::of<Chain, kColumns>(args);
  const auto kernel = chains<Chain, kColumns, kEnd>;
  constexpr int kShared = ChainShape<kColumns>::kShared;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
             "making room in shared memory");
  const auto blocks =
      std::min(walk.tiles, static_cast<std::uint64_t>(attribute(cudaDevAttrMultiProcessorCount)));
  kernel<<<static_cast<unsigned>(blocks), kChainThreads, kShared, stream>>>(
      chain_map(a, bytes, row_bytes, args.k, args.m, args.batch, kChainTileRows),
      chain_map(b, bytes, row_bytes, args.k, args.n, args.batch, kColumns), args, walk);
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

constexpr unsigned kCopyTile = 64, kCopyThreads = 256;

/// (rows, columns) elements, row-major and without gaps, become columns that are `pitch` long.
template <typename Element>
__global__ void __launch_bounds__(kCopyThreads)
    transpose(const Element* from, Element* to, std::uint64_t rows, std::uint64_t columns,
              std::uint64_t pitch) {
  __shared__ Element tile[kCopyTile][kCopyTile + 4 / sizeof(Element)];
  const std::uint64_t first_row = std::uint64_t{blockIdx.y} * kCopyTile,
                      first_column = std::uint64_t{blockIdx.x} * kCopyTile;
  from += blockIdx.z * rows * columns;
  to += blockIdx.z * columns * pitch;
  const unsigned across = threadIdx.x % kCopyTile, down = threadIdx.x / kCopyTile;
#pragma unroll
  for (unsigned i = down; i < kCopyTile; i += kCopyThreads / kCopyTile)
    if (first_row + i < rows && first_column + across < columns)
      tile[i][across] = from[(first_row + i) * columns + first_column + across];
  __syncthreads();
#pragma unroll
  for (unsigned i = down; i < kCopyTile; i += kCopyThreads / kCopyTile)
    if (first_column + i < columns && first_row + across < rows)
      to[(first_column + i) * pitch + first_row + across] = tile[across][i];
}

template <typename Element>
void start_transpose(const Matmul& x, void* to, std::uint64_t pitch, Stream stream) {
  const auto blocks = [](std::uint64_t count) {
    return static_cast<unsigned>(detail::quotient_up(count, std::uint64_t{kCopyTile}));
  };
  const dim3 grid(blocks(x.n), blocks(x.k), static_cast<unsigned>(x.batch));
  transpose<<<grid, kCopyThreads, 0, stream>>>(static_cast<const Element*>(x.b), static_cast<Element*>(to),
                                               x.k, x.n, pitch);
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

HardwareProduct::HardwareProduct(const Instruction& instruction, const Matmul& problem,
                                 const ProductFactors& factors)
    : instruction_(instruction),
      problem_(problem),
      factors_(factors),
      bytes_(spec_of(instruction.a).storage_bytes()),
      pitch_(padded(problem.k, kRowAlign / bytes_)) {}

HardwareProduct::Layout HardwareProduct::layout(void* base) const {
  Arena arena(base);
  Layout out;
  if (pitch_ != problem_.k) out.a = arena.take<void>(problem_.batch * problem_.m * pitch_ * bytes_);
  out.b = arena.take<void>(problem_.batch * problem_.n * pitch_ * bytes_);
  if (problem_.epilogue)
    out.sums = arena.take<float>(problem_.batch * problem_.m * problem_.n * sizeof(float));
  out.bytes = arena.used();
  return out;
}

void HardwareProduct::launch(void* workspace, Stream stream) const {
  const Matmul& x = problem_;
  if (x.batch * x.m * x.n == 0) return;
  const Layout spaces = layout(workspace);
  const std::uint64_t row_bytes = pitch_ * bytes_;
  void* a = const_cast<void*>(x.a);  // the copy engine's maps take no const
  if (pitch_ != x.k) {
    a = spaces.a;
    cuda_check(cudaMemcpy2DAsync(a, row_bytes, x.a, x.k * bytes_, x.k * bytes_, x.batch * x.m,
                                 cudaMemcpyDeviceToDevice, stream),
               "copying A");
  } else if (reinterpret_cast<std::uintptr_t>(a) % kRowAlign != 0) {
    refuse("a: found an address that is no multiple of {} with hardware, allowed: one that is", kRowAlign);
  }
  if (bytes_ == 1)
    start_transpose<std::uint8_t>(x, spaces.b, pitch_, stream);
  else if (bytes_ == 2)
    start_transpose<std::uint16_t>(x, spaces.b, pitch_, stream);
  else
    start_transpose<std::uint32_t>(x, spaces.b, pitch_, stream);
  const ChainArgs args{.c = x.epilogue ? nullptr : static_cast<const float*>(x.c),
                       .d = x.epilogue ? spaces.sums : static_cast<float*>(x.d),
                       .batch = x.batch,
                       .m = x.m,
                       .n = x.n,
                       .k = x.k,
                       .promote = x.promote,
                       .factors = factors_.block != 0 ? factors_ : ProductFactors{}};
  with_chain(instruction_, [&]<typename Chain>(Chain) {
    if (args.factors.block != 0)
      return start<Chain, 128, End::scaled_total>(a, spaces.b, row_bytes, args, stream);
    if (args.promote != 0) return start<Chain, 128, End::total>(a, spaces.b, row_bytes, args, stream);
    if (args.n <= 128) return start<Chain, 128, End::sum>(a, spaces.b, row_bytes, args, stream);
    start<Chain, 256, End::sum>(a, spaces.b, row_bytes, args, stream);
  });
  if (x.epilogue) launch_epilogue(EpilogueArgs::of(x, factors_, Format::f32, spaces.sums), stream);
}

}  // namespace mmaudit::device
