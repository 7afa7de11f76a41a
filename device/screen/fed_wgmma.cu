// wgmma and wgmma.sp at n = 256 with operands that the bulk copy engine brings, each from all its sources.
#include "screen/fed_wgmma.cuh"

#define MMAUDIT_TIMED_N(X, ...) X(256, 128, 64, __VA_ARGS__)
#include "sweeps/matrix/wgmma_chains.cuh"

#define MMAUDIT_FED(...) add<sweeps::MMAUDIT_DENSE_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_FED_SP(...) add<sweeps::MMAUDIT_SPARSE_NAME(__VA_ARGS__)>(kernels);

namespace mmaudit::screen {
namespace {

constexpr int kN = 256, kWarps = 8, kGroup = 8;

/// One kernel serves all of them: what it reads is an argument.
template <typename Line>
void add(std::vector<ScreenKernel>& kernels) {
  Instruction instruction = Line::kInstruction;
  instruction.n = kN;
  const bool sparse = is_sparse(instruction.op);
  const int tile = tile_bytes(kN, sparse);
  ScreenKernel kernel = screening_kernel<FedWgmma<sweeps::Chain<Line, kN>>, 1, kGroup>(
      instruction, false, kWarps, kBarrierBytes + stages_of(sparse) * tile);
  kernel.copied_bytes = tile;
  kernel.steps_per_copy = steps_per_copy(sparse);
  kernel.stages = stages_of(sparse);
  for (const Feed feed : {Feed::bulk_l2, Feed::bulk_hbm, Feed::tensor_hbm}) {
    kernel.feed = feed;
    kernels.push_back(kernel);
  }
}

}  // namespace

std::vector<ScreenKernel> fed_wgmma_kernels() {
  std::vector<ScreenKernel> kernels;
  MMAUDIT_TIMED_DENSE(MMAUDIT_FED)
  MMAUDIT_TIMED_SPARSE(MMAUDIT_FED_SP)
  return kernels;
}

}  // namespace mmaudit::screen
