// wgmma and wgmma.sp at n = 256, A from shared memory and from registers: two warpgroups per multiprocessor.
#include "screen/screen.cuh"

#define MMAUDIT_TIMED_N(X, ...) X(256, 128, 64, __VA_ARGS__)
#include "sweeps/matrix/wgmma_chains.cuh"

#define MMAUDIT_SCREENED(...) add<sweeps::MMAUDIT_DENSE_NAME(__VA_ARGS__)>(kernels);
#define MMAUDIT_SCREENED_SP(...) add<sweeps::MMAUDIT_SPARSE_NAME(__VA_ARGS__)>(kernels);

namespace mmaudit::screen {
namespace {

constexpr int kN = 256, kWarps = 8, kGroup = 8;

template <typename Line>
void add(std::vector<ScreenKernel>& kernels) {
  Instruction instruction = Line::kInstruction;
  instruction.n = kN;
  const int tile = sweeps::kBytesA + kN * sweeps::bytes_per_column(is_sparse(instruction.op));
  kernels.push_back(screening_kernel<sweeps::Wgmma<sweeps::Chain<Line, kN>, false>, 1, kGroup>(
      instruction, false, kWarps, tile));
  kernels.push_back(screening_kernel<sweeps::Wgmma<sweeps::Chain<Line, kN>, true>, 1, kGroup>(
      instruction, true, kWarps, tile));
}

}  // namespace

std::vector<ScreenKernel> wgmma_kernels() {
  std::vector<ScreenKernel> kernels;
  MMAUDIT_TIMED_DENSE(MMAUDIT_SCREENED)
  MMAUDIT_TIMED_SPARSE(MMAUDIT_SCREENED_SP)
  return kernels;
}

}  // namespace mmaudit::screen
