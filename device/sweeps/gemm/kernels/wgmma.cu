// A product by wgmma.m64n256k16: the kernel of products by the hardware, with a stamp per block.
#include "kernels/wgmma_chains.cuh"
#include "sweeps/gemm/kernel.hpp"
#include "sweeps/gemm/stamp.cuh"

namespace mmaudit::sweeps {
namespace {

using Chain = device::Chain_bf16_bf16;

constexpr Instruction chain_of() {
  Instruction instruction = Chain::kInstruction;
  instruction.n = kWgmmaTileN;
  return instruction;
}

extern __shared__ unsigned char memory[];

__global__ void __launch_bounds__(device::kChainThreads, 1)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ device::GemmArgs args, const __grid_constant__ device::ChainWalk walk,
               Stamp* stamps) {
  if constexpr (!device::kTargetHasWgmma) {
    __trap();
  } else {
    Stamp stamp;
    start_block(stamp);
    device::run_chains<Chain, kWgmmaTileN, device::End::sum>(memory, map_a, map_b, args, walk);
    stop_block(stamp, stamps);
  }
}

unsigned blocks_of(int size, int multiprocessors) {
  const int tiles = size / kWgmmaTileM * (size / kWgmmaTileN);
  return static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors);
}

void launch(const TimedGemm& problem) {
  const auto size = static_cast<std::uint64_t>(problem.args.size);
  const device::GemmArgs args{.d = problem.args.d, .m = size, .n = size, .k = size};
  gemm_wgmma<<<blocks_of(problem.args.size, problem.multiprocessors), device::kChainThreads,
               device::ChainShape<kWgmmaTileN>::kShared>>>(problem.map_a, problem.map_b, args,
                                                           device::ChainWalk::of<Chain, kWgmmaTileN>(args),
                                                           problem.args.stamps);
}

}  // namespace

std::vector<GemmKernel> gemm_with_wgmma() {
  return {{.name = "wgmma TMA",
           .what = "wgmma.m64n256k16, 128 x 256 x 64 tiles, four stages filled by the copy engine",
           .instruction = chain_of(),
           .least_capability = 90,
           .most_capability = 90,
           .launch = launch,
           .blocks = blocks_of,
           .function = reinterpret_cast<const void*>(gemm_wgmma),
           .shared_bytes = device::ChainShape<kWgmmaTileN>::kShared}};
}

}  // namespace mmaudit::sweeps
